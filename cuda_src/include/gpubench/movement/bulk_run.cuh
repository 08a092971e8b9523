// A run of elements side by side, at any alignment, by one bulk copy into shared memory, and back by whole vectors.
#pragma once

#include "gpubench/movement/span.cuh"
#include "gpubench/movement/stages.cuh"

namespace gpubench {

// Rows side by side, at any alignment: whole 16 bytes by one copy; the last few elements of x, which none holds, one by one.
// `streaming`: the L2 cache gives them up first.
template <class T>
GPUBENCH_DEVICE void copy_run(char* stage, const T* start, const T* stop, const T* end_of_x, PhaseBarrier* full, bool streaming) {
    const uint64 low = reinterpret_cast<uint64>(start) & ~uint64{15};
    const uint64 limit = reinterpret_cast<uint64>(end_of_x) & ~uint64{15};
    uint64 high = (reinterpret_cast<uint64>(stop) + 15) & ~uint64{15};
    if (high > limit) high = limit;
    if (high < low) high = low;
    const T* rest = reinterpret_cast<const T*>(high);
    if (rest < start) rest = start;
    rest += lane_index();
    if (rest < stop) *reinterpret_cast<T*>(stage + (reinterpret_cast<uint64>(rest) - low)) = *rest;
    warp_copy(stage, reinterpret_cast<const void*>(low), static_cast<uint32>(high - low), full, streaming);
}

// `count` elements side by side, which the warp has written to shared memory, leave for y as one run: whole vectors wherever
// it begins.
template <int AtOnce, class T, class Out>
GPUBENCH_DEVICE void store_run(const T* source, Out* target, int count) {
    constexpr int V = vector_items<T, Out>;
    const int begin = empty_slots<V>(target, 0);
    const int end = begin + count;
    target -= begin;
    source -= begin;
    const bool whole = is_aligned(source, V * static_cast<int>(sizeof(T)));
    for (int base = lane_index() * V; base - lane_index() * V < end; base += AtOnce * warp_size * V) {
        const Span span{base, warp_size * V, begin - base, end - base};
        Packed<T, V> raw[AtOnce];
        load_span<V, AtOnce>(raw, source, span, whole);
        GPUBENCH_UNROLL
        for (int k = 0; k < AtOnce; ++k) store_packed_items<V>(target, span, k, raw[k]);
    }
}

}  // namespace gpubench
