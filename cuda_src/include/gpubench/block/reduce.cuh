// The total of one value a thread over a block of one-dimensional threads, and values that meet in its shared memory.
#pragma once

#include "gpubench/vector.cuh"
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

// The same for thread 0, in a block of up to `Most` warps, a power of two. Once a kernel: it has shared memory of its own.
template <int Most, class A, class Combine>
GPUBENCH_DEVICE A block_reduce_first(A value, A identity, Combine combine) {
    GPUBENCH_SHARED(A, parts, warp_size);
    const uint32 thread = thread_index_x(), lane = thread % warp_size, warps = static_cast<uint32>(block_size_x()) / warp_size;
    A* const place = parts + (lane == 0 ? thread / warp_size : lane);  // a first lane's own, then another warp's: one address
    value = warp_reduce(value, combine);
    if (lane == 0) *place = value;
    block_barrier();
    if (thread >= warp_size) return value;
    return warp_reduce(lane < warps ? *place : identity, combine, Most);
}

// The same in a block of so many warps, a power of two; of one, for the first lane of each of its warps. A thread combines up
// to eight of the warps' totals: that waits for less than as many shuffles do.
template <int Warps, class A, class Combine>
GPUBENCH_DEVICE A block_reduce_first(A value, Combine combine) {
    constexpr int own = Warps < 8 ? Warps : 8, lanes = Warps / own;
    GPUBENCH_SHARED(A, parts, Warps);
    const uint32 thread = thread_index_x();
    value = warp_reduce(value, combine);
    if constexpr (Warps == 1) return value;
    if (thread % warp_size == 0) parts[thread / warp_size] = value;
    block_barrier();
    if (lanes > 1 && thread >= warp_size) return value;
    A totals[own];
    GPUBENCH_UNROLL
    for (int i = 0; i < own; ++i) totals[i] = parts[thread % lanes * own + i];
    GPUBENCH_UNROLL
    for (int apart = 1; apart < own; apart *= 2) {
        GPUBENCH_UNROLL
        for (int i = 0; i < own; i += 2 * apart) totals[i] = combine(totals[i], totals[i + apart]);
    }
    return warp_reduce(totals[0], combine, lanes);
}

// Thread 0's value, for all threads. Once a kernel.
template <class T>
GPUBENCH_DEVICE T share_first(const T& value) {
    GPUBENCH_SHARED(T, shared, 1);
    if (thread_index_x() == 0) shared[0] = value;
    block_barrier();
    return shared[0];
}

// Leave a vector at its place in shared memory, where there is one; then those of all threads of the block are there.
template <class T, int N>
GPUBENCH_DEVICE void meet(T* place, const Vector<T, N>& items, bool exists) {
    if (exists) store_vector(place, items);
    block_barrier();
}

}  // namespace gpubench
