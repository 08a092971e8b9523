// Putting a tile of pairs in the order of a digit of their rows, in the shared memory of a block.
//
// Data: a thread holds a few pairs, warps neighbouring parts of the tile. Each warp counts its digits in a table of its own, 16 bits
// each, and what a count was before tells a pair its rank inside the warp. The counts of the warps before come to it, the pairs go
// to their places in shared memory, and from there, side by side, to where the digit's next pairs belong. Stable: lanes that add to
// one word at once come in the order of their numbers on an H200 (80 million pairs of all kinds, none out of order), which nothing
// promises. So neighbours are compared as they are written, and put right where they are not in order.
//
// Source: ranking by counts of warps as in "Onesweep" (Adinets and Merrill, 2022).
#pragma once

#include "gpubench/block/scan.cuh"
#include "gpubench/grid.cuh"
#include "gpubench/pairs.cuh"

namespace gpubench {

constexpr int at_once = 4;      // accesses of shared memory of a lane that are under way together

// Which bits of the row a pass sorts by; `from`: the first bit by which the pairs are in order before.
struct Digit {
    int shift, bits, from;

    GPUBENCH_DEVICE int words() const { return 1 << (bits - 1); }  // of two digits
    GPUBENCH_DEVICE uint32 of(Pair pair) const { return row_of(pair) >> shift & ((1u << bits) - 1u); }
    // Whether two neighbours stand in the wrong order: of one digit, and the second was before the first.
    GPUBENCH_DEVICE bool is_turned(Pair first, Pair second) const {
        const Pair mask = Pair{(1u << shift) - (1u << from)} << 32 | 0xffffffffu;
        return (of(first) == of(second)) & ((first & mask) > (second & mask));
    }
};

// The cut of a block's tile, and of a digit. On an H200, 132 SMs, 16 warps a block, up to 1.3 M pairs stay in registers, 2.1 M if a lane
// has 32; 32 warps of 12 pairs spill, 50 us for 35. Counts of two neighbouring digits are halves of a word; a thread owns `owned` words.
template <int Warps, bool Large>
struct SortCut {
    static constexpr int warps = Warps, threads = Warps * warp_size;
    static constexpr int lane_pairs = Large ? 32 : 20, most_digits = Large ? 2048 : 1024;
    static constexpr int owned = most_digits / 2 > threads ? most_digits / 2 / threads : 1;
    static constexpr bool large = Large;  // then it is staged before the blocks meet, for its registers are wanted while they do
};

// The shared memory of a block.
template <class C>
struct SortTables {
    uint32* ranks;      // [warps][words]: pairs of the digits so far; then where the warp's begin in `staged`
    uint32* distances;  // [digits]: from `staged` to the target
    uint32* exchange;   // [warps]
    Pair* staged;       // [threads * rounds]

    GPUBENCH_DEVICE explicit SortTables(uint32* memory)
        : ranks(memory),
          distances(ranks + C::warps * C::most_digits / 2),
          exchange(distances + C::most_digits),
          staged(reinterpret_cast<Pair*>(exchange + C::warps)) {}

    GPUBENCH_DEVICE uint32* own_ranks(int words) const { return ranks + thread_index_x() / warp_size * words; }
};

// A tile in the registers of a block; warps own neighbouring parts of it.
template <class C>
struct SortTile {
    Pair pairs[C::lane_pairs];
    uint32 ranks[C::lane_pairs / 2];  // of two rounds each: pairs of the same digit that the warp has before
};

// Counts of the digits that a thread owns: neighbours, two a word.
template <class C>
struct OwnDigits {
    static constexpr int owned = C::owned;
    uint64 counts[owned];

