// Where a thread stands in its block and in the whole grid.
#pragma once

#include "gpubench/platform.cuh"

namespace gpubench {

// Threads in a block.
GPUBENCH_DEVICE int block_threads() { return block_size_x() * block_size_y() * block_size_z(); }

// This thread's number in its block, x first.
GPUBENCH_DEVICE int thread_rank() {
    return thread_index_x() + block_size_x() * (thread_index_y() + block_size_y() * thread_index_z());
}

// This thread's number in a grid of one-dimensional blocks along x, and the number of threads in such a grid: the start
// and the step of a grid-stride loop.
GPUBENCH_DEVICE int64 grid_thread() { return int64{block_index_x()} * block_size_x() + thread_index_x(); }
GPUBENCH_DEVICE int64 grid_threads() { return int64{grid_size_x()} * block_size_x(); }

}  // namespace gpubench
