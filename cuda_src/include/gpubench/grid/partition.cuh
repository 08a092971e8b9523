// Bringing entries, rows and what goes with them, to the parts of a range that their rows belong to, by blocks that are resident together.
//
// Data: the blocks count a sample of the list, meet, and give each part room for what it may take. Then a block takes its share of
// the list tile by tile: entries are ranked inside their part by atomics of shared memory, put in the order of their parts there while
// their room in the parts' lists is reserved, and written side by side to where each list has been filled by all blocks: so what is
// written at one time lies close together, and the L2 cache sends whole lines on. The order inside a part is left to chance. Runs are
// padded to whole sectors of memory where they are long enough. Entries that find no room left are given back.
//
// Source: radix partitioning as in database joins.
#pragma once

#include "gpubench/block/together.cuh"
#include "gpubench/block/digit_sort.cuh"
#include "gpubench/grid/meeting.cuh"
#include "gpubench/grid/part_entries.cuh"
#include "gpubench/integer_divider.cuh"
#include "gpubench/movement/row_vectors.cuh"
#include "gpubench/sampling.cuh"

namespace gpubench {

constexpr int most_parts = 4096;
constexpr uint32 sample_piece = 16, sample_span = 512;  // rows side by side, a line of memory, of how many; neighbours may be alike
constexpr uint32 sample_share = sample_span / sample_piece;

// A unit of work: one of `pieces` equal shares of the entries of a part.
struct PartUnit {
    uint32 part, piece, pieces;
};

// How rows are parted: parts of `size` rows each, below 2^16, in tiles of `step` rows, and units of work of about `most` entries.
struct Parting {
    IntegerDivider size;
    int32 parts;
    uint32 most;
    uint32 step;
    uint32 grain;  // entries that runs are padded to, a power of two
    uint32 least;  // entries that each part has room for, whatever the sample says; a multiple of the grain

    // A row's part, and in the lower half where it stands there; what has no row comes to a part of its own, behind the last.
    GPUBENCH_DEVICE uint32 locate(uint32 row) const {
        const auto place = size.divide(row);
        return place.quotient << 16 | place.remainder;
    }
    GPUBENCH_DEVICE uint32 nowhere() const { return static_cast<uint32>(parts) << 16; }
};
GPUBENCH_LAYOUT(Parting, 32, least, 28);

// A tile in the registers of a block: located rows, and what goes with them.
template <int Items, int Words>
struct PartTile {
    uint32 rows[Items];
    Word<4 * Words> values[Items];
};

// Ranks below 2^16, two a register.
template <int Items>
struct PartRanks {
    uint32 words[(Items + 1) / 2];

    GPUBENCH_DEVICE void set(int i, uint32 rank) { words[i / 2] = i % 2 != 0 ? words[i / 2] | rank << 16 : rank; }
    GPUBENCH_DEVICE uint32 get(int i) const { return i % 2 != 0 ? words[i / 2] >> 16 : words[i / 2] & 0xffffu; }
};

// What a block has in shared memory, of `parts` parts and one for what has no row.
template <int Warps, int Items, int Words>
struct PartTables {
    static constexpr int threads = Warps * warp_size, tile = threads * Items;
    PartEntries<Words> staged;  // [room]
    uint32* counts;     // [parts]: of the sample, of the tile; zero between
    uint32* distances;  // [parts]: from where the part begins in `staged` to its next place in the lists; or no_room, dropped
    uint32* exchange;   // [warps]
    uint16* starts;     // [parts]: where the part begins in `staged`
    static constexpr uint32 no_room = 0x80000000u, dropped = 0x80000001u;  // lists are shorter

    GPUBENCH_DEVICE PartTables(uint64* memory, const Parting& parting)
        : staged(memory, room(parting)),
          counts(staged.behind(room(parting))),
          distances(counts + parting.parts + 1),
          exchange(distances + parting.parts + 1),
          starts(reinterpret_cast<uint16*>(exchange + Warps)) {}

