// Place, barriers, warp collectives and time on a GPU. Part of target/cuda.cuh.
#pragma once

namespace gpubench {

GPUBENCH_DEVICE int thread_index_x() { return static_cast<int>(threadIdx.x); }
GPUBENCH_DEVICE int thread_index_y() { return static_cast<int>(threadIdx.y); }
GPUBENCH_DEVICE int thread_index_z() { return static_cast<int>(threadIdx.z); }
GPUBENCH_DEVICE int block_index_x() { return static_cast<int>(blockIdx.x); }
GPUBENCH_DEVICE int block_index_y() { return static_cast<int>(blockIdx.y); }
GPUBENCH_DEVICE int block_index_z() { return static_cast<int>(blockIdx.z); }
GPUBENCH_DEVICE int block_size_x() { return static_cast<int>(blockDim.x); }
GPUBENCH_DEVICE int block_size_y() { return static_cast<int>(blockDim.y); }
GPUBENCH_DEVICE int block_size_z() { return static_cast<int>(blockDim.z); }
GPUBENCH_DEVICE int grid_size_x() { return static_cast<int>(gridDim.x); }
GPUBENCH_DEVICE int grid_size_y() { return static_cast<int>(gridDim.y); }
GPUBENCH_DEVICE int grid_size_z() { return static_cast<int>(gridDim.z); }

// Counted by the driver from 1 on, in one number for the launches of all streams (seen on an H200; replays of a graph keep theirs).
GPUBENCH_DEVICE uint32 grid_number() {
    uint64 number;
    asm("mov.u64 %0, %%gridid;" : "=l"(number));
    return static_cast<uint32>(number) | 0x80000000u;
}

GPUBENCH_DEVICE int lane_index() {
    int lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}

GPUBENCH_DEVICE void block_barrier() { __syncthreads(); }
GPUBENCH_DEVICE int block_barrier_count(bool predicate) { return __syncthreads_count(predicate); }
GPUBENCH_DEVICE bool block_barrier_or(bool predicate) { return __syncthreads_or(predicate) != 0; }
GPUBENCH_DEVICE bool block_barrier_and(bool predicate) { return __syncthreads_and(predicate) != 0; }
GPUBENCH_DEVICE void warp_barrier(uint32 mask = full_mask) { __syncwarp(mask); }

namespace detail {

// A value cut into 32-bit words, the last one padded with zeros: what the shuffle instruction moves.
template <int Size>
struct ShuffleWords {
    uint32 words[(Size + 3) / 4];
};

// Apply `move` (uint32 -> uint32) to each word of a value.
template <class T, class Move>
GPUBENCH_DEVICE T shuffle_words(const T& value, const Move& move) {
    static_assert(sizeof(T) <= 16, "a shuffle moves at most 16 bytes");
    ShuffleWords<sizeof(T)> words{};
    memcpy(words.words, &value, sizeof(T));
    GPUBENCH_UNROLL
    for (uint32& word : words.words) word = move(word);
    T result;
    memcpy(&result, words.words, sizeof(T));
    return result;
}

}  // namespace detail

template <class T>
GPUBENCH_DEVICE T shuffle(uint32 mask, T value, int lane, int width = warp_size) {
    return detail::shuffle_words(value, [=](uint32 word) { return __shfl_sync(mask, word, lane, width); });
}
template <class T>
GPUBENCH_DEVICE T shuffle_up(uint32 mask, T value, int delta, int width = warp_size) {
    return detail::shuffle_words(value, [=](uint32 word) { return __shfl_up_sync(mask, word, delta, width); });
}
template <class T>
GPUBENCH_DEVICE T shuffle_down(uint32 mask, T value, int delta, int width = warp_size) {
    return detail::shuffle_words(value, [=](uint32 word) { return __shfl_down_sync(mask, word, delta, width); });
}
template <class T>
GPUBENCH_DEVICE T shuffle_xor(uint32 mask, T value, int bits, int width = warp_size) {
    return detail::shuffle_words(value, [=](uint32 word) { return __shfl_xor_sync(mask, word, bits, width); });
}

GPUBENCH_DEVICE uint32 ballot(uint32 mask, bool predicate) { return __ballot_sync(mask, predicate); }
GPUBENCH_DEVICE bool any(uint32 mask, bool predicate) { return __any_sync(mask, predicate) != 0; }
GPUBENCH_DEVICE bool all(uint32 mask, bool predicate) { return __all_sync(mask, predicate) != 0; }
GPUBENCH_DEVICE uint32 match_any(uint32 mask, uint32 value) { return __match_any_sync(mask, value); }
GPUBENCH_DEVICE uint32 match_any(uint32 mask, uint64 value) { return __match_any_sync(mask, value); }

GPUBENCH_DEVICE void back_off(uint32 nanoseconds) { __nanosleep(nanoseconds); }
GPUBENCH_DEVICE uint64 global_timer() {
    uint64 time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time)::"memory");
    return time;
}
GPUBENCH_DEVICE int64 sm_clock() { return clock64(); }
GPUBENCH_DEVICE uint32 chance() { return static_cast<uint32>(clock()); }
GPUBENCH_DEVICE void trap() { __trap(); }

}  // namespace gpubench
