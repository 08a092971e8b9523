// Bringing pairs to the parts of a range that their rows belong to, by blocks that are resident together.
//
// Data: the blocks count how many pairs of their share of a list each part takes, add that to the totals of all, and meet. Then a
// block takes its share tile by tile: pairs are ranked inside their part by atomics of shared memory, put in the order of their
// parts there, and written side by side, while the next tile comes, to where each part's list has been filled by all blocks: so
// what is written at one time lies close together, and the L2 cache sends whole lines on. The order inside a part is left to
// chance.
//
// Source: radix partitioning as in database joins.
#pragma once

#include "gpubench/block/together.cuh"
#include "gpubench/block/digit_sort.cuh"
#include "gpubench/grid/meeting.cuh"
#include "gpubench/integer_divider.cuh"
#include "gpubench/movement/row_vectors.cuh"

namespace gpubench {

constexpr int most_parts = 4096;
constexpr int sector_words = 8;  // cursors stand a sector of memory apart: neighbours in one would wait for each other

// Pairs first ... last - 1 of the partitioned list, all of one part; shared: whether other units are of it too.
struct PartUnit {
    uint32 part, first, last, shared;
};

// How rows are parted: parts of `size` rows each, and units of work of at most `most` pairs.
struct Parting {
    IntegerDivider size;
    int32 parts;
    uint32 most;

    GPUBENCH_DEVICE uint32 of(uint32 row) const { return size.divide(row).quotient; }
};
GPUBENCH_LAYOUT(Parting, 20, most, 16);

// A tile in the registers of a block: rows, no_row where there is none, and what goes with them.
template <int Items>
struct PartTile {
    static constexpr uint32 no_row = 0xffffffffu;
    uint32 rows[Items];
    uint32 values[Items];
};

// What a block has in shared memory.
template <int Warps, int Items>
struct PartTables {
    static constexpr int threads = Warps * warp_size, tile = threads * Items;
    Pair* staged;       // [tile]
    uint32* counts;     // [parts]: of the tile; then where the part begins in `staged`
    uint32* distances;  // [parts]: from there to the part's next place in the list of pairs
    uint32* exchange;   // [warps]

    GPUBENCH_DEVICE PartTables(Pair* memory, int parts)
        : staged(memory),
          counts(reinterpret_cast<uint32*>(memory + tile)),
          distances(counts + parts),
          exchange(distances + parts) {}
};

// Count the parts of rows start ... stop - 1 of a list; `row` turns an entry into one, no_row where there is none.
template <int Warps, int Items, class Entry, class Row>
GPUBENCH_DEVICE void count_parts(const PartTables<Warps, Items>& tables, const Entry* list, uint32 start, uint32 stop, const Parting& parting,
                                 const Row& row) {
    constexpr int at_once = 8;
    constexpr uint32 threads = PartTables<Warps, Items>::threads;
    together(parting.parts, [&](int part) { tables.counts[part] = 0; });
    for (uint32 base = start + thread_index_x(); base < stop; base += at_once * threads) {
        Entry entries[at_once];
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) entries[k] = load_if(list + base + k * threads, base + k * threads < stop);
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) {
            const uint32 found = base + k * threads < stop ? row(entries[k]) : PartTile<1>::no_row;
            if (found != PartTile<1>::no_row) atomic_add(tables.counts + parting.of(found), 1u);
        }
    }
}

// What all blocks know of the parts: zero before the first count.
struct PartTotals {
    uint32* totals;   // [parts]
    uint32* cursors;  // [parts], sector_words apart: pairs placed so far

    // By all blocks, each a slice; others see it behind a meeting.
    GPUBENCH_DEVICE void clear(int parts) const {
        for (int64 i = grid_thread(); i < int64{parts} * sector_words; i += grid_threads()) {
            cursors[i] = 0;
            if (i < parts) totals[i] = 0;
        }
    }
    // Behind count_parts.
    template <class Tables>
    GPUBENCH_DEVICE void take_counts(const Tables& tables, int parts) const {
        after_all(parts, [&](int part) {
            if (tables.counts[part] > 0) atomic_add(totals + part, tables.counts[part]);
        });
    }
};

// The thread's parts, a few neighbours, and where each begins in the list of pairs.
template <int Warps>
struct OwnParts {
    static constexpr int threads = Warps * warp_size, each = most_parts / threads;
    uint32 begins[each];
    int first, count;

