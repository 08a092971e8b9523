// Scans of one value a thread, or a warp, over a block of one-dimensional threads.
#pragma once

#include "gpubench/warp.cuh"

namespace gpubench {

// How counts come together.
struct Together {
    GPUBENCH_DEVICE uint32 operator()(uint32 a, uint32 b) const { return a + b; }
};

// What a thread learns of its block in a scan.
template <class A>
struct BlockPlace {
    A before;  // the total of what comes before this thread, or its warp
    A total;   // of the block
};

// The first lane of each warp leaves the warp's total, for all threads of the block.
template <class A>
GPUBENCH_DEVICE void share_warp_totals(A total, A* totals, int warp, int lane) {
    if (lane == 0) totals[warp] = total;
    block_barrier();
}

// From the totals of the warps, each `apart` places behind the one before, what comes before warp `warp`, and the total of
// all: every thread combines them in their order. Behind a barrier.
template <int Warps, class A, class Combine>
GPUBENCH_DEVICE BlockPlace<A> scan_warps(const A* totals, int warp, A identity, Combine combine, int apart = 1) {
    A before = identity;
    A total = identity;
    GPUBENCH_UNROLL
    for (int other = 0; other < Warps; ++other) {
        if (other == warp) before = total;
        total = combine(total, totals[other * apart]);
    }
    return {before, total};
}

// Scan one value a thread over the block: shuffles inside the warps, then the warps' totals. totals: one place a warp of
// shared memory, free for other use after the next barrier.
template <int Warps, class A, class Combine>
GPUBENCH_DEVICE BlockPlace<A> block_scan(A value, A* totals, A identity, Combine combine) {
    const int warp = thread_index_x() / warp_size;
    const A through = warp_inclusive_scan(value, combine);
    const A left = shuffle_up(full_mask, through, 1);
    if (lane_index() == warp_size - 1) totals[warp] = through;
    block_barrier();
    const BlockPlace<A> place = scan_warps<Warps>(totals, warp, identity, combine);
    return {lane_index() == 0 ? place.before : combine(place.before, left), place.total};
}

// The same, where registers are few: every warp scans the warps' totals by shuffles.
template <int Warps, class A, class Combine>
GPUBENCH_DEVICE BlockPlace<A> block_scan_by_shuffles(A value, A* totals, A identity, Combine combine) {
    const int warp = thread_index_x() / warp_size;
    const A before = warp_exclusive_scan(value, combine, identity);
    if (lane_index() == warp_size - 1) totals[warp] = combine(before, value);
    block_barrier();
    const A through = warp_inclusive_scan(lane_index() < Warps ? totals[lane_index()] : identity, combine);
    const A left = shuffle(full_mask, through, warp > 0 ? warp - 1 : 0);
    return {warp > 0 ? combine(left, before) : before, shuffle(full_mask, through, Warps - 1)};
}

}  // namespace gpubench
