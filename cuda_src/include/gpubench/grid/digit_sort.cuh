// A pass of a radix sort by blocks that are resident together.
//
// Data: each block ranks its pairs (block/digit_sort.cuh) and leaves its counts of the digits. When all have, warps turn the counts of
// a few digits each into what the blocks before have of them, while the others put the block's pairs in order in shared memory (large
// tiles sooner: SortCut). A range of several tiles is counted from the last one on, so that the first is still at hand. Then
// each block knows where its pairs of each digit belong, and writes them there. Stable.
//
// Source: a least-significant-digit radix sort.
#pragma once

#include "gpubench/block/digit_sort.cuh"
#include "gpubench/grid/meeting.cuh"

namespace gpubench {

constexpr int slice_words = 2;  // of two digits: of a warp
constexpr int slice_rows = 10;  // that a lane asks for at once: with 16 lanes a word, 160 blocks

// Where the blocks leave things for each other: counts, two digits a word, of which `slice_words` neighbours are one warp's.
struct SortWorkspace {
    uint64* counts;  // [blocks][words]
    uint64* before;  // the same: of all blocks before
    uint64* totals;  // [words]
};

// How the blocks of a launch tell each other their counts of a digit: all leave them, warps turn slices of them into what comes before.
template <class C>
struct DigitExchange {
    const SortTables<C>& tables;
    const SortWorkspace& work;
    uint64* meetings;  // one a block, then one a slice
    uint32 launch;
    Digit digit;

    // Before a barrier and `arrive`.
    GPUBENCH_DEVICE void leave(const OwnDigits<C>& own) const {
        GPUBENCH_UNROLL
        for (int k = 0; k < own.owned; ++k) {
            if (own.word(k) < digit.words()) work.counts[block_index_x() * digit.words() + own.word(k)] = own.counts[k];
        }
    }

    // By a warp: of a slice of the words. 16 lanes a word, each with neighbouring blocks.
    GPUBENCH_DEVICE void scan_slice(int slice) const {
        const int word = slice * slice_words + lane_index() % slice_words;
        uint64 carry = 0;
        for (int base = 0; base < grid_size_x(); base += warp_size / slice_words * slice_rows) {
            const int first = base + lane_index() / slice_words * slice_rows;
            uint64 counts[slice_rows], sum = 0;
            GPUBENCH_UNROLL
            for (int i = 0; i < slice_rows; ++i) {
                counts[i] = first + i < grid_size_x() ? work.counts[(first + i) * digit.words() + word] : 0;
            }
            GPUBENCH_UNROLL
            for (int i = 0; i < slice_rows; ++i) sum += counts[i];
            uint64 through = sum;
            GPUBENCH_UNROLL
            for (int delta = slice_words; delta < warp_size; delta *= 2) {
                const uint64 left = shuffle_up(full_mask, through, delta);
                if (lane_index() >= delta) through += left;
            }
            uint64 before = carry + through - sum;
            GPUBENCH_UNROLL
            for (int i = 0; i < slice_rows; ++i) {
                if (first + i < grid_size_x()) work.before[(first + i) * digit.words() + word] = before;
                before += counts[i];
            }
            carry += shuffle(full_mask, through, warp_size - slice_words + lane_index() % slice_words);
        }
        if (lane_index() < slice_words) work.totals[word] = carry;
        warp_barrier();
        if (lane_index() == 0) publish(meetings + grid_size_x() + slice, launch);
    }

    // By all warps of all blocks, when all blocks have left their counts.
    GPUBENCH_DEVICE void scan_slices() const {
        const int warp = thread_index_x() / warp_size, slices = digit.words() / slice_words;
        for (int slice = block_index_x() + warp * grid_size_x(); slice < slices; slice += grid_size_x() * C::warps) scan_slice(slice);
    }

