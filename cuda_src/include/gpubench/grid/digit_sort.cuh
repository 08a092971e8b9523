// A pass of a radix sort by blocks that are resident together.
//
// Data: the blocks count the digits of their ranges, meet, turn the counts into places (few blocks each for itself; many a slice
// of the digits each, and meet again), and put their pairs there, tile by tile (block/digit_sort.cuh). Stable.
//
// Source: a least-significant-digit radix sort.
#pragma once

#include "gpubench/block/digit_sort.cuh"
#include "gpubench/grid/meeting.cuh"

namespace gpubench {

constexpr int few_blocks = 64;  // whose counts each block adds up for itself

// Where the blocks leave things for each other.
struct SortWorkspace {
    uint32* counts;    // [blocks][digits]
    uint32* before;    // the same: pairs of the digit in the blocks before
    uint32* totals;    // [digits]
};

// Count the digits of the range; the last tile stays in the registers. False where `load` saw that the list is not in order.
template <int Warps, class Load>
GPUBENCH_DEVICE bool count_digits(SortTile& tile, const SortTables<Warps>& tables, uint32 start, uint32 stop, Digit digit, int rounds,
                                  const Load& load) {
    for (int d = thread_index_x(); d < digits; d += tables.threads) tables.next[d] = 0;
    block_barrier();
    bool ordered = true;
    for (uint32 at = start; at < stop; at += tables.threads * rounds) {
        ordered = load(at, stop) && ordered;
        GPUBENCH_UNROLL
        for (int i = 0; i < lane_pairs; ++i) {
            if (tile.pairs[i] != no_pair) atomic_add(tables.next + digit.of(tile.pairs[i]), 1u);
        }
    }
    return block_barrier_and(ordered);
}

// Turn the counts of a digit into what comes before, by a warp; all are asked for at once.
GPUBENCH_DEVICE void scan_digit(const SortWorkspace& work, int d, int blocks) {
    constexpr int at_once = 5;  // 160 blocks
    uint32 sum = 0;
    for (int base = 0; base < blocks; base += at_once * warp_size) {
        uint32 counts[at_once];
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) {
            const int other = base + k * warp_size + lane_index();
            counts[k] = other < blocks ? work.counts[other * digits + d] : 0;
        }
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) {
            const int other = base + k * warp_size + lane_index();
            const uint32 through = warp_inclusive_scan(counts[k], Together{});
            if (other < blocks) work.before[other * digits + d] = sum + through - counts[k];
            sum += shuffle(full_mask, through, warp_size - 1);
        }
    }
    if (lane_index() == 0) work.totals[d] = sum;
}

// Turn all blocks' counts into what comes before, for a slice of the digits.
template <int Warps>
GPUBENCH_DEVICE void scan_slice(const SortWorkspace& work, int used) {
    const int blocks = grid_size_x(), each = (used + blocks - 1) / blocks;
    const int first = block_index_x() * each, last = first + each < used ? first + each : used;
    for (int d = first + thread_index_x() / warp_size; d < last; d += Warps) scan_digit(work, d, blocks);
}

// A digit's pairs in all blocks, and in those before this one, from few blocks' counts, by one thread.
GPUBENCH_DEVICE BlockPlace<uint32> sum_digit(const SortWorkspace& work, int d) {
    constexpr int at_once = 16;
    BlockPlace<uint32> found{0, 0};
    for (int base = 0; base < grid_size_x(); base += at_once) {
        uint32 counts[at_once];
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) counts[k] = base + k < grid_size_x() ? work.counts[(base + k) * digits + d] : 0;
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) {
            if (base + k < block_index_x()) found.before += counts[k];
            found.total += counts[k];
        }
    }
    return found;
}

// Where the block's pairs of each digit go; returns the pairs of all blocks.
template <int Warps>
GPUBENCH_DEVICE uint32 find_places(const SortTables<Warps>& tables, const SortWorkspace& work, int used) {
    constexpr int each = digits / SortTables<Warps>::threads;
    const int blocks = grid_size_x();
    uint32 sums[each], before[each], sum = 0;
    GPUBENCH_UNROLL
    for (int k = 0; k < each; ++k) {
        const int d = thread_index_x() * each + k;
        sums[k] = sum;
        BlockPlace<uint32> own{0, 0};
        if (d < used && blocks == 1) own.total = tables.next[d];
        else if (d < used && blocks <= few_blocks) own = sum_digit(work, d);
        else if (d < used) own = {work.before[block_index_x() * digits + d], work.totals[d]};
        if (d < used && blocks <= few_blocks && block_index_x() == 0) work.totals[d] = own.total;
        before[k] = own.before;
        sum += own.total;
    }
    const BlockPlace<uint32> place = block_scan<Warps>(sum, tables.exchange, 0u, Together{});
    GPUBENCH_UNROLL
    for (int k = 0; k < each; ++k) {
        const int d = thread_index_x() * each + k;
        if (d < used) tables.next[d] = place.before + sums[k] + before[k];
    }
    block_barrier();
    return place.total;
}

// One pass over the block's range of `count`, whose pairs `load` brings, to `target`; `count` becomes the pairs there are. False
// where every block found its part in order and `skip_ordered`: then nothing was moved. meetings: two of the launch's.
template <int Warps, class Load>
GPUBENCH_DEVICE bool sort_pass(SortTile& tile, const SortTables<Warps>& tables, const SortWorkspace& work, uint64* meetings, uint32 launch,
                               uint32 range, uint32& count, Pair* target, Digit digit, int rounds, bool skip_ordered, const Load& load) {
    const int used = 1 << digit.bits, blocks = grid_size_x();
    const uint32 start = block_index_x() * range < count ? block_index_x() * range : count;
    const uint32 stop = count - start < range ? count : start + range;
    const bool ordered = count_digits(tile, tables, start, stop, digit, rounds, load);
    if (blocks == 1) {
        if (ordered && skip_ordered) return false;
    } else {
        for (int d = thread_index_x(); d < used; d += tables.threads) work.counts[block_index_x() * digits + d] = tables.next[d];
        if (meet(meetings, launch, ordered) && skip_ordered) return false;
        if (blocks > few_blocks) {
            scan_slice<Warps>(work, used);
            meet(meetings + blocks, launch);
        }
    }
    count = find_places(tables, work, used);
    const uint32 step = tables.threads * rounds;
    for (uint32 at = start; at < stop; at += step) {
        if (stop - start > step) load(at, stop);
        place_tile(tile, tables, target, digit, rounds);
    }
    return true;
}

}  // namespace gpubench
