// An inclusive scan of int32 in one pass: a block publishes its tile's sum, then looks back over the blocks before it
// (Merrill and Garland 2016). Shows that blocks which wait for each other make progress. For the tests only.
#include "gpubench/grid.cuh"
#include "gpubench/warp.cuh"

namespace gpubench::planted {

struct Add32 {
    GPUBENCH_DEVICE int operator()(int a, int b) const { return static_cast<int>(uint32(a) + uint32(b)); }
};

constexpr uint64 has_sum = uint64{1} << 32;
constexpr uint64 has_prefix = uint64{2} << 32;

// The sum of everything before this block's tile, by one warp. waits[0] counts looks that found nothing yet,
// waits[1] tiles of which only the sum was there.
GPUBENCH_DEVICE int look_back(const uint64* states, int tile, int* waits) {
    int before = 0;
    for (int last = tile - 1; last >= 0; last -= warp_size) {
        const int mine = last - lane_index();
        uint64 state = has_prefix;
        if (mine >= 0) state = load_acquire(states + mine);
        while (any(full_mask, state < has_sum)) {
            if (lane_index() == 0) waits[0] += 1;
            if (mine >= 0) state = load_acquire(states + mine);
        }
        const uint32 complete = ballot(full_mask, state >= has_prefix);
        const int first = complete == 0 ? warp_size : count_trailing_zeros(complete);
        if (lane_index() == 0 && first > 0) waits[1] += 1;
        const int part = lane_index() <= first && mine >= 0 ? static_cast<int>(static_cast<uint32>(state)) : 0;
        before += warp_reduce_all(part, Add32{});
        if (complete != 0) break;
    }
    return before;
}

// states: one zeroed word a block. `backwards` makes a block wait for the one after it, which must be reported.
template <bool backwards>
GPUBENCH_KERNEL void lookback(const int* x, int* y, uint64* states, int* waits, int n) {
    GPUBENCH_SHARED(int, warp_sums, 32);
    GPUBENCH_SHARED(int, prefix, 1);
    const int tile = block_index_x();
    const int thread = thread_index_x();
    const int i = tile * block_size_x() + thread;
    const int scanned = warp_inclusive_scan(i < n ? x[i] : 0, Add32{});
    if (lane_index() == warp_size - 1) warp_sums[thread / warp_size] = scanned;
    block_barrier();
    int before_warp = 0, total = 0;
    for (int warp = 0; warp < block_size_x() / warp_size; ++warp) {
        if (warp < thread / warp_size) before_warp += warp_sums[warp];
        total += warp_sums[warp];
    }
    if (thread < warp_size) {
        if (backwards && tile + 1 < grid_size_x()) {
            while (load_acquire(states + tile + 1) == 0) back_off(50);
        }
        if (thread == 0) store_release(states + tile, (tile == 0 ? has_prefix : has_sum) | uint64{static_cast<uint32>(total)});
        const int before = look_back(states, tile, waits);
        if (thread == 0) {
            store_release(states + tile, has_prefix | uint64{static_cast<uint32>(before + total)});
            prefix[0] = before;
        }
    }
    block_barrier();
    if (i < n) y[i] = prefix[0] + before_warp + scanned;
}

}  // namespace gpubench::planted