    GPUBENCH_DEVICE explicit OwnParts(int parts) {
        const int share = (parts + threads - 1) / threads, left = parts - thread_index_x() * share;
        first = thread_index_x() * share;
        count = left < 0 ? 0 : left < share ? left : share;
    }

    // Turn the totals into places. The first block writes down the units; returns how many there are.
    GPUBENCH_DEVICE uint32 find_places(uint32* scratch, const PartTotals& all, PartUnit* units, uint32 most) {
        uint32 totals[each], sum = 0, pieces = 0;
        GPUBENCH_UNROLL
        for (int k = 0; k < each; ++k) {
            totals[k] = k < count ? load_relaxed(all.totals + first + k) : 0;
            sum += totals[k];
            pieces += (totals[k] + most - 1) / most;
        }
        uint32 begin = block_scan<Warps>(sum, scratch, 0u, Together{}).before;
        block_barrier();
        const BlockPlace<uint32> place = block_scan<Warps>(pieces, scratch, 0u, Together{});
        uint32 number = place.before;
        GPUBENCH_UNROLL
        for (int k = 0; k < each; ++k) {
            for (uint32 at = 0; block_index_x() == 0 && at < totals[k]; at += most) {
                const uint32 last = totals[k] - at < most ? totals[k] : at + most;
                units[number++] = PartUnit{static_cast<uint32>(first + k), begin + at, begin + last, totals[k] > most ? 1u : 0u};
            }
            begins[k] = begin;
            begin += totals[k];
        }
        block_barrier();
        return place.total;
    }

    // Turn the tile's counts into where each part begins in it. Returns how many pairs there are.
    template <class Tables>
    GPUBENCH_DEVICE uint32 begin_parts(const Tables& tables, const PartTotals& all) const {
        uint32 counts[each], next[each], sum = 0;
        block_barrier();
        GPUBENCH_UNROLL
        for (int k = 0; k < each; ++k) {
            counts[k] = k < count ? tables.counts[first + k] : 0;
            next[k] = counts[k] > 0 ? begins[k] + fetch_add(all.cursors + (first + k) * sector_words, counts[k]) : 0;
            sum += counts[k];
        }
        const BlockPlace<uint32> place = block_scan<Warps>(sum, tables.exchange, 0u, Together{});
        uint32 begin = place.before;
        GPUBENCH_UNROLL
        for (int k = 0; k < each; ++k) {
            if (k >= count) continue;
            tables.counts[first + k] = begin;
            tables.distances[first + k] = next[k] - begin;
            begin += counts[k];
        }
        block_barrier();
        return place.total;
    }
};

// Bring rows start ... stop - 1 to their parts. `load(base)` brings the tile that begins there; the first one has come.
template <int Warps, int Items, class Load>
GPUBENCH_DEVICE void place_parts(PartTile<Items>& tile, const OwnParts<Warps>& own, const PartTables<Warps, Items>& tables,
                                 const PartTotals& all, Pair* pairs, uint32 start, uint32 stop, const Parting& parting, const Load& load) {
    constexpr uint32 step = PartTables<Warps, Items>::tile;
    constexpr uint32 none = PartTile<Items>::no_row;
    for (uint32 base = start; base < stop; base += step) {
        together(parting.parts, [&](int part) { tables.counts[part] = 0; });
        uint32 ranks[Items];
        GPUBENCH_UNROLL
        for (int i = 0; i < Items; ++i) {
            if (tile.rows[i] != none) ranks[i] = fetch_add(tables.counts + parting.of(tile.rows[i]), 1u);
        }
        const uint32 total = own.begin_parts(tables, all);
        GPUBENCH_UNROLL
        for (int i = 0; i < Items; ++i) {
            if (tile.rows[i] != none) tables.staged[tables.counts[parting.of(tile.rows[i])] + ranks[i]] = make_pair(tile.rows[i], tile.values[i]);
        }
        block_barrier();
        if (stop - base > step) load(base + step);
        for (uint32 s = thread_index_x(); s < total; s += tables.threads) {
            const Pair pair = tables.staged[s];
            pairs[tables.distances[parting.of(row_of(pair))] + s] = pair;
        }
        if (stop - base <= step) break;
    }
}

}  // namespace gpubench
