// Columns: lanes side by side take a row of a strip, groups of lanes consecutive rows.
//
// Strip and StripRows: rows that go from global memory to registers at once. LaneRows: rows that lie side by side in shared
// memory, where they came by one copy. Rows that do not exist are zero, which `combine` must take as nothing.
//
// F, in templates: the numbers of a kernel. F::A type of totals, F::items columns of a lane, F::at_once rows of a lane under
// way; F::packed: lanes and groups of them are as many as the columns allow, else F::across lanes, a power of two.
#pragma once

#include "gpubench/items.cuh"
#include "gpubench/movement/row_vectors.cuh"

namespace gpubench {

struct ColumnShape {
    long long length, inner;              // rows of a column; columns side by side
    long long x_outer, x_row;             // distances in x; y is contiguous
    long long strips;                     // in one outer block
    long long elements;                   // of x, up to the last one that may be read
    int tiles, share;                     // of a strip; blocks that take them in turn
};
GPUBENCH_LAYOUT(ColumnShape, 56, share, 52);

// Warps x 32 threads as groups of Lanes; each group takes Rows rows.
template <class T, class Out, int I, int L, int R, int W>
struct Strip {
    using A = accumulator_t<Out>;
    static constexpr int items = I, lanes = L, rows = R, warps = W;
    static constexpr int columns = L * I;
    static constexpr int groups = W * warp_size / L;
    static constexpr int tile = groups * R;
    static constexpr int slices = W * warp_size / columns > 0 ? W * warp_size / columns : 1;
};

// A strip whose lanes (a power of two, no fewer than `lanes`) and warps are the launch's: one kernel serves strips of every
// width.
template <class T, class Out, int I, int R>
struct LooseStrip {
    using A = accumulator_t<Out>;
    static constexpr int items = I, lanes = 4, rows = R;
};

// S::rows rows of one vector of columns in the registers of a thread, as they were loaded.
template <class S, class T>
struct StripRows {
    Packed<T, S::items> rows[S::rows];

    // `left`: rows from here to the end of the column; may be negative. Predicated in assembly: of integers the compiler would put
    // each load off until the row before it is added, and wait for memory as often.
    GPUBENCH_DEVICE void load(const T* source, long long left, long long step) {
        GPUBENCH_UNROLL
        for (int r = 0; r < S::rows; ++r, source += step) {  // moved on: a product of 64 bits each costs more than the rest
            rows[r] = vector_if<S::items>(source, r < left);
        }
    }
    // The totals of the rows, column by column.
    template <class Combine>
    GPUBENCH_DEVICE Vector<typename S::A, S::items> reduce(Combine combine) const {
        Vector<typename S::A, S::items> total = unpack_items<S::items, typename S::A>(rows[0]);
        GPUBENCH_UNROLL
        for (int r = 1; r < S::rows; ++r) combine_items(total, unpack_items<S::items, typename S::A>(rows[r]), combine);
        return total;
    }
    // Store the running totals behind `before`.
    template <class Out, class Combine>
    GPUBENCH_DEVICE void store(Out* target, long long left, long long step, Vector<typename S::A, S::items> before, Combine combine) const {
        GPUBENCH_UNROLL
        for (int r = 0; r < S::rows; ++r, target += step) {
            combine_items(before, unpack_items<S::items, typename S::A>(rows[r]), combine);
            if (r < left) store_packed(target, pack_items<S::items, Out>(before));
        }
    }
};

// The rows of a stage that the calling lane takes, of one vector of columns; none beside the last column.
template <class T>
struct LaneRows {
    T* source;
    int column, part;
    int first, count;
};

// F::at_once of the lane's rows from `source` on, of which `count` exist; those beyond are zero.
template <bool Whole, class F, class T>
GPUBENCH_DEVICE void load_some(Packed<T, F::items> (&raw)[F::at_once], const T* source, int count, int pitch) {
    GPUBENCH_UNROLL
    for (int k = 0; k < F::at_once; ++k) {
        if constexpr (!Whole) raw[k] = Packed<T, F::items>{};
        if (Whole || k < count) raw[k] = load_packed<F::items>(source + k * pitch);
    }
}

template <bool Whole, class F, class T, class Combine>
GPUBENCH_DEVICE void reduce_some(Vector<typename F::A, F::items>& total, const T* source, int count, int pitch, Combine combine) {
    Packed<T, F::items> raw[F::at_once];
    load_some<Whole, F>(raw, source, count, pitch);
    GPUBENCH_UNROLL
    for (int k = 0; k < F::at_once; ++k) combine_items(total, unpack_items<F::items, typename F::A>(raw[k]), combine);
}

// The totals of the lane's rows, column by column. No question is asked of each row while F::at_once of them exist.
template <class F, class T, class Combine>
GPUBENCH_DEVICE Vector<typename F::A, F::items> reduce_rows(const LaneRows<T>& mine, int pitch, Combine combine) {
    Vector<typename F::A, F::items> total{};
    const T* source = mine.source;
    int row = 0;
    GPUBENCH_NO_UNROLL
    for (; row + F::at_once <= mine.count; row += F::at_once) {
        reduce_some<true, F>(total, source, F::at_once, pitch, combine);
        source += F::at_once * pitch;
    }
    if (row < mine.count) reduce_some<false, F>(total, source, mine.count - row, pitch, combine);
    warp_barrier();  // lanes with fewer rows wait for the others
    return total;
}

template <bool Whole, class F, class T, class Out, class Combine>
GPUBENCH_DEVICE void scan_some(Vector<typename F::A, F::items>& total, const T* source, int count, int columns, Out* place, long long pitch,
                               Combine combine) {
    Packed<T, F::items> raw[F::at_once];
    load_some<Whole, F>(raw, source, count, columns);
    GPUBENCH_UNROLL
    for (int k = 0; k < F::at_once; ++k) {
        combine_items(total, unpack_items<F::items, typename F::A>(raw[k]), combine);
        if (Whole || k < count) store_packed(place + k * pitch, pack_items<F::items, Out>(total));
    }
}

// Store the running totals of the lane's rows behind `total`, each into a row of `place`; `total` is moved on behind them.
template <class F, class T, class Out, class Combine>
GPUBENCH_DEVICE void scan_rows(Vector<typename F::A, F::items>& total, const LaneRows<T>& mine, int columns, Out* place, long long pitch,
                               Combine combine) {
    const T* source = mine.source;
    int row = 0;
    GPUBENCH_NO_UNROLL
    for (; row + F::at_once <= mine.count; row += F::at_once) {
        scan_some<true, F>(total, source, F::at_once, columns, place, pitch, combine);
        source += F::at_once * columns;
        place += F::at_once * pitch;
    }
    if (row < mine.count) scan_some<false, F>(total, source, mine.count - row, columns, place, pitch, combine);
    warp_barrier();
}

// The totals of a lane's columns, from and to a row of totals in shared memory.
template <int N, class A>
GPUBENCH_DEVICE Vector<A, N> load_totals(const A* row) {
    return load_vector<N>(row);
}
template <int N, class A>
GPUBENCH_DEVICE void store_totals(A* row, const Vector<A, N>& totals) {
    store_vector(row, totals);
}

}  // namespace gpubench
