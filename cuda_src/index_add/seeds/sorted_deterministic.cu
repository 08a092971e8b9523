// index_add, variant `sorted_deterministic`: sort the indices, then one warp adds up each run of equal ones. No atomics
// touch the destination and every order is fixed, so the same inputs give the same bits each time.
//
// Data: `sort_keys` writes (index, position) pairs. A least-significant-digit radix sort, stable, 8 bits a pass: each block
// owns a fixed range of the pairs; `sort_count` counts its digits, `sort_scan` (one block) turns all counts, digit after
// digit and block after block, into places, `sort_scatter` moves the pairs there in their order. `sorted_add` gives every
// pair a warp: those that do not start a run leave; the others add the run's source elements in the accumulator, lanes on
// neighbouring elements of the slice (4 each), and add the total to the destination once. Where a slice has fewer than 32
// elements, groups of lanes share the run and combine by shuffles.
//
// Source: PyTorch's deterministic index_add (aten/src/ATen/native/cuda/Indexing.cu: stable sort, a warp for a run of equal
// indices); there CUB sorts (Merrill and Grimshaw, "High Performance and Scalable Radix Sorting", 2011). Written anew.
// Known weak spots, kept: a long run is the work of one warp; a warp is started for every index, most of which only look;
// sorting costs 3 launches for each 8 bits of the indexed dim's size. An index outside the dim is left out.
#include "gpubench/arithmetic.cuh"
#include "gpubench/grid.cuh"
#include "gpubench/strided.cuh"
#include "gpubench/vector.cuh"
#include "gpubench/warp.cuh"

