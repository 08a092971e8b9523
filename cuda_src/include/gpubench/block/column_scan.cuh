// Scans and reductions down the columns of a strip, over the groups of lanes of a warp and over the warps of a block.
//
// S: a Strip of movement/strips.cuh; F: the numbers that its LaneRows take. A{} is what `combine` takes as nothing.
#pragma once

#include "gpubench/block/scan.cuh"
#include "gpubench/items.cuh"

namespace gpubench {

// Each thread brings the totals of its rows in `upto`. In `before` it gets those of the warp's groups before its own; the
// warp's last group writes the totals of the whole warp to `totals`, a row of columns.
template <class S, class Combine>
GPUBENCH_DEVICE void scan_groups_of_warp(Vector<typename S::A, S::items>& upto, Vector<typename S::A, S::items>& before,
                                         typename S::A* totals, Combine combine) {
    using A = typename S::A;
    const int lane = lane_index();
    GPUBENCH_UNROLL
    for (int j = 0; j < S::items; ++j) {
        const int place = opaque(lane);
        GPUBENCH_UNROLL
        for (int delta = S::lanes; delta < warp_size; delta *= 2) {
            const A other = shuffle_up(full_mask, upto[j], delta);
            if (place >= delta) upto[j] = combine(other, upto[j]);
        }
        const A left = shuffle_up(full_mask, upto[j], S::lanes % warp_size);
        before[j] = A{};
        if (place >= S::lanes) before[j] = left;
    }
    if (lane >= warp_size - S::lanes) store_vector(totals + lane % S::lanes * S::items, upto);
}

// The same for a LooseStrip of `lanes` lanes. Of two or four columns a lane, and of single integers, each step is a branch of its
// own: in a loop over the steps 65536 x 8 x 64 float32 took 71.9 us, not 68.7, 4096 x 8192 int8 92.6, not 87.1, 4097 x 8191
// int64 180.1, not 158.5. Eight columns run out of registers that way (16 x 4096 x 1024 float16 81.4 us, 74.7 in the loop), and
// single floats are no faster (2048 x 16385 complex64 180.8 us, 165.6). A branch a step for all columns, not one for each: 8192
// x 8192 int32 214.3 us, 220.1. One H200.
template <class S, class Combine>
GPUBENCH_DEVICE void scan_loose_groups(Vector<typename S::A, S::items>& upto, Vector<typename S::A, S::items>& before,
                                       typename S::A* totals, int lanes, Combine combine) {
    using A = typename S::A;
    const int lane = lane_index(), place = opaque(lane);
    const auto step = [&](int delta) {
        GPUBENCH_UNROLL
        for (int j = 0; j < S::items; ++j) {
            const A other = shuffle_up(full_mask, upto[j], delta);
            if (place >= delta) upto[j] = combine(other, upto[j]);
        }
    };
    if constexpr (S::items == 2 || S::items == 4 || (S::items == 1 && is_integer<A>)) {
        GPUBENCH_UNROLL
        for (int delta = S::lanes; delta < warp_size; delta *= 2) {
            if (delta >= lanes) step(delta);
        }
    } else {
        GPUBENCH_NO_UNROLL
        for (int delta = lanes; delta < warp_size; delta *= 2) step(delta);
    }
    GPUBENCH_UNROLL
    for (int j = 0; j < S::items; ++j) {
        const A left = shuffle_up(full_mask, upto[j], lanes % warp_size);
        before[j] = A{};
        if (place >= lanes) before[j] = left;
    }
    if (lane >= warp_size - lanes) store_vector(totals + (lane & (lanes - 1)) * S::items, upto);
}

// `before` gets the totals of all rows of a LooseStrip before the thread's own. table: shared memory, two tables in turn (see
// `turn`) of a row of columns for what came before the tile, and one for each warp. The last warp carries the totals on.
template <class S, class Combine>
GPUBENCH_DEVICE void scan_strip(Vector<typename S::A, S::items>& upto, Vector<typename S::A, S::items>& before, int turn,
                                typename S::A* table, int lanes, Combine combine) {
    using A = typename S::A;
    const int warps = block_size_x() / warp_size, columns = lanes * S::items;
    const int size = (warps + 1) * columns;
    const int warp = thread_index_x() / warp_size;
    const int column = (lane_index() & (lanes - 1)) * S::items;
    A* const rows = table + turn % 2 * size;
    if (turn == 0 && warp == 0 && lane_index() < lanes) store_vector(rows + column, Vector<A, S::items>{});
    scan_loose_groups<S>(upto, before, rows + (warp + 1) * columns, lanes, combine);
    block_barrier();
    Vector<A, S::items> earlier = load_vector<S::items>(rows + column);
    GPUBENCH_NO_UNROLL  // a warp combines only the warps before it
    for (int other = 1; other <= warp; ++other) {
        combine_items(earlier, load_vector<S::items>(rows + other * columns + column), combine);
    }
    if (warp == warps - 1 && lane_index() >= warp_size - lanes) {
        combine_items(upto, earlier, combine);
        store_vector(table + (turn + 1) % 2 * size + column, upto);
    }
    combine_items(before, earlier, combine);
}

// The same over all groups of the block: `before` gets the totals of those before this one, `total` of the whole tile.
// totals: shared memory for a row of columns a warp, not the same in two calls in a row.
template <class S, class Combine>
GPUBENCH_DEVICE void scan_groups_of_block(Vector<typename S::A, S::items>& upto, Vector<typename S::A, S::items>& before,
                                          Vector<typename S::A, S::items>& total, typename S::A* totals, Combine combine) {
    using A = typename S::A;
    const int warp = thread_index_x() / warp_size;
    const int column = lane_index() % S::lanes * S::items;
    scan_groups_of_warp<S>(upto, before, totals + warp * S::columns, combine);
    block_barrier();
    GPUBENCH_UNROLL
    for (int j = 0; j < S::items; ++j) {
        const BlockPlace<A> place = scan_warps<S::warps>(totals + column + j, warp, A{}, combine, S::columns);
        before[j] = combine(place.before, before[j]);
        total[j] = place.total;
    }
}

// From the totals of each lane's rows to those of the groups before it in the warp, `across` lanes each, `lanes` in all.
template <class F, class Combine>
GPUBENCH_DEVICE void scan_lane_groups(Vector<typename F::A, F::items>& totals, int across, int lanes, Combine combine) {
    using A = typename F::A;
    GPUBENCH_NO_UNROLL  // unrolled, the shuffles of all items are under way at once, and registers run out
    for (int delta = across; delta < lanes; delta *= 2) {
        GPUBENCH_UNROLL
        for (int j = 0; j < F::items; ++j) {
            const int place = opaque(lane_index());
            const A other = shuffle_up(full_mask, totals[j], delta);
            if (place >= delta) totals[j] = combine(other, totals[j]);
        }
    }
    GPUBENCH_UNROLL
    for (int j = 0; j < F::items; ++j) {
        const int place = opaque(lane_index());
        const A left = shuffle_up(full_mask, totals[j], across % warp_size);
        totals[j] = A{};
        if (place >= across) totals[j] = left;
    }
}

// The totals of all groups, for the first of them.
template <class F, class Combine>
GPUBENCH_DEVICE void reduce_lane_groups(Vector<typename F::A, F::items>& totals, int across, int lanes, Combine combine) {
    if constexpr (F::packed) {
        const int place = opaque(lane_index());
        for (int delta = across; delta < lanes; delta *= 2) {
            GPUBENCH_UNROLL
            for (int j = 0; j < F::items; ++j) {
                const typename F::A other = shuffle_down(full_mask, totals[j], delta);
                if (place + delta < lanes) totals[j] = combine(totals[j], other);
            }
        }
    } else {
        GPUBENCH_UNROLL
        for (int j = 0; j < F::items; ++j) {
            GPUBENCH_UNROLL
            for (int bits = F::across; bits < warp_size; bits *= 2) {
                totals[j] = combine(totals[j], shuffle_xor(full_mask, totals[j], bits));
            }
        }
    }
}

}  // namespace gpubench