    GPUBENCH_DEVICE static int word(int k) { return thread_index_x() * owned + k; }
};

GPUBENCH_DEVICE uint64 widened(uint32 halves) { return halves & 0xffffu | uint64{halves >> 16} << 32; }
GPUBENCH_DEVICE uint32 both(uint64 counts) { return static_cast<uint32>(counts) + static_cast<uint32>(counts >> 32); }

// Write a tile as it is: each pair to its position.
template <class C>
GPUBENCH_DEVICE void store_tile(const SortTile<C>& tile, Pair* target) {
    GPUBENCH_UNROLL
    for (int i = 0; i < C::lane_pairs; ++i) {
        if (tile.pairs[i] != no_pair) target[position_of(tile.pairs[i])] = tile.pairs[i];
    }
}

// Where a lane's pair of a round stands in the tile.
GPUBENCH_DEVICE uint32 place_in_tile(int round, int rounds) {
    return (thread_index_x() / warp_size * rounds + round) * warp_size + lane_index();
}

// Rank a tile's pairs of each digit inside their warp, in the order of rounds, and of lanes as they come. A lane without a pair adds
// nothing to a word of its own.
template <class C>
GPUBENCH_DEVICE void rank_in_warp(SortTile<C>& tile, const SortTables<C>& tables, Digit digit, int rounds) {
    uint32* const ranks = tables.own_ranks(digit.words());
    for (int i = lane_index(); i < digit.words(); i += warp_size) ranks[i] = 0;
    warp_barrier();
    GPUBENCH_UNROLL
    for (int i = 0; i < C::lane_pairs / 2; ++i) tile.ranks[i] = 0;  // else those of the pass before would keep their registers
    GPUBENCH_UNROLL
    for (int base = 0; base < C::lane_pairs; base += at_once) {
        if (base >= rounds) break;
        uint32 counts[at_once];  // before, of the pair's digit and its neighbour
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) {
            const bool exists = tile.pairs[base + k] != no_pair;
            const uint32 d = digit.of(tile.pairs[base + k]);
            counts[k] = fetch_add(ranks + (exists ? d / 2 : lane_index()), exists ? 1u << d % 2 * 16 : 0u);
            warp_barrier();
        }
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) counts[k] = counts[k] >> digit.of(tile.pairs[base + k]) % 2 * 16 & 0xffffu;
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; k += 2) tile.ranks[(base + k) / 2] = counts[k] | counts[k + 1] << 16;
    }
}

// Rank a tile, and count the digits of all its warps. agrees: becomes whether all threads do.
template <class C>
GPUBENCH_DEVICE OwnDigits<C> rank_tile(SortTile<C>& tile, const SortTables<C>& tables, Digit digit, int rounds, bool& agrees) {
    rank_in_warp(tile, tables, digit, rounds);
    agrees = block_barrier_and(agrees);
    OwnDigits<C> own{};
    GPUBENCH_UNROLL
    for (int k = 0; k < own.owned; ++k) {
        uint32 sum = 0;
        if (own.word(k) < digit.words()) {
            GPUBENCH_UNROLL
            for (int w = 0; w < C::warps; ++w) sum += tables.ranks[w * digit.words() + own.word(k)];
        }
        own.counts[k] = widened(sum);
    }
    return own;
}

// Where the thread's digits begin in the tile, and how many pairs that has.
template <class C>
GPUBENCH_DEVICE uint32 begin_digits(const SortTables<C>& tables, const OwnDigits<C>& own, OwnDigits<C>& begins) {
    uint32 sum = 0;
    GPUBENCH_UNROLL
    for (int k = 0; k < own.owned; ++k) sum += both(own.counts[k]);
    const BlockPlace<uint32> place = block_scan<C::warps>(sum, tables.exchange, 0u, Together{});
    uint32 before = place.before;
    GPUBENCH_UNROLL
    for (int k = 0; k < own.owned; ++k) {
        begins.counts[k] = before | uint64{before + static_cast<uint32>(own.counts[k])} << 32;
        before += both(own.counts[k]);
    }
    return place.total;
}

