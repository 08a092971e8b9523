// Short rows on their way to a destination by atomics, those of places that come again added up in shared memory before: kernels of
// `cached` and, behind it, of `partitioned`.
//
// One block an SM takes a part of the list. A warp brings tiles of up to 32 rows, a row's vectors by neighbouring lanes, to a ring of
// stages in shared memory, whatever their indices are. Then lanes with equal indices find each other (`match`), the group of lanes of the
// first such row adds up all of them in registers, and adds the sum to the row's in the block's table, if it has a place there. A row that
// came not long ago takes one of two places that are a hash of it, if one is free; a row without a place goes to the destination by
// atomics of 16 bytes, and so does the table at the end. So what much of the list shares is met by few atomics, rows that come once cost a
// look into the table, and nothing needs to be known of the list before. Where more of what comes again finds the table full than finds
// its place, the list has changed: the block sends the table off and begins anew. Sums are formed in the accumulator and rounded to the
// dtype by each atomic, in any order. Why: the L2 cache takes 0.2 G additions a second to one row, and a table of 2772 rows of 8 floats
// takes half of a list by 1 / rank.
#pragma once

#include "gpubench/block/together.cuh"
#include "gpubench/movement/row_vectors.cuh"
#include "index_add/exchanged_sums.cuh"
#include "index_add/shared_places.cuh"
#include "index_add/sums.cuh"
#include "index_add/table.cuh"

namespace gpubench::index_add {

constexpr int row_threads = 1024;  // H100: 512, with as many bytes on their way, take 1.27 times as long
constexpr int row_warps = row_threads / warp_size;
constexpr int row_stages = 2;
constexpr int row_copies = 2;  // vectors of a lane in a tile, at most
constexpr int row_tags = 4096;
constexpr int row_turns = 8;  // of a block's warps, until it looks whether the table is of use

struct CachedRowsShape {
    int32 tile;      // rows of a warp at once
    uint32 vectors;  // of a row
    uint32 count;    // indices
    uint32 range;    // of them, a block's: whole tiles of its warps
    uint32 rows;     // of the table; 4 more than a multiple of 8
    int64 places;
    int64 place_step, index_step;  // elements between rows of the destination, of the source
    int64 outer_place, outer_index;
    double alpha;
};
GPUBENCH_LAYOUT(CachedRowsShape, 72, alpha, 64);

// Sums of rows, 8 bytes of all of them after each other; behind them their keys, and tags: the rows that came last. Lanes: that take a
// row, a power of two up to 8.
template <class T, int V, int Lanes>
struct RowTable {
    using A = sum_t<T>;
    static constexpr int parts = V * sizeof(A) / 8;  // of a vector
    static constexpr uint32 is_new = no_row, is_full = no_row - 1;
    uint64* sums;
    uint32 *keys, *tags;
    uint32 rows;

    GPUBENCH_DEVICE RowTable(Word128* memory, const CachedRowsShape& shape)
        : sums(reinterpret_cast<uint64*>(memory)), keys(reinterpret_cast<uint32*>(sums + shape.rows * shape.vectors * parts)),
          tags(keys + shape.rows), rows(shape.rows) {}

