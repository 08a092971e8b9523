// Putting a tile of pairs in the order of a digit of their rows, in the shared memory of a block.
//
// Data: a thread holds a few pairs, warps neighbouring parts of the tile. A warp ranks 32 pairs at once: each lane sets its bit in
// the word of its digit, of which every warp has a table of its own. The ranks of the warps before come to it, the pairs go to
// their places in shared memory, and from there, side by side, to where the digit's next pairs belong. Stable.
//
// Source: ranking by a word a digit as in "Onesweep" (Adinets and Merrill, 2022).
#pragma once

#include "gpubench/block/scan.cuh"
#include "gpubench/grid.cuh"
#include "gpubench/pairs.cuh"

namespace gpubench {

constexpr int digits = 1024;
constexpr int lane_pairs = 9;  // H200, 132 SMs: 1.2 M pairs stay in registers

// How counts come together.
struct Together {
    GPUBENCH_DEVICE uint32 operator()(uint32 a, uint32 b) const { return a + b; }
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

    // By each warp, its own tables, of the digits there are.
    GPUBENCH_DEVICE void clear_ranks(int used) const {
        const int warp = thread_index_x() / warp_size;
        for (int d = lane_index() * 8; d < used; d += warp_size * 8) {
            store_word(reinterpret_cast<Word128*>(masks + warp * digits + d), Word128{});
            store_word(reinterpret_cast<Word128*>(masks + warp * digits + d) + 1, Word128{});
            store_word(reinterpret_cast<Word128*>(ranks + warp * digits + d), Word128{});
        }
        warp_barrier();
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

// Which bits of the row a pass sorts by.
struct Digit {
    int shift, bits;

    GPUBENCH_DEVICE int of(Pair pair) const { return static_cast<int>(row_of(pair) >> shift & ((1u << bits) - 1u)); }
};

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
    const int used = 1 << digit.bits;
    tables.clear_ranks(used);
    rank_in_warp(tile, tables, digit, rounds);
    uint32 sums[each], sum = 0;
    GPUBENCH_UNROLL
    for (int k = 0; k < each; ++k) {
        uint16* const ranks = tables.ranks + thread_index_x() * each + k;
        uint32 count = 0;
        GPUBENCH_UNROLL
        for (int base = 0; base < Warps && thread_index_x() * each + k < used; base += 8) {
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
    const BlockPlace<uint32> place = block_scan<Warps>(sum, tables.exchange, 0u, Together{});
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

}  // namespace gpubench
