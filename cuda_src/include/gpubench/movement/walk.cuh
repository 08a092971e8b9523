// Lines walked by a thread: several rows of a vector of neighbouring lines are under way at a time.
#pragma once

#include "gpubench/integer_divider.cuh"
#include "gpubench/items.cuh"
#include "gpubench/strided.cuh"

namespace gpubench {

// A dim of the lines, in places: how many there are, and the distances from one to the next. 32 bytes with C layout.
struct WalkDim {
    IntegerDivider size;
    int padding;
    long long x, y;
};
GPUBENCH_LAYOUT(WalkDim, 32, y, 24);

// The lines of a walk, in vectors. What every walk needs comes first: a line of constant memory is a trip of its own.
struct LineWalk {
    uint32 vectors;
    int length;                // rows of a line
    long long x_row, y_row;    // distances from row to row
    long long x_slow, y_slow;  // from place to place of the slowest dim, which takes what division leaves of a number
    int dims;                  // of `places`
    int near_bits;             // the logarithm of a tile's places along the first dim; its other lanes go along the second
    int near, far;             // places of a tile's dims in all: the first side by side in y, the second in x
    long long y_apart;         // between the lines of a vector in y, where they are neighbours in x alone
    WalkDim places[max_dims];  // fastest first; the two of a tile first, counted in tiles

    // Move to the vector with this number, over the dims from `first` on.
    template <class T, class Out>
    GPUBENCH_DEVICE void step(int first, uint32 index, const T*& x, Out*& y) const {
        GPUBENCH_NO_UNROLL  // a copy for each dim would only cost instruction cache
        for (int dim = first; dim < dims; ++dim) {
            const IntegerDivider::Result place = places[dim].size.divide(index);
            index = place.quotient;
            x += place.remainder * places[dim].x;
            y += place.remainder * places[dim].y;
        }
        x += index * x_slow;
        y += index * y_slow;
    }
};
GPUBENCH_LAYOUT(LineWalk, 320, places, 64);

// The same of so little data that all distances fit 32 bits, over at most three dims: a third of the instructions up to the
// first load, which small launches wait for, as they do for each line of parameters.
struct ShortDim {
    IntegerDivider size;
    int x, y;
};
GPUBENCH_LAYOUT(ShortDim, 20, y, 16);
struct ShortWalk {
    uint32 vectors;
    int length;
    int x_row, y_row, x_slow, y_slow;
    ShortDim quick[2];  // fastest first

    // The elements before the vector with this number, over so many quick dims and the slow one.
    template <int Dims>
    GPUBENCH_DEVICE void place(uint32 index, int& x, int& y) const {
        x = y = 0;
        GPUBENCH_UNROLL
        for (int dim = 0; dim < Dims; ++dim) {
            const IntegerDivider::Result place = quick[dim].size.divide(index);
            index = place.quotient;
            x += static_cast<int>(place.remainder) * quick[dim].x;
            y += static_cast<int>(place.remainder) * quick[dim].y;
        }
        x += static_cast<int>(index) * x_slow;
        y += static_cast<int>(index) * y_slow;
    }
};
GPUBENCH_LAYOUT(ShortWalk, 64, quick, 24);

// Ask for rows, of which `left` exist, Run at a time: those lie side by side in x then, in vectors of their own.
template <int Items, int Run, int Moves, class T>
GPUBENCH_DEVICE void load_rows(Packed<T, Items * Run> (&raw)[Moves], const T* x, int left, long long x_row) {
    GPUBENCH_UNROLL
    for (int m = 0; m < Moves; ++m, x += Run * x_row) {
        if (m * Run < left) raw[m] = load_packed<Items * Run>(x);
    }
}

// Row r of what was asked for.
template <class A, int Items, int Run, int Moves, class T>
GPUBENCH_DEVICE Vector<A, Items> row_of(const Packed<T, Items * Run> (&raw)[Moves], int r) {
    static_assert(Items == 1 || Run == 1, "a line's elements side by side are those of a single line");
    if constexpr (Run == 1) return unpack_items<Items, A>(raw[r]);
    else return {unpack_items<Run, A>(raw[r / Run])[r % Run]};
}

// Whether a run is a sector, 32 bytes: two lanes then have the same lines, and each stores its half of every sector. What a
// warp writes at once are whole sectors, wherever they are.
template <class Out, int Run>
constexpr bool is_sector = sizeof(Out) * Run == 2 * sizeof(Word128);

// Store a run, or this lane's half of it.
template <int Run, class Out, int N>
GPUBENCH_DEVICE void store_run(Out* y, const Packed<Out, N>& packed) {
    if constexpr (is_sector<Out, Run>) {
        const int half = thread_index_x() & 1;
        store_word(reinterpret_cast<Word128*>(y) + half, half == 0 ? packed.words[0] : packed.words[1]);
    } else {
        store_packed(y, packed);
    }
}

// Their running totals, which go on from `sums`: all of them, or the `left` that exist. Apart: a vector's lines are no
// neighbours in y, but y_apart from each other. YRun: rows that lie side by side in y and go at once, together with those
// of the vector's other lines where these are neighbours, each line a run. `left` is whole runs.
template <bool Whole, bool Apart, int Run, int YRun, int Items, int Moves, class T, class Out, class A, class Lines, class Combine>
GPUBENCH_DEVICE void store_rows(const Packed<T, Items * Run> (&raw)[Moves], Out* y, int left, const Lines& lines,
                                Vector<A, Items>& sums, Combine combine) {
    Vector<A, Items * YRun> held;
    GPUBENCH_UNROLL
    for (int r = 0; r < Moves * Run; ++r) {
        if (!Whole && r % YRun == 0 && r >= left) return;
        combine_items(sums, row_of<A, Items, Run>(raw, r), combine);
        GPUBENCH_UNROLL
        for (int j = 0; j < Items; ++j) held[j * YRun + r % YRun] = sums[j];
        if (r % YRun != YRun - 1) continue;
        const Packed<Out, Items * YRun> packed = pack_items<Items * YRun, Out>(held);
        if constexpr (Apart) {
            const auto runs = bit_cast<Vector<Packed<Out, YRun>, Items>>(packed);
            GPUBENCH_UNROLL
            for (int j = 0; j < Items; ++j) store_run<YRun>(y + j * lines.y_apart, runs[j]);
        } else {
            store_run<YRun>(y, packed);
        }
        y += YRun * lines.y_row;
    }
}

}  // namespace gpubench
