// Every name of the platform that the simulator gives a meaning to, used once. For the tests of the host device only.
#include "gpubench/atomics.cuh"
#include "gpubench/grid.cuh"
#include "gpubench/vector.cuh"

namespace gpubench::planted {

// x: one value a thread of one block; out: rows of one value a thread.
template <class T>
GPUBENCH_KERNEL void collectives(const T* x, T* values, uint32* words) {
    const int thread = thread_rank(), threads = block_threads();
    const T mine = x[thread];
    values[0 * threads + thread] = shuffle(full_mask, mine, 5);
    values[1 * threads + thread] = shuffle(full_mask, mine, lane_index() + 3, 8);
    values[2 * threads + thread] = shuffle_up(full_mask, mine, 3, 16);
    values[3 * threads + thread] = shuffle_down(full_mask, mine, 5);
    values[4 * threads + thread] = shuffle_xor(full_mask, mine, 9);
    const bool odd = (thread * 7 % 5) % 2 == 1;
    words[0 * threads + thread] = ballot(full_mask, odd);
    words[1 * threads + thread] = any(full_mask, thread == 40) ? 1u : 0u;
    words[2 * threads + thread] = all(full_mask, thread < 32) ? 1u : 0u;
    words[3 * threads + thread] = match_any(full_mask, static_cast<uint32>(thread % 3));
    words[4 * threads + thread] = static_cast<uint32>(block_barrier_count(odd));
    words[5 * threads + thread] = block_barrier_or(thread == 63) ? 1u : 0u;
    words[6 * threads + thread] = block_barrier_and(thread != 63) ? 1u : 0u;
    if (lane_index() < 16) words[7 * threads + thread] = ballot(0x0000ffffu, odd);
    else words[7 * threads + thread] = ballot(0xffff0000u, odd);
}

// Every element of x is added to sums[i % places]; many threads meet at each place.
template <class T>
GPUBENCH_KERNEL void add_up(const T* x, T* sums, int n, int places) {
    for (long long i = grid_thread(); i < n; i += grid_threads()) atomic_add(sums + i % places, x[i]);
}

// results: the largest, the smallest, a count by fetch_add, one by compare-and-swap.
GPUBENCH_KERNEL void updates(const uint32* x, uint32* results, int n) {
    for (long long i = grid_thread(); i < n; i += grid_threads()) {
        atomic_max(results + 0, x[i]);
        atomic_min(results + 1, x[i]);
        fetch_add(results + 2, 1u);
        uint32 seen = load_relaxed(results + 3);
        for (uint32 wanted = seen + 1; (wanted = compare_exchange(results + 3, seen, seen + 1)) != seen;) seen = wanted;
    }
}

// Dynamic and static shared memory side by side, with vector access: reverses each block's part of x.
GPUBENCH_KERNEL void reverse(const float* x, float* y) {
    GPUBENCH_DYNAMIC_SHARED(float, values);
    GPUBENCH_SHARED(int, place, 1);
    const int thread = thread_index_x(), threads = block_size_x();
    if (thread == 0) place[0] = block_index_x() * threads * 4;
    store_vector(values + 4 * thread, load_vector<4>(x + (block_index_x() * threads + thread) * 4));
    block_barrier();
    for (int i = 0; i < 4; ++i) y[place[0] + i * threads + thread] = values[threads * 4 - 1 - (i * threads + thread)];
}

// 16-bit conversions, as the kernels make them.
GPUBENCH_KERNEL void widen(const uint16* bits, float* as_half, float* as_bfloat16, int n) {
    for (long long i = grid_thread(); i < n; i += grid_threads()) {
        as_half[i] = half_to_float(bits[i]);
        as_bfloat16[i] = bfloat16_to_float(bits[i]);
    }
}
template <class T>
GPUBENCH_KERNEL void narrow(const T* x, uint16* as_half, uint16* as_bfloat16, int n) {
    for (long long i = grid_thread(); i < n; i += grid_threads()) {
        as_half[i] = convert<half>(x[i]).bits;
        as_bfloat16[i] = convert<bfloat16>(x[i]).bits;
    }
}

// results: a + b, a - b, a * b, a / b, one row each.
template <class T>
GPUBENCH_KERNEL void arithmetic(const T* a, const T* b, T* results, int n) {
    for (long long i = grid_thread(); i < n; i += grid_threads()) {
        results[i] = a[i] + b[i];
        results[n + i] = a[i] - b[i];
        results[2ll * n + i] = a[i] * b[i];
        results[3ll * n + i] = a[i] / b[i];
    }
}

}  // namespace gpubench::planted
