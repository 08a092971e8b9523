// All blocks of a launch wait for each other, and learn whether all of them agree: a barrier of the grid, for blocks that
// are resident together.
//
// Each block publishes a word that bears the number of the launch, and its threads read those of all blocks: one hop. Words
// of a launch that was ended early are as good as empty; who replays launches in a graph, where they keep their number, sets
// the words to zero in a later launch.
#pragma once

#include "gpubench/platform.cuh"

namespace gpubench {

// True, for all threads, where every block came with `agrees` (the same for all threads of a block). What any thread of the
// grid did before is seen by all behind it. words: one a block, used for one meeting of a launch.
GPUBENCH_DEVICE bool meet(uint64* words, uint32 launch, bool agrees = true) {
    block_barrier();
    if (thread_index_x() == 0) {
        memory_fence();
        store_release(words + block_index_x(), uint64{launch} << 32 | (agrees ? 1u : 0u));
    }
    bool all = true;
    for (int other = thread_index_x(); other < grid_size_x(); other += block_size_x()) {
        uint64 word = load_acquire(words + other);
        while (static_cast<uint32>(word >> 32) != launch) word = load_acquire(words + other);
        all = all && (word & 1u) != 0;
    }
    return block_barrier_and(all);
}

}  // namespace gpubench
