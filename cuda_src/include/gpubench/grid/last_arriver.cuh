// The block that arrives last combines what all blocks of its group have left: a reduction over blocks in one launch, in
// which no block waits for another.
#pragma once

#include "gpubench/block/reduce.cuh"

namespace gpubench {

// True, for all threads, in the last of `blocks` blocks that call with this counter; what the others stored before they
// called is seen there. counter: zero before the first launch; the last block leaves it so.
GPUBENCH_DEVICE bool last_block_to_arrive(uint32* counter, uint32 blocks) {
    memory_fence();
    block_barrier();
    bool last = false;
    if (thread_index_x() == 0) {
        last = fetch_add(counter, 1u) == blocks - 1;
        if (last) store_relaxed(counter, uint32{0});
    }
    if (!block_barrier_or(last)) return false;
    memory_fence();
    return true;
}

// Leave `total`, of thread 0, in place `part` of `parts`; in the last block to arrive, and only there, `total` becomes that
// of all parts, in an order that does not depend on the blocks' order, for all threads, and the result is true.
// exchange: one place a warp of shared memory, not in use by others until the block's next barrier.
template <int Warps, class A, class Combine>
GPUBENCH_DEVICE bool combine_by_last(A& total, A* parts, int part, uint32* counter, int blocks, A* exchange, A identity,
                                     Combine combine) {
    if (thread_index_x() == 0) parts[part] = total;
    if (!last_block_to_arrive(counter, static_cast<uint32>(blocks))) return false;
    total = identity;
    for (int other = thread_index_x(); other < blocks; other += Warps * warp_size) total = combine(total, parts[other]);
    total = block_reduce<Warps>(total, exchange, combine);
    return true;
}

}  // namespace gpubench
