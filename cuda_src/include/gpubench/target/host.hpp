// The platform on the host simulator, compiled by g++ or clang++. What each name promises stands in platform.cuh.
// A name that can go wrong takes the place of its call as a last, defaulted argument, for the message.
#pragma once

#include <math.h>
#include <string.h>
#include <time.h>

#include "gpubench/target/host/runtime.hpp"

// For functions of the platform that read the simulator's own memory, which a checked kernel may not.
#define GPUBENCH_HOST_OWN __attribute__((no_sanitize("thread"))) inline

#define GPUBENCH_KERNEL
#define GPUBENCH_LAUNCH_BOUNDS(...)
#define GPUBENCH_DEVICE inline
// A static variable of a lambda gives every declaration, and every instance of a template, an address of its own.
#define GPUBENCH_SHARED(T, name, count)                                                              \
    auto& name = *static_cast<T(*)[count]>(::gpubench::host::shared_array(                           \
        [] { static char key; return static_cast<const void*>(&key); }(), sizeof(T) * (count), alignof(T), \
        ::gpubench::host::Where{__FILE__, __LINE__}))
#define GPUBENCH_DYNAMIC_SHARED(T, name) T* const name = reinterpret_cast<T*>(::gpubench::dynamic_shared())
#define GPUBENCH_LAYOUT(T, size, last, offset) \
    static_assert(sizeof(T) == (size) && __builtin_offsetof(T, last) == (offset), "the host's Struct says so")
#define GPUBENCH_UNROLL
#define GPUBENCH_NO_UNROLL

#include "gpubench/core.cuh"
#include "gpubench/bits16.cuh"

namespace gpubench {

// As on a GPU of compute capability 9.0, without that architecture's instructions.
constexpr int architecture = 900;

GPUBENCH_HOST_OWN char* dynamic_shared() { return host::current->dynamic_shared; }
GPUBENCH_HOST_OWN int thread_index_x() { return static_cast<int>(host::current->thread_index.x); }
GPUBENCH_HOST_OWN int thread_index_y() { return static_cast<int>(host::current->thread_index.y); }
GPUBENCH_HOST_OWN int thread_index_z() { return static_cast<int>(host::current->thread_index.z); }
GPUBENCH_HOST_OWN int block_index_x() { return static_cast<int>(host::current->block_index.x); }
GPUBENCH_HOST_OWN int block_index_y() { return static_cast<int>(host::current->block_index.y); }
GPUBENCH_HOST_OWN int block_index_z() { return static_cast<int>(host::current->block_index.z); }
GPUBENCH_HOST_OWN int block_size_x() { return static_cast<int>(host::current->block_size.x); }
GPUBENCH_HOST_OWN int block_size_y() { return static_cast<int>(host::current->block_size.y); }
GPUBENCH_HOST_OWN int block_size_z() { return static_cast<int>(host::current->block_size.z); }
GPUBENCH_HOST_OWN int grid_size_x() { return static_cast<int>(host::current->grid_size.x); }
GPUBENCH_HOST_OWN int grid_size_y() { return static_cast<int>(host::current->grid_size.y); }
GPUBENCH_HOST_OWN int grid_size_z() { return static_cast<int>(host::current->grid_size.z); }
GPUBENCH_HOST_OWN uint32 grid_number() { return host::current->launch_number; }
GPUBENCH_HOST_OWN int lane_index() { return static_cast<int>(host::current->rank % warp_size); }

inline void block_barrier(host::Where where = host::Where::here()) { host::barrier(0, where); }
inline int block_barrier_count(bool predicate, host::Where where = host::Where::here()) {
    return host::barrier(predicate, where);
}
inline bool block_barrier_or(bool predicate, host::Where where = host::Where::here()) {
    return host::barrier(predicate, where) != 0;
}
inline bool block_barrier_and(bool predicate, host::Where where = host::Where::here()) {
    return host::barrier(!predicate, where) == 0;
}

}  // namespace gpubench

#include "gpubench/target/host/warp.hpp"
#include "gpubench/target/host/memory.hpp"
#include "gpubench/target/host/pipeline.hpp"