    GPUBENCH_DEVICE static uint32 room(const Parting& parting) { return tile + (parting.grain - 1) * (parting.parts + 1); }
};

// What all blocks know of the parts; room: of all lists together.
template <int Words>
struct PartLists {
    uint32* totals;   // [parts]: of the sample
    uint32* cursors;  // [parts]: the next free place; side by side, so that a warp reserves by one access
    uint32* begins;   // [parts]
    uint32* limits;   // [parts]: where the room ends, or where it was first too small
    PartEntries<Words> entries;

    GPUBENCH_DEVICE PartLists(uint32* table, uint64* memory, uint32 room, int parts)
        : totals(table), cursors(table + parts), begins(cursors + parts), limits(begins + parts), entries(memory, room) {}

    // By all blocks, each a slice; others see it behind a meeting.
    GPUBENCH_DEVICE void clear(int parts) const {
        for (int64 i = grid_thread(); i < parts; i += grid_threads()) totals[i] = 0;
    }
    // Where a unit's entries begin and end, once all have been placed.
    struct Range {
        uint32 first, last;
    };
    GPUBENCH_DEVICE Range range_of(const PartUnit& unit) const {
        const uint32 begin = begins[unit.part], cursor = cursors[unit.part], limit = limits[unit.part];
        const uint64 count = (cursor < limit ? cursor : limit) - begin;
        return {begin + static_cast<uint32>(count * unit.piece / unit.pieces),
                begin + static_cast<uint32>(count * (unit.piece + 1) / unit.pieces)};
    }
};

// How often rows came again inside of warps, for every lane of one the same: the lanes of all rows that did but the one that came most
// often, and those of that one where it had `hot` lanes and more.
struct Repeats {
    uint32 again, alone;

    // By a whole warp: lanes that have no row are beyond every other one.
    GPUBENCH_DEVICE void count(uint32 row, bool exists, int hot) {
        const uint32 met = match_any(full_mask, exists ? row : 0xffffffffu);
        const int equal = exists ? population_count(met) : 0;
        const bool run = ((met + (met & (0u - met))) & met) == 0;  // neighbours alone, as in a sorted piece: no place is met from elsewhere
        const int most = largest_of_lanes(equal);
        const int others = population_count(ballot(full_mask, equal > 1 && !run)) - (most > 1 ? most : 0);
        again += others > 0 ? others : 0;
        alone += most >= hot ? most : 0;
    }
};

// Count a sample of rows start ... stop - 1 of a list, one piece of each span; `locate` turns an entry into a located row. seed: a warp's.
template <int Warps, int Items, int Words, class Entry, class Locate>
GPUBENCH_DEVICE Repeats sample_parts(const PartTables<Warps, Items, Words>& tables, const PartLists<Words>& lists, const Entry* list,
                                     uint32 start, uint32 stop, uint32 seed, int parts, int hot, const Locate& locate) {
    constexpr int at_once = 8;
    constexpr uint32 apart = Warps * warp_size / sample_piece;
    together(parts + 1, [&](int part) { tables.counts[part] = 0; });
    const uint32 pieces = (stop - start + sample_span - 1) / sample_span;
    Repeats repeats{0, 0};
    for (uint32 first = 0; first < pieces; first += at_once * apart) {
        Entry entries[at_once];
        bool exist[at_once];
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) {
            const uint32 piece = first + k * apart + thread_index_x() / sample_piece;
            const uint32 turn = sampled_place(start / sample_span + piece, seed, sample_share);
            const uint32 at = start + piece * sample_span + turn * sample_piece + thread_index_x() % sample_piece;
            exist[k] = piece < pieces && at < stop;
            entries[k] = load_if(list + at, exist[k]);
        }
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) {
            const uint32 row = locate(entries[k]);
            repeats.count(row, exist[k], hot);
            if (exist[k]) atomic_add(tables.counts + part_of(row), 1u);
        }
    }
    after_all(parts + 1, [&](int part) {
        if (part < parts && tables.counts[part] > 0) atomic_add(lists.totals + part, tables.counts[part]);
        tables.counts[part] = 0;
    });
    return repeats;
}

