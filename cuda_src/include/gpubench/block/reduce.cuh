// The total of one value a thread over a block of one-dimensional threads.
#pragma once

#include "gpubench/warp.cuh"

namespace gpubench {

// The total of `value` over the block, for all threads; `combine` commutes. Shuffles inside the warps, then every thread
// combines the warps' totals in their order. parts: one place a warp of shared memory, not to be written before the
// next barrier of the block.
template <int Warps, class A, class Combine>
GPUBENCH_DEVICE A block_reduce(A value, A* parts, Combine combine) {
    value = combine_lanes(value, combine);
    if (lane_index() == 0) parts[thread_index_x() / warp_size] = value;
    block_barrier();
    A total = parts[0];
    GPUBENCH_UNROLL
    for (int warp = 1; warp < Warps; ++warp) total = combine(total, parts[warp]);
    return total;
}

}  // namespace gpubench
