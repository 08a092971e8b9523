// Sorting pairs by digits of their row, by blocks that are resident together: what sort_indices.cu and partitioned.cu share.
//
// A pass: the blocks count the digits of their ranges, meet, turn the counts into places, a slice of the digits each, meet again,
// and put their pairs there, tile by tile: ranked, in order in shared memory, then written side by side. A warp ranks 32 pairs at
// once: each lane sets its bit in the word of its digit, of which every warp has a table of its own. Stable.
//
// Source: a least-significant-digit radix sort; ranking by a word a digit as in "Onesweep" (Adinets and Merrill, 2022).
#pragma once

#include "gpubench/arithmetic.cuh"
#include "gpubench/block/scan.cuh"
#include "gpubench/grid.cuh"
#include "gpubench/grid/meeting.cuh"
#include "index_add/pairs.cuh"

namespace gpubench::index_add {

constexpr int digits = 1024;
constexpr int few_blocks = 8;
constexpr int lane_pairs = 9;  // H200, 132 SMs: 1.2 M indices stay in registers

// Where the blocks leave things for each other.
struct SortWorkspace {
    uint32* counts;    // [blocks][digits]
    uint32* before;    // the same: pairs of the digit in the blocks before
    uint32* totals;    // [digits]
};

// The shared memory of a block.
template <int Warps>
struct SortTables {
    static constexpr int threads = Warps * warp_size;
    uint32* masks;   // [warps][digits]; in turn with `staged`
    Pair* staged;    // [threads * lane_pairs]
    uint16* ranks;   // [warps][digits]: pairs of the digit so far; then in the warps before
    uint32* next;    // [digits]: counts; then where the block's next pair of the digit goes
    uint32* local;   // [digits]: where those of the tile begin in `staged`
    uint32* exchange;

    GPUBENCH_DEVICE explicit SortTables(uint32* memory)
        : masks(memory),
          staged(reinterpret_cast<Pair*>(memory)),
          ranks(reinterpret_cast<uint16*>(memory + Warps * digits)),
          next(memory + Warps * digits / 2 * 3),
          local(next + digits),
          exchange(local + digits) {}

    GPUBENCH_DEVICE void clear_ranks() const {
        for (int i = thread_index_x(); i < Warps * digits / 8 * 3; i += threads) {
            store_word(reinterpret_cast<Word128*>(masks) + i, Word128{});
        }
        block_barrier();
    }
};

// A tile in the registers of a block; warps own neighbouring parts of it.
struct SortTile {
    Pair pairs[lane_pairs];
    uint32 ranks[lane_pairs];
};

template <int Warps>
GPUBENCH_DEVICE uint32 place_in_tile(int round, int rounds) {
    return (thread_index_x() / warp_size * rounds + round) * warp_size + lane_index();
}

// The pairs of the list from `start` on, each of a row and what `payload` gives for its place in the list. False where the
// rows descend, or one is outside the dim; such a one is no pair.
template <int Warps, class Index, class Payload>
GPUBENCH_DEVICE bool load_list(SortTile& tile, const Index* index, uint32 start, uint32 stop, int64 places, int rounds,
                               const Payload& payload) {
    bool ordered = true;
    GPUBENCH_UNROLL
    for (int i = 0; i < lane_pairs; ++i) {
        tile.pairs[i] = no_pair;
        const uint32 at = start + place_in_tile<Warps>(i, rounds);
        if (i >= rounds || at >= stop) continue;
        const int64 row = static_cast<int64>(index[at]);
        const int64 left = at > 0 ? static_cast<int64>(index[at - 1]) : 0;
        const uint32 value = payload(at);
        const bool inside = row >= 0 && row < places;
        if (inside) tile.pairs[i] = make_pair(static_cast<uint32>(row), value);
        ordered = ordered && inside && row >= left;
    }
    return ordered;
}

// Which bits of the row a pass sorts by.
struct Digit {
    int shift, bits;