// Give every part room for six deviations more than the sample says, and for its pads, but the least room at least, and write down the
// units of work: all blocks find the same, each writes some. Returns how many units there are.
template <int Warps, int Items, int Words>
GPUBENCH_DEVICE uint32 find_rooms(const PartTables<Warps, Items, Words>& tables, const PartLists<Words>& lists, PartUnit* units,
                                  uint32 tiles, const Parting& parting) {
    constexpr int each = most_parts / (Warps * warp_size);
    const uint32 pads = (tiles * (parting.grain - 1) + parting.grain - 1) / parting.grain * parting.grain;
    uint32 rooms[each], pieces[each], room = 0, count = 0;
    GPUBENCH_UNROLL
    for (int k = 0; k < each; ++k) {
        const int part = thread_index_x() * each + k;
        const uint32 seen = part < parting.parts ? load_relaxed(lists.totals + part) : 0;
        const float more = 6 * approximate_sqrt(static_cast<float>(seen)) + 8;
        rooms[k] = part < parting.parts ? (seen + static_cast<uint32>(more)) * sample_share + pads : 0;
        pieces[k] = part < parting.parts ? seen * sample_share / parting.most + 1 : 0;
        if (part < parting.parts && rooms[k] < parting.least) rooms[k] = parting.least;
        room += rooms[k];
        count += pieces[k];
    }
    uint32 begin = block_scan_by_shuffles<Warps>(room, tables.exchange, 0u, Together{}).before;
    block_barrier();
    const BlockPlace<uint32> place = block_scan_by_shuffles<Warps>(count, tables.exchange, 0u, Together{});
    uint32 number = place.before;
    GPUBENCH_UNROLL
    for (int k = 0; k < each; ++k) {
        const int part = thread_index_x() * each + k;
        if (part < parting.parts && part % grid_size_x() == block_index_x()) {
            for (uint32 piece = 0; piece < pieces[k]; ++piece) units[number + piece] = PartUnit{static_cast<uint32>(part), piece, pieces[k]};
            lists.begins[part] = begin;
            lists.cursors[part] = begin;
            lists.limits[part] = begin + rooms[k];
        }
        begin += rooms[k];
        number += pieces[k];
    }
    return place.total;
}

// The thread's parts of a tile, and where their entries go.
template <int Warps>
struct OwnParts {
    static constexpr int threads = Warps * warp_size, each = most_parts / threads;
    uint32 counts[each];  // padded
    uint32 next[each];    // places in the lists
    uint32 begin;         // of the first one in `staged`

