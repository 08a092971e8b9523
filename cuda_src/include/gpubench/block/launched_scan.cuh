// Scans over the warps of a block that has as many as it is launched with; scan.cuh is for a number that the kernel knows.
#pragma once

#include "gpubench/items.cuh"

namespace gpubench {

// As share_warp_totals. totals: a place a warp, on 16 bytes, and three more, so that whole vectors of four can be read.
template <class A>
GPUBENCH_DEVICE void share_launched_totals(A total, A* totals, int warp, int lane, int warps) {
    if (lane == 0 || (lane < 4 && warp == warps - 1)) totals[warp + lane] = lane == 0 ? total : A{};
    block_barrier();
}

// The totals of the warps before, combined in their order; the block has at most Most warps. AtOnce, 4 at
// most, are read together.
template <int Most, int AtOnce = 4, class A, class Combine>
GPUBENCH_DEVICE A before_launched_warp(const A* totals, int warp, A identity, Combine combine) {
    A before = identity;
    GPUBENCH_UNROLL
    for (int first = 0; first < Most; first += AtOnce) {
        if (first >= warp) break;
        const Vector<A, AtOnce> some = load_vector<AtOnce>(totals + first);
        GPUBENCH_UNROLL
        for (int i = 0; i < AtOnce; ++i) before = first + i < warp ? combine(before, some[i]) : before;
    }
    return before;
}

}  // namespace gpubench