    GPUBENCH_DEVICE int of(Pair pair) const { return static_cast<int>(row_of(pair) >> shift & ((1u << bits) - 1u)); }
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

// Turn the counts of a digit into what comes before: by one thread for few blocks, a warp for many; all are asked for at once.
GPUBENCH_DEVICE void scan_digit(const SortWorkspace& work, int d, int blocks) {
    uint32 sum = 0;
    for (int base = 0; base < blocks; base += few_blocks) {
        uint32 counts[few_blocks];
        GPUBENCH_UNROLL
        for (int k = 0; k < few_blocks; ++k) counts[k] = base + k < blocks ? work.counts[(base + k) * digits + d] : 0;
        GPUBENCH_UNROLL
        for (int k = 0; k < few_blocks; ++k) {
            if (base + k < blocks) work.before[(base + k) * digits + d] = sum;
            sum += counts[k];
        }
    }
    work.totals[d] = sum;
}
GPUBENCH_DEVICE void scan_digit_by_warp(const SortWorkspace& work, int d, int blocks) {
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
            const uint32 through = warp_inclusive_scan(counts[k], Add{});
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
    if (blocks <= 2 * few_blocks) {
        for (int d = first + thread_index_x(); d < last; d += Warps * warp_size) scan_digit(work, d, blocks);
    } else {
        for (int d = first + thread_index_x() / warp_size; d < last; d += Warps) scan_digit_by_warp(work, d, blocks);
    }
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
        before[k] = blocks > 1 && d < used ? work.before[block_index_x() * digits + d] : 0;
        sums[k] = sum;
        if (d < used) sum += blocks > 1 ? work.totals[d] : tables.next[d];
    }
    const BlockPlace<uint32> place = block_scan<Warps>(sum, tables.exchange, 0u, Add{});
    GPUBENCH_UNROLL
    for (int k = 0; k < each; ++k) {
        const int d = thread_index_x() * each + k;
        if (d < used) tables.next[d] = place.before + sums[k] + before[k];
    }
    block_barrier();
    return place.total;
}

// Rank a tile's pairs of each digit inside their warp, in their order.
template <int Warps>
GPUBENCH_DEVICE void rank_in_warp(SortTile& tile, const SortTables<Warps>& tables, Digit digit, int rounds) {
    const int warp = thread_index_x() / warp_size;
    GPUBENCH_UNROLL
    for (int i = 0; i < lane_pairs; ++i) {
        if (i >= rounds) break;
        const bool exists = tile.pairs[i] != no_pair;
        const int place = warp * digits + digit.of(tile.pairs[i]);
        if (exists) atomic_add(tables.masks + place, 1u << lane_index());
        warp_barrier();
        const uint32 equal = exists ? tables.masks[place] : 0;
        if (exists) tile.ranks[i] = tables.ranks[place] + population_count(equal & lanes_before());
        warp_barrier();
        if (exists && equal >> lane_index() == 1u) {  // the last of them
            tables.ranks[place] = static_cast<uint16>(tile.ranks[i] + 1);
            tables.masks[place] = 0;
        }
        warp_barrier();
    }
    block_barrier();
}

// Put a tile in order in shared memory, then write it to the places of its digits.
template <int Warps>
GPUBENCH_DEVICE void place_tile(SortTile& tile, const SortTables<Warps>& tables, Pair* target, Digit digit, int rounds) {
    constexpr int each = digits / SortTables<Warps>::threads;
    tables.clear_ranks();
    rank_in_warp(tile, tables, digit, rounds);
    uint32 sums[each], sum = 0;
    GPUBENCH_UNROLL
    for (int k = 0; k < each; ++k) {
        uint16* const ranks = tables.ranks + thread_index_x() * each + k;
        uint32 count = 0;
        GPUBENCH_UNROLL
        for (int base = 0; base < Warps; base += 8) {
            uint32 mine[8];
            GPUBENCH_UNROLL
            for (int w = 0; w < 8; ++w) mine[w] = ranks[(base + w) * digits];
            GPUBENCH_UNROLL
            for (int w = 0; w < 8; ++w) {
                ranks[(base + w) * digits] = static_cast<uint16>(count);
                count += mine[w];
            }
        }
        sums[k] = count;
        sum += count;
    }
    const BlockPlace<uint32> place = block_scan<Warps>(sum, tables.exchange, 0u, Add{});
    uint32 before = place.before;
    GPUBENCH_UNROLL
    for (int k = 0; k < each; ++k) {
        tables.local[thread_index_x() * each + k] = before;
        before += sums[k];
    }
    block_barrier();
    GPUBENCH_UNROLL
    for (int i = 0; i < lane_pairs; ++i) {
        if (tile.pairs[i] == no_pair || i >= rounds) continue;
        const int d = digit.of(tile.pairs[i]);
        tables.staged[tables.local[d] + tables.ranks[thread_index_x() / warp_size * digits + d] + tile.ranks[i]] = tile.pairs[i];
    }
    block_barrier();
    for (uint32 s = thread_index_x(); s < place.total; s += tables.threads) {
        const Pair pair = tables.staged[s];
        const int d = digit.of(pair);
        target[tables.next[d] + (s - tables.local[d])] = pair;
    }
    block_barrier();
    GPUBENCH_UNROLL
    for (int k = 0; k < each; ++k) tables.next[thread_index_x() * each + k] += sums[k];
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
        for (int d = thread_index_x(); d < used; d += tables.threads) work.totals[d] = tables.next[d];
    } else {
        for (int d = thread_index_x(); d < used; d += tables.threads) work.counts[block_index_x() * digits + d] = tables.next[d];
        if (meet(meetings, launch, ordered) && skip_ordered) return false;
        scan_slice<Warps>(work, used);
        meet(meetings + blocks, launch);
    }
    count = find_places(tables, work, used);
    const uint32 step = tables.threads * rounds;
    for (uint32 at = start; at < stop; at += step) {
        if (stop - start > step) load(at, stop);
        place_tile(tile, tables, target, digit, rounds);
    }
    return true;
}

}  // namespace gpubench::index_add
