// Work that the threads of a block share, and the barriers that belong to it; votes of a block.
#pragma once

#include "gpubench/platform.cuh"

namespace gpubench {

// work(i) for i of 0 to count - 1, each by one thread; then all threads see what all did. Threads: of the block, where the
// compiler may know; 0 for whatever the launch has.
template <int Threads = 0, class Work>
GPUBENCH_DEVICE void together(int count, const Work& work) {
    for (int i = thread_index_x(); i < count; i += Threads > 0 ? Threads : block_size_x()) work(i);
    block_barrier();
}
// The same, once all threads have come; what they did before is seen, what is done here not yet.
template <int Threads = 0, class Work>
GPUBENCH_DEVICE void after_all(int count, const Work& work) {
    block_barrier();
    for (int i = thread_index_x(); i < count; i += Threads > 0 ? Threads : block_size_x()) work(i);
}
// The same two, each i by a whole warp.
template <int Threads = 0, class Work>
GPUBENCH_DEVICE void together_by_warps(int count, const Work& work) {
    for (int i = thread_index_x() / warp_size; i < count; i += (Threads > 0 ? Threads : block_size_x()) / warp_size) work(i);
    block_barrier();
}
template <int Threads = 0, class Work>
GPUBENCH_DEVICE void after_all_by_warps(int count, const Work& work) {
    block_barrier();
    for (int i = thread_index_x() / warp_size; i < count; i += (Threads > 0 ? Threads : block_size_x()) / warp_size) work(i);
}
// What every thread leaves in shared memory is there for all of them to take.
template <class Leave, class Take>
GPUBENCH_DEVICE auto exchange(const Leave& leave, const Take& take) {
    leave();
    block_barrier();
    return take();
}

// first(), then second(), by all threads; each sees what came before it, and so does what comes behind.
template <class First, class Second>
GPUBENCH_DEVICE void in_turn(const First& first, const Second& second) {
    first();
    block_barrier();
    second();
    block_barrier();
}

// Whether any, or every, thread of the block says so, and how many do: the same for all threads, which must all come.
GPUBENCH_DEVICE bool any_thread(bool says) { return block_barrier_or(says); }
GPUBENCH_DEVICE bool every_thread(bool says) { return block_barrier_and(says); }
GPUBENCH_DEVICE int threads_that(bool say) { return block_barrier_count(say); }

}  // namespace gpubench