namespace gpubench::index_add {

constexpr int digits = 256;         // 8 bits a pass
constexpr int sort_threads = 256;   // one a digit, where digits are counted or placed
constexpr int sort_warps = sort_threads / warp_size;
constexpr int scan_threads = 1024;
constexpr int add_elements = 4;     // of a slice, in the hands of a lane

// An index outside the dim becomes `size`, behind all others.
template <class Index>
GPUBENCH_KERNEL void sort_keys(const Index* index, uint32* keys, uint32* positions, long long count, long long size) {
    for (int64 i = grid_thread(); i < count; i += grid_threads()) {
        const int64 row = static_cast<int64>(index[i]);
        keys[i] = static_cast<uint32>(row < 0 || row >= size ? size : row);
        positions[i] = static_cast<uint32>(i);
    }
}

GPUBENCH_DEVICE int digit_of(uint32 key, int shift) { return static_cast<int>(key >> shift) & (digits - 1); }

// counts[digit * blocks + block]: how many pairs of a block's range have the digit.
template <int Threads = sort_threads>
GPUBENCH_KERNEL void sort_count(const uint32* keys, uint32* counts, long long count, long long range, int shift) {
    GPUBENCH_SHARED(uint32, seen, digits);
    const int tid = thread_index_x();
    seen[tid] = 0;
    block_barrier();
    const int64 first = range * block_index_x();
    const int64 last = first + range < count ? first + range : count;
    for (int64 i = first + tid; i < last; i += Threads) atomic_add(&seen[digit_of(keys[i], shift)], 1u);
    block_barrier();
    counts[int64{tid} * grid_size_x() + block_index_x()] = seen[tid];
}

// Replace `total` counts (a multiple of 4) by the sums of those before them. One block.
template <int Threads = scan_threads>
GPUBENCH_KERNEL void sort_scan(uint32* counts, long long total) {
    GPUBENCH_SHARED(uint32, of_warp, Threads / warp_size);
    const int tid = thread_index_x();
    const int warp = tid / warp_size;
    uint32 carry = 0;
    for (int64 base = 0; base < total; base += Threads * 4) {
        const int64 place = base + tid * 4;
        Vector<uint32, 4> values{};
        if (place < total) values = load_vector<4>(counts + place);
        const uint32 own = values[0] + values[1] + values[2] + values[3];
        const uint32 through = warp_inclusive_scan(own, Add{});
        if (lane_index() == warp_size - 1) of_warp[warp] = through;
        block_barrier();
        if (warp == 0) of_warp[tid] = warp_inclusive_scan(of_warp[tid], Add{});
        block_barrier();
        uint32 before = carry + through - own + (warp > 0 ? of_warp[warp - 1] : 0u);
        carry += of_warp[Threads / warp_size - 1];
        GPUBENCH_UNROLL
        for (int k = 0; k < 4; ++k) {
            const uint32 value = values[k];
            values[k] = before;
            before += value;
        }
        if (place < total) store_vector(counts + place, values);
        block_barrier();
    }
}

// Move the pairs of a block's range to the places of their digits, 256 at a time, in their order: a pair comes after
// those of its digit in earlier turns, in earlier warps and in earlier lanes.
template <int Threads = sort_threads>
GPUBENCH_KERNEL void sort_scatter(const uint32* keys, const uint32* positions, uint32* to_keys, uint32* to_positions,
                                  const uint32* counts, long long count, long long range, int shift) {
    GPUBENCH_SHARED(uint32, of_warp, sort_warps * digits);
    const int tid = thread_index_x();
    uint32* const mine = &of_warp[tid / warp_size * digits];
    const int64 first = range * block_index_x();
    const int64 last = first + range < count ? first + range : count;
    uint32 next = counts[int64{tid} * grid_size_x() + block_index_x()];  // of digit `tid`
    for (int64 base = first; base < last; base += Threads) {
        GPUBENCH_UNROLL
        for (int warp = 0; warp < sort_warps; ++warp) of_warp[warp * digits + tid] = 0;
        const int64 i = base + tid;
        const bool valid = i < last;
        const uint32 key = valid ? keys[i] : 0u;
        const int digit = digit_of(key, shift);
        const uint32 peers = match_any(full_mask, valid ? static_cast<uint32>(digit) : 0xffffffffu);
        const uint32 rank = static_cast<uint32>(population_count(peers & lanes_before()));
        block_barrier();
        if (valid && rank == 0) mine[digit] = static_cast<uint32>(population_count(peers));
        block_barrier();
        GPUBENCH_UNROLL
        for (int warp = 0; warp < sort_warps; ++warp) {
            const uint32 found = of_warp[warp * digits + tid];
            of_warp[warp * digits + tid] = next;
            next += found;
        }
        block_barrier();
        if (valid) {
            const uint32 place = mine[digit] + rank;
            to_keys[place] = key;
            to_positions[place] = positions[i];
        }
        block_barrier();
    }
}

template <class T>
GPUBENCH_DEVICE accumulator_t<T> product(T value, double alpha) {
    if constexpr (is_complex<T>) {
        const real_t<T> scale = static_cast<real_t<T>>(alpha);
        return T{value.real * scale, value.imag * scale};
    } else {
        return multiply(convert<accumulator_t<T>>(value), convert<accumulator_t<T>>(alpha));
    }
}

// width: a power of two, the lanes that hold different elements; warps x 32 threads a block, slices along grid y.
template <class T>
GPUBENCH_KERNEL void sorted_add(T* destination, const T* source, const uint32* keys, const uint32* positions,
                                Strided slice_destination, Strided slice_source, long long count, long long slice,
                                long long destination_step, long long source_step, long long size, double alpha,
                                int width) {
    using A = accumulator_t<T>;
    const int64 first = int64{block_index_x()} * block_size_y() + thread_index_y();
    if (first >= count) return;
    const uint32 key = keys[first];
    if (key >= size || (first > 0 && keys[first - 1] == key)) return;
    const int share = lane_index() / width;
    const int shares = warp_size / width;
    const int64 chunk = int64{width} * add_elements;
    for (int64 start = block_index_y() * chunk; start < slice; start += grid_size_y() * chunk) {
        const int64 element = start + lane_index() % width;
        int64 from[add_elements];
        GPUBENCH_UNROLL
        for (int k = 0; k < add_elements; ++k) from[k] = slice_source.offset(element + k * width);
        A totals[add_elements] = {};
        for (int64 i = first + share; i < count && keys[i] == key; i += shares) {
            const T* const values = source + positions[i] * source_step;
            GPUBENCH_UNROLL
            for (int k = 0; k < add_elements; ++k) {
                if (element + k * width < slice) totals[k] = add(totals[k], product(values[from[k]], alpha));
            }
        }
        GPUBENCH_UNROLL
        for (int k = 0; k < add_elements; ++k) {
            for (int bits = width; bits < warp_size; bits *= 2) {
                totals[k] = add(totals[k], shuffle_xor(full_mask, totals[k], bits));
            }
            if (share != 0 || element + k * width >= slice) continue;
            T* const place = destination + key * destination_step + slice_destination.offset(element + k * width);
            *place = convert<T>(add(convert<A>(*place), totals[k]));
        }
    }
}

}  // namespace gpubench::index_add
