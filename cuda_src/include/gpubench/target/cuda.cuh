// The platform on a GPU, compiled by NVRTC with none of CUDA's headers. What each name promises stands in platform.cuh.
#pragma once

#define GPUBENCH_KERNEL __global__
#define GPUBENCH_LAUNCH_BOUNDS(...) __launch_bounds__(__VA_ARGS__)
#define GPUBENCH_DEVICE __device__ __forceinline__
#define GPUBENCH_SHARED(T, name, count) __shared__ alignas(16) T name[count]
#define GPUBENCH_DYNAMIC_SHARED(T, name) T* const name = reinterpret_cast<T*>(::gpubench::dynamic_shared())
// NVRTC 13.0 has no offsetof in constants; the host, whose layout is the same, asserts the offset, too.
#define GPUBENCH_LAYOUT(T, size, last, offset) static_assert(sizeof(T) == (size), "the host's Struct says so")
#define GPUBENCH_UNROLL _Pragma("unroll")
#define GPUBENCH_NO_UNROLL _Pragma("unroll 1")

#include "gpubench/core.cuh"
#include "gpubench/bits16.cuh"

namespace gpubench {

// The architecture compiled for, 100 * major + 10 * minor, for `if constexpr`.
constexpr int architecture = __CUDA_ARCH__;

GPUBENCH_DEVICE unsigned char* dynamic_shared() {
    extern __shared__ __align__(16) unsigned char gpubench_dynamic_shared_memory[];
    return gpubench_dynamic_shared_memory;
}

}  // namespace gpubench

#include "gpubench/target/cuda_threads.cuh"
#include "gpubench/target/cuda_memory.cuh"
#include "gpubench/target/cuda_atomics.cuh"
#include "gpubench/target/cuda_numbers.cuh"
#include "gpubench/target/cuda_pipeline.cuh"