    // Reserve room for the tile's counts, and turn these into where each part begins. Nobody waits for the reserves here. Returns how
    // many entries there are.
    template <int Items, int Words>
    GPUBENCH_DEVICE uint32 reserve(const PartTables<Warps, Items, Words>& tables, const PartLists<Words>& lists, const Parting& parting) {
        uint32 sum = 0;
        block_barrier();
        GPUBENCH_UNROLL
        for (int k = 0; k < each; ++k) {
            const int part = thread_index_x() + k * threads;
            counts[k] = part <= parting.parts ? (tables.counts[part] + parting.grain - 1) & ~(parting.grain - 1) : 0;
            next[k] = counts[k] > 0 && part < parting.parts ? fetch_add(lists.cursors + part, counts[k]) : 0;
            sum += counts[k];
        }
        const BlockPlace<uint32> place = block_scan_by_shuffles<Warps>(sum, tables.exchange, 0u, Together{});
        begin = place.before;
        uint32 start = begin;
        GPUBENCH_UNROLL
        for (int k = 0; k < each; ++k) {
            const int part = thread_index_x() + k * threads;
            if (part > parting.parts) continue;
            tables.starts[part] = static_cast<uint16>(start);
            for (uint32 pad = tables.counts[part]; pad < counts[k]; ++pad) {
                tables.staged.set(start + pad, make_entry<Words>(static_cast<uint32>(part) << 16 | no_offset, {}));
            }
            tables.counts[part] = 0;
            start += counts[k];
        }
        block_barrier();
        return place.total;
    }
    // Then say where the entries go. Nothing is written behind the first reserve that found too little room, and none finds any later.
    // Returns whether any part of the tile has too little.
    template <int Items, int Words>
    GPUBENCH_DEVICE bool tell(const PartTables<Warps, Items, Words>& tables, const PartLists<Words>& lists, int parts) const {
        uint32 start = begin;
        bool full = false;
        GPUBENCH_UNROLL
        for (int k = 0; k < each; ++k) {
            const int part = thread_index_x() + k * threads;
            if (part > parts) continue;
            uint32 distance = part == parts ? tables.dropped : next[k] - start;
            if (part < parts && counts[k] > 0 && next[k] + counts[k] > load_relaxed(lists.limits + part)) {
                atomic_min(lists.limits + part, next[k]);
                distance = tables.no_room;
                full = true;
            }
            tables.distances[part] = distance;
            start += counts[k];
        }
        return any_thread(full);
    }
};

// Those of a tile's staged entries, which stand in the order of their parts, that found no room.
template <int Warps, int Items, int Words>
struct LeftEntries {
    const PartTables<Warps, Items, Words>& tables;
    uint32 total;  // staged

    // Bring staged entry number s, and say whether it is one of them.
    GPUBENCH_DEVICE bool find(PartEntry<Words>& entry, uint32 s) const {
        if (s >= total) return false;
        entry = tables.staged.get(s);
        return tables.distances[part_of(row_of(entry))] == tables.no_room && offset_of(row_of(entry)) != no_offset;
    }
};

// Bring rows start ... stop - 1 to their parts. `load(tile, base, end)` brings a tile; `left_over(entries)` takes what finds no room.
template <int Warps, int Items, int Words, class Load, class LeftOver>
GPUBENCH_DEVICE void place_parts(const PartTables<Warps, Items, Words>& tables, const PartLists<Words>& lists, uint32 start, uint32 stop,
                                 const Parting& parting, const Load& load, const LeftOver& left_over) {
    for (uint32 base = start; base < stop; base += parting.step) {
        PartTile<Items, Words> tile;
        PartRanks<Items> ranks;
        OwnParts<Warps> own;
        load(tile, base, stop - base < parting.step ? stop : base + parting.step);
        GPUBENCH_UNROLL
        for (int i = 0; i < Items; ++i) ranks.set(i, fetch_add(tables.counts + part_of(tile.rows[i]), 1u));
        const uint32 total = own.reserve(tables, lists, parting);
        GPUBENCH_UNROLL
        for (int i = 0; i < Items; ++i) {
            const PartEntry<Words> entry = make_entry<Words>(tile.rows[i], tile.values[i]);  // before its place: fewer registers
            tables.staged.set(tables.starts[part_of(tile.rows[i])] + ranks.get(i), entry);
        }
        const bool full = own.tell(tables, lists, parting.parts);
        for (uint32 s = thread_index_x(); s < total; s += tables.threads) {
            const PartEntry<Words> entry = tables.staged.get(s);
            const uint32 distance = tables.distances[part_of(row_of(entry))];
            if (distance != tables.no_room && distance != tables.dropped) lists.entries.set(distance + s, entry);
        }
        if (full) left_over(LeftEntries<Warps, Items, Words>{tables, total});
        if (stop - base <= parting.step) break;
    }
}

}  // namespace gpubench