namespace gpubench {

inline int count_leading_zeros(uint32 value) { return value == 0 ? 32 : __builtin_clz(value); }
inline int count_leading_zeros(uint64 value) { return value == 0 ? 64 : __builtin_clzll(value); }
inline int count_trailing_zeros(uint32 value) { return value == 0 ? 32 : __builtin_ctz(value); }
inline int count_trailing_zeros(uint64 value) { return value == 0 ? 64 : __builtin_ctzll(value); }
inline int population_count(uint32 value) { return __builtin_popcount(value); }
inline int population_count(uint64 value) { return __builtin_popcountll(value); }
inline uint32 select_bytes(uint32 low, uint32 high, uint32 selector) {
    const uint64 bytes = uint64{high} << 32 | low;
    uint32 result = 0;
    for (int i = 0; i < 4; ++i) result |= static_cast<uint32>(bytes >> (selector >> (4 * i) & 7) * 8 & 0xff) << (8 * i);
    return result;
}
inline uint32 multiply_high(uint32 a, uint32 b) { return static_cast<uint32>(uint64{a} * b >> 32); }
inline uint64 multiply_high(uint64 a, uint64 b) {
    return static_cast<uint64>(static_cast<unsigned __int128>(a) * b >> 64);
}

template <class T>
int32 dot_items(uint32 items, uint32 weights, int32 sum) {
    static_assert(sizeof(T) <= 2, "items of 8 or 16 bits");
    uint32 result = static_cast<uint32>(sum);
    for (unsigned i = 0; i < 4 / sizeof(T); ++i) {
        const int32 item = static_cast<T>(items >> (8 * sizeof(T) * i));
        result += static_cast<uint32>(item) * (weights >> (8 * i) & 0xffu);
    }
    return static_cast<int32>(result);
}

inline float rounded_product(float a, float b) { return a * b; }

inline float reciprocal_sqrt(float value) { return 1.0f / ::sqrtf(value); }
inline double reciprocal_sqrt(double value) { return 1.0 / ::sqrt(value); }

inline float approximate_exp2(float value) { return ::exp2f(value); }
inline float approximate_large_exp2(float value) { return ::exp2f(value); }
inline float approximate_log2(float value) { return ::log2f(value); }
inline float approximate_sqrt(float value) { return ::sqrtf(value); }
inline float approximate_quotient(float value, float divisor) { return value / divisor; }
inline float approximate_reciprocal(float value) { return 1.0f / value; }
inline double approximate_reciprocal(double value) { return 1.0 / value; }

inline float half_to_float(uint16 bits) { return bits16::half_to_float(bits); }
inline uint16 float_to_half(float value) { return bits16::float_to_half(value); }
inline uint16 double_to_half(double value) { return bits16::float_to_half(bits16::double_to_float_odd(value)); }
inline float bfloat16_to_float(uint16 bits) { return bits16::bfloat16_to_float(bits); }
inline uint16 float_to_bfloat16(float value) { return bits16::float_to_bfloat16(value); }
inline uint16 double_to_bfloat16(double value) { return bits16::float_to_bfloat16(bits16::double_to_float_odd(value)); }

inline FloatPair halves_to_floats(uint32 word) {
    return {half_to_float(static_cast<uint16>(word)), half_to_float(static_cast<uint16>(word >> 16))};
}
inline uint32 floats_to_halves(FloatPair pair) {
    return float_to_half(pair.low) | static_cast<uint32>(float_to_half(pair.high)) << 16;
}
inline FloatPair bfloat16s_to_floats(uint32 word) { return bits16::bfloat16s_to_floats(word); }
inline uint32 floats_to_bfloat16s(FloatPair pair) {
    return float_to_bfloat16(pair.low) | static_cast<uint32>(float_to_bfloat16(pair.high)) << 16;
}

inline void back_off(uint32, host::Where where = host::Where::here()) { host::yield(where); }
inline uint64 global_timer() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64>(now.tv_sec) * 1'000'000'000u + static_cast<uint64>(now.tv_nsec);
}
inline int64 sm_clock() { return static_cast<int64>(global_timer()); }
inline uint32 chance() { return 0; }
inline void trap(host::Where where = host::Where::here()) { host::fail(where, "the kernel called trap()"); }

}  // namespace gpubench
