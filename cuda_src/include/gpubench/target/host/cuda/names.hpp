// CUDA's own names on the host simulator, so that a plain .cu that knows nothing of gpubench runs unchanged: qualifiers,
// built-in variables, barriers, warp functions, fences and hints. Declarations of __shared__ arrays are rewritten before
// they come here (gpubench/kernels/plain_cuda.py). A function that can go wrong takes the place of its call last.
#pragma once

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "gpubench/platform.cuh"

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __managed__
#define __grid_constant__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __CUDACC__ 1
#define __CUDA_ARCH__ 900

#include "gpubench/target/host/cuda/vectors.hpp"

namespace gpubench::cuda_names {

GPUBENCH_HOST_OWN uint3 index3(host::Index3 index) { return {index.x, index.y, index.z}; }
GPUBENCH_HOST_OWN uint3 thread_index() { return index3(host::current->thread_index); }
GPUBENCH_HOST_OWN uint3 block_index() { return index3(host::current->block_index); }
GPUBENCH_HOST_OWN dim3 block_size() { return index3(host::current->block_size); }
GPUBENCH_HOST_OWN dim3 grid_size() { return index3(host::current->grid_size); }

// An array of dynamic shared memory that is declared outside of any function: where it begins is asked at each use.
template <class T>
struct DynamicShared {
    operator T*() const { return reinterpret_cast<T*>(dynamic_shared()); }
    template <class U>
    explicit operator U*() const { return reinterpret_cast<U*>(dynamic_shared()); }
};

template <class T>
T shuffled(uint32 mask, T value, int lane, int width, const char* name, host::Where where) {
    const int first = lane_index() & ~(width - 1);
    const bool inside = lane >= first && lane < first + width;
    return detail::shuffle_from(mask, value, inside ? lane : lane_index(), name, where);
}

}  // namespace gpubench::cuda_names

#define threadIdx (::gpubench::cuda_names::thread_index())
#define blockIdx (::gpubench::cuda_names::block_index())
#define blockDim (::gpubench::cuda_names::block_size())
#define gridDim (::gpubench::cuda_names::grid_size())
#define warpSize 32

// --- Barriers and fences ---------------------------------------------------------------------------------------------

inline void __syncthreads(gpubench::host::Where where = gpubench::host::Where::here()) {
    gpubench::block_barrier(where);
}
inline int __syncthreads_count(int predicate, gpubench::host::Where where = gpubench::host::Where::here()) {
    return gpubench::block_barrier_count(predicate != 0, where);
}
inline int __syncthreads_or(int predicate, gpubench::host::Where where = gpubench::host::Where::here()) {
    return gpubench::block_barrier_or(predicate != 0, where);
}
inline int __syncthreads_and(int predicate, gpubench::host::Where where = gpubench::host::Where::here()) {
    return gpubench::block_barrier_and(predicate != 0, where);
}
inline void __syncwarp(unsigned mask = 0xffffffffu, gpubench::host::Where where = gpubench::host::Where::here()) {
    // A warp at the end of a block may be short: the default mask means those lanes that there are.
    const gpubench::host::ThreadView& view = *gpubench::host::current;
    const unsigned threads = view.block_size.x * view.block_size.y * view.block_size.z;
    const unsigned left = threads - (view.rank & ~31u);
    gpubench::warp_barrier(left < 32 ? mask & ((1u << left) - 1) : mask, where);
}
inline void __threadfence() { gpubench::memory_fence(); }
inline void __threadfence_block() { gpubench::block_memory_fence(); }
inline void __threadfence_system() { gpubench::memory_fence(); }

// --- Warps -----------------------------------------------------------------------------------------------------------