    // Where the row's sums stand, or why nowhere: it did not come lately, or both of its places are others'. first: of the lanes that ask
    // for the row, which need not agree: each sends its own part of the sum.
    GPUBENCH_DEVICE uint32 find(uint32 row, bool first) const {
        const uint32 hash = hash_of(row), place = multiply_high(hash, rows);
        const uint32 seen = load_shared(keys + place), other = load_shared(keys + (place ^ 1));
        if (seen == row) return place;
        if (other == row) return place ^ 1;
        uint32* const tag = tags + hash / (0x80000000u / (row_tags / 2));
        if (load_shared(tag) != row) {
            if (first) atomic_exchange(tag, row);
            return is_new;
        }
        if (seen == no_row && take(place, row)) return place;
        return other == no_row && take(place ^ 1, row) ? place ^ 1 : is_full;
    }
    GPUBENCH_DEVICE bool take(uint32 place, uint32 row) const {
        const uint32 seen = compare_exchange(keys + place, no_row, row);
        return seen == no_row || seen == row;
    }
    GPUBENCH_DEVICE uint64* part(uint32 place, uint32 vector, int i) const { return sums + (vector * parts + i) * rows + place; }
    GPUBENCH_DEVICE void add(uint32 place, uint32 vector, const Vector<A, V>& more) const {
        add_by_exchange(more, [&](int i) { return part(place, vector, i); });
    }
    GPUBENCH_DEVICE void clear(uint32 vectors) const {
        const int zeros = static_cast<int>(rows * vectors * parts / 2), all = zeros + static_cast<int>(rows + row_tags) / 4;
        const Word128 none = bit_cast<Word128>(Vector<uint32, 4>{no_row, no_row, no_row, no_row});
        together<row_threads>(all, [&](int i) { reinterpret_cast<Word128*>(sums)[i] = i < zeros ? Word128{} : none; });
    }
    // To the destination; a row's vectors by neighbouring lanes.
    GPUBENCH_DEVICE void flush(T* destination, const CachedRowsShape& shape) const {
        after_all<row_threads>(static_cast<int>(rows) * Lanes, [&](int i) {
            const uint32 place = i / Lanes, vector = i & (Lanes - 1);
            if (vector >= shape.vectors || keys[place] == no_row) return;
            Vector<uint64, parts> found;
            GPUBENCH_UNROLL
            for (int k = 0; k < parts; ++k) found[k] = *part(place, vector, k);
            atomic_add_vector(destination + keys[place] * shape.place_step + vector * V, pack_items<V, T>(bit_cast<Vector<A, V>>(found)));
        });
    }
};

// The warp's tiles of its block's part of the list, and their way to shared memory.
template <class T, class Index, int V, int Lanes>
struct RowTiles {
    static constexpr int groups = warp_size / Lanes, copies = Lanes < row_copies ? Lanes : row_copies;
    const T* source;  // the lane's vector of the first row of all
    const Index* index;
    const CopyRing<copies * warp_size, row_stages> ring;
    const CachedRowsShape& shape;
    const int lane, group;
    uint32 start, stop;  // the block's part

