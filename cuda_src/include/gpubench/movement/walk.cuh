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

// Ask for Rows rows, of which `left` exist.
template <int Items, int Rows, class T>
GPUBENCH_DEVICE void load_rows(Packed<T, Items> (&raw)[Rows], const T* x, int left, long long x_row) {
    GPUBENCH_UNROLL
    for (int r = 0; r < Rows; ++r, x += x_row) {
        if (r < left) raw[r] = load_packed<Items>(x);
    }
}

// Their running totals, which go on from `sums`: all of them, or the `left` that exist. Apart: a vector's lines are no
// neighbours in y, but y_apart from each other.
template <bool Whole, bool Apart, int Items, int Rows, class T, class Out, class A, class Combine>
GPUBENCH_DEVICE void store_rows(const Packed<T, Items> (&raw)[Rows], Out* y, int left, const LineWalk& lines,
                                Vector<A, Items>& sums, Combine combine) {
    GPUBENCH_UNROLL
    for (int r = 0; r < Rows; ++r, y += lines.y_row) {
        if (!Whole && r >= left) return;
        combine_items(sums, unpack_items<Items, A>(raw[r]), combine);
        const Packed<Out, Items> packed = pack_items<Items, Out>(sums);
        if constexpr (Apart) {
            const Vector<Out, Items> items = bit_cast<Vector<Out, Items>>(packed);
            GPUBENCH_UNROLL
            for (int j = 0; j < Items; ++j) y[j * lines.y_apart] = items[j];
        } else {
            store_packed(y, packed);
        }
    }
}

}  // namespace gpubench
