// What the scans of columns share: strips, the exchange inside a block, and the one between blocks.
#pragma once

#include "gpubench/grid.cuh"
#include "cumsum/items.cuh"

namespace gpubench::cumsum {

struct ColumnShape {
    long long length, inner;              // rows of a column; columns side by side
    long long x_outer, x_row;             // distances in x; y is contiguous
    long long strips;                     // in one outer block
    long long elements;                   // of x, up to the last one that may be read
    int tiles, share;                     // of a strip; blocks that take them in turn
};

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

// The sums of all columns over tiles `after` + 1 to `tile` - 1 of the strip, for the calling thread's columns.
template <class S>
GPUBENCH_DEVICE Vector<typename S::A, S::items> fold_columns(void* published, uint32 launch, long long first, int after, int tile,
                                                             typename S::A* parts) {
    using A = typename S::A;
    const int thread = thread_index_x();
    for (int column = thread % S::columns; column < S::columns && thread < S::slices * S::columns; column += S::warps * warp_size) {
        const int slice = thread / S::columns;
        A sum{};
        for (int other = after + 1 + slice; other < tile; other += 4 * S::slices) {
            A values[4];
            bool there[4];
            GPUBENCH_UNROLL
            for (int w = 0; w < 4; ++w) {
                const int one = other + w * S::slices;
                values[w] = A{};
                there[w] = one >= tile || read_published(published_at<A>(published, (first + one) * S::columns + column), launch, values[w]);
            }
            GPUBENCH_UNROLL
            for (int w = 0; w < 4; ++w) {
                const int one = other + w * S::slices;
                while (!there[w]) there[w] = read_published(published_at<A>(published, (first + one) * S::columns + column), launch, values[w]);
                sum = add(sum, values[w]);
            }
        }
        parts[slice * S::columns + column] = sum;
    }
    block_barrier();
    Vector<A, S::items> result{};
    GPUBENCH_UNROLL
    for (int j = 0; j < S::items; ++j) {
        const int column = thread % S::lanes * S::items + j;
        result[j] = parts[column];
        for (int slice = 1; slice < S::slices; ++slice) result[j] = add(result[j], parts[slice * S::columns + column]);
    }
    return result;
}

template <int N, class A>
GPUBENCH_DEVICE void add_vector(Vector<A, N>& sum, const Vector<A, N>& other) {
    GPUBENCH_UNROLL
    for (int j = 0; j < N; ++j) sum[j] = add(sum[j], other[j]);
}

// Each thread brings the sums of its rows in `upto`. In `before` it gets those of the warp's groups before its own; the
// warp's last group writes the sums of the whole warp to `totals`, a row of columns.
template <class S>
GPUBENCH_DEVICE void scan_warp(Vector<typename S::A, S::items>& upto, Vector<typename S::A, S::items>& before, typename S::A* totals) {
    using A = typename S::A;
    const int lane = lane_index();
    GPUBENCH_UNROLL
    for (int j = 0; j < S::items; ++j) {
        const int place = opaque(lane);
        GPUBENCH_UNROLL
        for (int delta = S::lanes; delta < warp_size; delta *= 2) {
            const A other = shuffle_up(full_mask, upto[j], delta);
            if (place >= delta) upto[j] = add(other, upto[j]);
        }
        const A left = shuffle_up(full_mask, upto[j], S::lanes % warp_size);
        before[j] = A{};
        if (place >= S::lanes) before[j] = left;
    }
    if (lane >= warp_size - S::lanes) store_vector(totals + lane % S::lanes * S::items, upto);
}

// `before` gets the sums of all rows of the strip before the thread's own. table: shared memory, two tables in turn (see
// `turn`) of a row of columns for what came before the tile, and one for each warp. The last warp carries the sums on.
template <class S>
GPUBENCH_DEVICE void scan_strip(Vector<typename S::A, S::items>& upto, Vector<typename S::A, S::items>& before, int turn,
                                typename S::A (&table)[2 * (S::warps + 1) * S::columns]) {
    using A = typename S::A;
    constexpr int size = (S::warps + 1) * S::columns;
    const int warp = thread_index_x() / warp_size;
    const int column = lane_index() % S::lanes * S::items;
    A* const rows = table + turn % 2 * size;
    if (turn == 0 && warp == 0 && lane_index() < S::lanes) store_vector(rows + column, Vector<A, S::items>{});
    scan_warp<S>(upto, before, rows + (warp + 1) * S::columns);
    block_barrier();
    Vector<A, S::items> earlier = load_vector<S::items>(rows + column);
    GPUBENCH_NO_UNROLL  // a warp adds up only the warps before it
    for (int other = 1; other <= warp; ++other) add_vector(earlier, load_vector<S::items>(rows + other * S::columns + column));
    if (warp == S::warps - 1 && lane_index() >= warp_size - S::lanes) {
        add_vector(upto, earlier);
        store_vector(table + (turn + 1) % 2 * size + column, upto);
    }
    add_vector(before, earlier);
}

// As `scan_warp`, over all groups of the block: `before` gets the sums of those before this one, `total` of the whole tile.
// totals: shared memory for the warps' sums, not the same in two calls in a row.
template <class S>
GPUBENCH_DEVICE void scan_groups(Vector<typename S::A, S::items>& upto, Vector<typename S::A, S::items>& before,
                                 Vector<typename S::A, S::items>& total, typename S::A* totals) {
    using A = typename S::A;
    const int warp = thread_index_x() / warp_size;
    const int column = lane_index() % S::lanes * S::items;
    scan_warp<S>(upto, before, totals + warp * S::columns);
    block_barrier();
    GPUBENCH_UNROLL
    for (int j = 0; j < S::items; ++j) {
        A earlier{};
        A all{};
        GPUBENCH_UNROLL
        for (int other = 0; other < S::warps; ++other) {
            if (other == warp) earlier = all;
            all = add(all, totals[other * S::columns + column + j]);
        }
        before[j] = add(earlier, before[j]);
        total[j] = all;
    }
}

// Tell the other blocks the column sums of a tile: its first Lanes threads do. `place` is the tile's number of all.
template <class S>
GPUBENCH_DEVICE void publish_columns(void* published, uint32 launch, long long place, const Vector<typename S::A, S::items>& total) {
    if (thread_index_x() >= S::lanes) return;
    GPUBENCH_UNROLL
    for (int j = 0; j < S::items; ++j) {
        publish(published_at<typename S::A>(published, place * S::columns + thread_index_x() * S::items + j), launch, total[j]);
    }
}

}  // namespace gpubench::cumsum