    GPUBENCH_DEVICE RowTiles(const T* from, const Index* list, Word128* memory, const CachedRowsShape& of)
        : index(list), ring{memory + thread_index_x() / warp_size * ring.size}, shape(of),
          lane(lane_index() & (Lanes - 1)), group(lane_index() / Lanes) {
        start = static_cast<uint32>(block_index_x()) * shape.range;
        stop = shape.count - start < shape.range ? shape.count : start + shape.range;
        source = from + lane * V;
    }
    GPUBENCH_DEVICE bool active() const { return Lanes == 1 || lane < static_cast<int>(shape.vectors); }
    GPUBENCH_DEVICE uint32 turns() const {
        const uint32 step = row_warps * shape.tile;
        return (stop - start + step - 1) / step;
    }
    GPUBENCH_DEVICE uint32 first(uint32 turn) const { return start + (turn * row_warps + thread_index_x() / warp_size) * shape.tile; }
    // Ask for a tile, be it empty.
    GPUBENCH_DEVICE void ask(uint32 turn) const {
        GPUBENCH_UNROLL
        for (int k = 0; k < copies; ++k) {
            const int row = k * groups + group;
            const uint32 at = first(turn) + row;
            if (row >= shape.tile || at >= stop || !active()) continue;
            ring.ask(turn, k * warp_size + lane_index(), source + at * shape.index_step);
        }
        ring.close_turn();
    }
    // The index of the lane's row of a tile; -1: none.
    GPUBENCH_DEVICE int64 place(uint32 turn) const {
        const uint32 at = first(turn) + lane_index();
        return lane_index() < shape.tile && at < stop ? static_cast<int64>(index[at]) : -1;
    }
    GPUBENCH_DEVICE Packed<T, V> vector(uint32 turn, int row) const {
        return ring.template read<Packed<T, V>>(turn, row * Lanes + lane);
    }
};

// How often the lane's rows found their sums, and how often such as come again found no place.
struct Found {
    int place = 0, none = 0;
};

// A tile's rows to the table, or the destination. key: of the lane's row, no_row: none.
template <class T, class Index, int V, int Lanes>
GPUBENCH_DEVICE void add_tile(const RowTable<T, V, Lanes>& table, const RowTiles<T, Index, V, Lanes>& tiles, uint32 turn, uint32 key,
                              T* destination, alpha_t<T> alpha, Found& found) {
    const uint32 equal = match_any(full_mask, key);
    GPUBENCH_UNROLL
    for (int k = 0; k < tiles.copies; ++k) {
        if (k * tiles.groups >= tiles.shape.tile) break;
        const int mine = k * tiles.groups + tiles.group;
        const uint32 row = Lanes == 1 ? key : shuffle(full_mask, key, mine);
        uint32 others = Lanes == 1 ? equal : shuffle(full_mask, equal, mine);
        if (!tiles.active() || row == no_row || count_trailing_zeros(others) < mine) continue;
        Vector<sum_t<T>, V> sums{};
        for (; others != 0; others &= others - 1) add_scaled<T, V>(sums, tiles.vector(turn, count_trailing_zeros(others)), alpha);
        const uint32 place = table.find(row, tiles.lane == 0);
        if (place < table.rows) {
            table.add(place, tiles.lane, sums);
            ++found.place;
            continue;
        }
        found.none += place == RowTable<T, V, Lanes>::is_full;
        atomic_add_vector(destination + row * tiles.shape.place_step + tiles.lane * V, pack_items<V, T>(sums));
    }
}

template <class T, class Index, int V, int Lanes>
GPUBENCH_DEVICE void add_rows(T* destination, const T* source, const Index* index, const CachedRowsShape& shape, Word128* memory) {
    const RowTiles<T, Index, V, Lanes> tiles(source, index, memory, shape);
    const RowTable<T, V, Lanes> table(memory + row_threads * row_stages * row_copies, shape);
    const alpha_t<T> alpha = alpha_of<T>(shape.alpha);
    Found found;
    int64 next = tiles.place(0);
    for (int turn = 0; turn < row_stages - 1; ++turn) tiles.ask(turn);
    table.clear(shape.vectors);
    const uint32 turns = tiles.turns();
    for (uint32 turn = 0; turn < turns; ++turn) {
        const int64 place = next;
        next = tiles.place(turn + 1);
        tiles.ask(turn + row_stages - 1);
        tiles.ring.await_turn();
        warp_barrier();
        add_tile(table, tiles, turn, place >= 0 && place < shape.places ? static_cast<uint32>(place) : no_row, destination, alpha, found);
        warp_barrier();
        if (turn % row_turns != row_turns - 1) continue;
        if (threads_that(found.none > found.place) > threads_that(found.place > found.none)) {
            in_turn([&] { table.flush(destination, shape); }, [&] { table.clear(shape.vectors); });
        }
        found = Found{};
    }
    table.flush(destination, shape);
}

template <class T, class Index, int V, int Lanes>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(row_threads, 1)
    add_cached_rows(T* destination, const T* source, const Index* index, const CachedRowsShape shape) {
    GPUBENCH_DYNAMIC_SHARED(Word128, memory);
    const int64 outer = block_index_y();
    add_rows<T, Index, V, Lanes>(destination + outer * shape.outer_place, source + outer * shape.outer_index, index, shape, memory);
}

// The same behind `partition_values`, for a list that it leaves.
template <class T, class Index, int V, int Lanes>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(row_threads, 1)
    add_cached_rows_if(const Way* way, T* destination, const T* source, const Index* index, const CachedRowsShape shape) {
    GPUBENCH_DYNAMIC_SHARED(Word128, memory);
    if (*way == Way::repeated) add_rows<T, Index, V, Lanes>(destination, source, index, shape, memory);
}

}  // namespace gpubench::index_add
