// All blocks of a launch wait for each other, and learn whether all of them agree: a barrier of the grid, for blocks that
// are resident together.
//
// Each block publishes a word that bears the number of the launch, and its threads read those of all blocks: one hop. Words
// of a launch that was ended early are as good as empty; who replays launches in a graph, where they keep their number, sets
// the words to zero in a later launch.
#pragma once

#include "gpubench/platform.cuh"

namespace gpubench {

// Publish a word of the launch, by one thread behind a barrier of those whose work it stands for.
GPUBENCH_DEVICE void publish(uint64* word, uint32 launch, bool agrees = true) {
    store_release(word, uint64{launch} << 32 | (agrees ? 1u : 0u));
}

// Wait for a word of the launch; whether it agrees.
GPUBENCH_DEVICE bool await(const uint64* word, uint32 launch) {
    uint64 found = load_acquire(word);
    while (static_cast<uint32>(found >> 32) != launch) found = load_acquire(word);
    return (found & 1u) != 0;
}

// The first half of a meeting, behind a barrier: the block has come. words: one a block, used for one meeting of a launch.
GPUBENCH_DEVICE void arrive(uint64* words, uint32 launch, bool agrees = true) {
    if (thread_index_x() == 0) publish(words + block_index_x(), launch, agrees);
}

// The second half: true, for all threads, where every block came with `agrees` (the same for all threads of a block). What any
// thread of the grid did before it came is seen by all.
GPUBENCH_DEVICE bool await_all(const uint64* words, uint32 launch) {
    bool all = true;
    for (int other = thread_index_x(); other < grid_size_x(); other += block_size_x()) all = await(words + other, launch) && all;
    return block_barrier_and(all);
}

// Both at once.
GPUBENCH_DEVICE bool meet(uint64* words, uint32 launch, bool agrees = true) {
    block_barrier();
    arrive(words, launch, agrees);
    return await_all(words, launch);
}

}  // namespace gpubench