    // Where the block's pairs of the thread's digits go; `count` becomes the number of all pairs.
    GPUBENCH_DEVICE void find_places(const OwnDigits<C>& own, OwnDigits<C>& places, uint32& count) const {
        uint64 totals[OwnDigits<C>::owned];
        uint32 sum = 0;
        GPUBENCH_UNROLL
        for (int k = 0; k < own.owned; ++k) {
            const int word = own.word(k);
            totals[k] = places.counts[k] = 0;
            if (word >= digit.words()) continue;
            if (grid_size_x() == 1) {
                totals[k] = work.totals[word] = own.counts[k];
            } else {
                await(meetings + grid_size_x() + word / slice_words, launch);
                places.counts[k] = work.before[block_index_x() * digit.words() + word];
                totals[k] = work.totals[word];
            }
            sum += both(totals[k]);
        }
        const BlockPlace<uint32> place = block_scan<C::warps>(sum, tables.exchange, 0u, Together{});
        uint32 start = place.before;
        GPUBENCH_UNROLL
        for (int k = 0; k < own.owned; ++k) {
            places.counts[k] += start | uint64{start + static_cast<uint32>(totals[k])} << 32;
            start += both(totals[k]);
        }
        count = place.total;
    }
};

// One pass over the block's range of `count`, whose pairs `load` brings, to `target`; `count` becomes the pairs there are. False where
// every block found its part in order: then all stand at `in_order`, as they came. nullptr: they are sorted in any case.
template <class C, class Load>
GPUBENCH_DEVICE bool sort_pass(SortTile<C>& tile, const SortTables<C>& tables, const SortWorkspace& work, uint64* meetings, uint32 launch,
                               uint32 range, uint32& count, Pair* target, Pair* in_order, Digit digit, int rounds, const Load& load) {
    const DigitExchange<C> exchange{tables, work, meetings, launch, digit};
    const uint32 start = block_index_x() * range < count ? block_index_x() * range : count;
    const uint32 stop = count - start < range ? count : start + range, step = C::threads * rounds;
    const bool several = stop - start > step, alone = grid_size_x() == 1;
    OwnDigits<C> all{}, own{}, begins{}, places{};
    bool ordered = in_order != nullptr;
    const auto keep = [&](bool again) {
        for (uint32 at = start; at < stop; at += step) {
            if (again) load(at, stop);
            store_tile(tile, in_order);
        }
        return false;
    };
    // From the last tile to the first, which stays in registers.
    for (uint32 at = start + (stop > start ? (stop - start - 1) / step * step : 0);; at -= step) {
        ordered = load(at, stop) && ordered;
        own = rank_tile(tile, tables, digit, rounds, ordered);
        for (int k = 0; k < own.owned; ++k) all.counts[k] += own.counts[k];
        if (at == start) break;
        block_barrier();
    }
    if (!alone) exchange.leave(all);
    for (uint32 at = start;;) {
        const uint32 total = begin_digits(tables, own, begins);
        if (at == start && !alone) arrive(meetings, launch, ordered);
        if (alone && ordered) return keep(several);
        begin_warps(tables, begins, digit);
        if (C::large || at > start || alone) {
            block_barrier();
            stage_tile(tile, tables, digit, rounds);
        }
        if (at == start && !alone) {
            if (await_all(meetings, launch)) return keep(C::large || several);
            exchange.scan_slices();
            if (!C::large) stage_tile(tile, tables, digit, rounds);
        }
        block_barrier();
        if (at == start) exchange.find_places(all, places, count);
        if (write_tile(tables, begins, places, total, target, digit)) {
            settle_tile(tables, total, digit);
            write_tile(tables, begins, places, total, target, digit);
        }
        for (int k = 0; k < own.owned; ++k) places.counts[k] += own.counts[k];
        at += step;
        if (at >= stop) return true;
        bool ignored = true;
        load(at, stop);
        own = rank_tile(tile, tables, digit, rounds, ignored);
    }
}

}  // namespace gpubench