// Turn the counts of the warps into where each warp's pairs of the thread's digits begin in the tile.
template <class C>
GPUBENCH_DEVICE void begin_warps(const SortTables<C>& tables, const OwnDigits<C>& begins, Digit digit) {
    GPUBENCH_UNROLL
    for (int k = 0; k < begins.owned; ++k) {
        if (begins.word(k) >= digit.words()) continue;
        uint32 running = static_cast<uint32>(begins.counts[k]) | static_cast<uint32>(begins.counts[k] >> 32) << 16;
        GPUBENCH_UNROLL
        for (int base = 0; base < C::warps; base += 8) {
            uint32 mine[8];
            GPUBENCH_UNROLL
            for (int w = 0; w < 8; ++w) mine[w] = tables.ranks[(base + w) * digit.words() + begins.word(k)];
            GPUBENCH_UNROLL
            for (int w = 0; w < 8; ++w) {
                tables.ranks[(base + w) * digit.words() + begins.word(k)] = running;
                running += mine[w];
            }
        }
    }
}

// Behind a barrier: put the pairs where they belong in the tile.
template <class C>
GPUBENCH_DEVICE void stage_tile(SortTile<C>& tile, const SortTables<C>& tables, Digit digit, int rounds) {
    const uint16* const ranks = reinterpret_cast<const uint16*>(tables.own_ranks(digit.words()));
    GPUBENCH_UNROLL
    for (int base = 0; base < C::lane_pairs; base += at_once) {
        if (base >= rounds) break;
        uint32 places[at_once];
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) {
            places[k] = ranks[digit.of(tile.pairs[base + k])] + (tile.ranks[(base + k) / 2] >> k % 2 * 16 & 0xffffu);
        }
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) {
            if (tile.pairs[base + k] != no_pair) tables.staged[places[k]] = tile.pairs[base + k];
        }
    }
}

// Write the tile's pairs; places: of the thread's digits' next ones. True where neighbours stood in the wrong order.
template <class C>
GPUBENCH_DEVICE bool write_tile(const SortTables<C>& tables, const OwnDigits<C>& begins, const OwnDigits<C>& places, uint32 total,
                                Pair* target, Digit digit) {
    GPUBENCH_UNROLL
    for (int k = 0; k < begins.owned; ++k) {
        if (begins.word(k) >= digit.words()) continue;
        tables.distances[2 * begins.word(k)] = static_cast<uint32>(places.counts[k]) - static_cast<uint32>(begins.counts[k]);
        tables.distances[2 * begins.word(k) + 1] = static_cast<uint32>(places.counts[k] >> 32) - static_cast<uint32>(begins.counts[k] >> 32);
    }
    block_barrier();
    bool turned = false;
    for (uint32 base = thread_index_x(); base < total; base += at_once * C::threads) {
        Pair pairs[at_once], before[at_once];
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) {
            const uint32 s = base + k * C::threads;
            pairs[k] = s < total ? tables.staged[s] : no_pair;
            before[k] = s < total && s > 0 ? tables.staged[s - 1] : Pair{0};
        }
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) turned = turned | digit.is_turned(before[k], pairs[k]);
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) {
            const uint32 s = base + k * C::threads;
            if (s < total) target[tables.distances[digit.of(pairs[k])] + s] = pairs[k];
        }
    }
    return block_barrier_or(turned);
}

// Neighbours change places until all are in order: at most 32 times, since only lanes of one round can be out of order.
template <class C>
GPUBENCH_DEVICE void settle_tile(const SortTables<C>& tables, uint32 total, Digit digit) {
    for (bool again = true; again;) {
        again = false;
        for (uint32 parity = 0; parity < 2; ++parity) {
            for (uint32 s = 2 * thread_index_x() + parity; s + 1 < total; s += 2 * C::threads) {
                const Pair first = tables.staged[s], second = tables.staged[s + 1];
                if (!digit.is_turned(first, second)) continue;
                tables.staged[s] = second;
                tables.staged[s + 1] = first;
                again = true;
            }
            block_barrier();
        }
        again = block_barrier_or(again);
    }
}

}  // namespace gpubench