template <class T>
T __shfl_sync(unsigned mask, T value, int lane, int width = 32, gpubench::host::Where where = gpubench::host::Where::here()) {
    const int first = gpubench::lane_index() & ~(width - 1);
    return gpubench::cuda_names::shuffled(mask, value, first + (lane & (width - 1)), width, "__shfl_sync", where);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,
                 gpubench::host::Where where = gpubench::host::Where::here()) {
    return gpubench::cuda_names::shuffled(mask, value, gpubench::lane_index() - int(delta), width, "__shfl_up_sync", where);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                   gpubench::host::Where where = gpubench::host::Where::here()) {
    return gpubench::cuda_names::shuffled(mask, value, gpubench::lane_index() + int(delta), width, "__shfl_down_sync", where);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32,
                  gpubench::host::Where where = gpubench::host::Where::here()) {
    // A lane of an earlier segment may be read, one of a later segment not.
    const int from = gpubench::lane_index() ^ bits;
    const bool later = from >= (gpubench::lane_index() & ~(width - 1)) + width;
    return gpubench::detail::shuffle_from(mask, value, later ? gpubench::lane_index() : from, "__shfl_xor_sync", where);
}
inline unsigned __ballot_sync(unsigned mask, int predicate, gpubench::host::Where where = gpubench::host::Where::here()) {
    return gpubench::ballot(mask, predicate != 0, where);
}
inline int __any_sync(unsigned mask, int predicate, gpubench::host::Where where = gpubench::host::Where::here()) {
    return gpubench::any(mask, predicate != 0, where);
}
inline int __all_sync(unsigned mask, int predicate, gpubench::host::Where where = gpubench::host::Where::here()) {
    return gpubench::all(mask, predicate != 0, where);
}
template <class T>
unsigned __match_any_sync(unsigned mask, T value, gpubench::host::Where where = gpubench::host::Where::here()) {
    unsigned long long bits = 0;
    memcpy(&bits, &value, sizeof value);
    return gpubench::match_any(mask, static_cast<gpubench::uint64>(bits), where);
}

namespace gpubench::cuda_names {
// Every lane of the mask takes what all of them give together.
template <class T, class Combine>
T reduced(uint32 mask, T value, Combine combine, const char* name, host::Where where) {
    T total = value;
    bool first = true;
    for (uint32 rest = mask; rest != 0; rest &= rest - 1) {
        const T other = detail::shuffle_from(mask, value, __builtin_ctz(rest), name, where);
        total = first ? other : combine(total, other);
        first = false;
    }
    return total;
}
}  // namespace gpubench::cuda_names

#define GPUBENCH_REDUCE(function, expression)                                                                          \
    template <class T>                                                                                                 \
    T function(unsigned mask, T value, gpubench::host::Where where = gpubench::host::Where::here()) {                  \
        return gpubench::cuda_names::reduced(mask, value, [](T a, T b) -> T { return expression; }, #function, where); \
    }
GPUBENCH_REDUCE(__reduce_add_sync, a + b)
GPUBENCH_REDUCE(__reduce_min_sync, b < a ? b : a)
GPUBENCH_REDUCE(__reduce_max_sync, a < b ? b : a)
GPUBENCH_REDUCE(__reduce_and_sync, a& b)
GPUBENCH_REDUCE(__reduce_or_sync, a | b)
GPUBENCH_REDUCE(__reduce_xor_sync, a ^ b)
#undef GPUBENCH_REDUCE

// --- Loads and stores with hints, time, ends -------------------------------------------------------------------------

#define GPUBENCH_LOAD(function) \
    template <class T>          \
    T function(const T* from) { \
        return *from;           \
    }
#define GPUBENCH_STORE(function)    \
    template <class T>              \
    void function(T* to, T value) { \
        *to = value;                \
    }
GPUBENCH_LOAD(__ldg)
GPUBENCH_LOAD(__ldca)
GPUBENCH_LOAD(__ldcg)
GPUBENCH_LOAD(__ldcs)
GPUBENCH_LOAD(__ldlu)
GPUBENCH_LOAD(__ldcv)
GPUBENCH_STORE(__stwb)
GPUBENCH_STORE(__stcg)
GPUBENCH_STORE(__stcs)
GPUBENCH_STORE(__stwt)
#undef GPUBENCH_LOAD
#undef GPUBENCH_STORE

inline long long clock64() { return gpubench::sm_clock(); }
inline int gpubench_clock() { return static_cast<int>(gpubench::sm_clock()); }
#define clock gpubench_clock
inline void __nanosleep(unsigned ns, gpubench::host::Where where = gpubench::host::Where::here()) {
    gpubench::back_off(ns, where);
}
inline void __trap(gpubench::host::Where where = gpubench::host::Where::here()) { gpubench::trap(where); }
#define __builtin_assume(condition) ((void)0)
#define assert(condition) ((condition) ? (void)0 : ::gpubench::host::fail(::gpubench::host::Where::here(), "assertion failed: %s", #condition))

#include "gpubench/target/host/cuda/atomics.hpp"
#include "gpubench/target/host/cuda/numbers.hpp"
#include "gpubench/target/host/cuda/halves.hpp"
