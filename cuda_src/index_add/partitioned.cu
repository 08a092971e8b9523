// index_add, variant `partitioned`: single elements into a destination beyond the L2 cache, by way of slices of it that fit a
// block's shared memory.
//
// Data: `partition_values`: blocks that are resident together read a tile of the list each; if all find theirs in order, nothing is
// moved. Otherwise grid/partition.cuh brings (index, value) pairs to the slices. `add_slices`: a block adds the pairs of one slice
// up in shared memory and adds the slice to the destination, side by side; several blocks share a slice that takes many more pairs
// than others, and add theirs by atomics. A list in order goes to the destination by atomics straight away. Why: the L2 cache
// takes 100 G scattered additions a second, 18 G where each brings its line from memory (H200), shared memory 440 G.
#include "gpubench/grid/partition.cuh"
#include "gpubench/movement/near_row.cuh"
#include "index_add/table.cuh"

namespace gpubench::index_add {

struct PartitionShape {
    Parting slices;
    uint32 count;  // indices
    uint32 range;  // of them, a block's
    int32 unused;
    int64 places;
    int64 index_step;  // elements between those of the source
    double alpha;
};
GPUBENCH_LAYOUT(PartitionShape, 56, alpha, 48);

// The row that an index names; no_key where it is outside the dim.
GPUBENCH_DEVICE uint32 row_inside(int64 row, const PartitionShape& shape) {
    return row >= 0 && row < shape.places ? static_cast<uint32>(row) : no_key;
}

// The tile that begins at `base`. `Looks`: false where its rows descend inside a warp's 32, or one is outside the dim.
template <bool Looks, int Items, class T, class Index>
GPUBENCH_DEVICE bool load_tile(PartTile<Items>& tile, const T* source, const Index* index, uint32 base, uint32 stop,
                               const PartitionShape& shape) {
    bool ordered = true;
    Index rows[Items];
    T values[Items];
    GPUBENCH_UNROLL
    for (int i = 0; i < Items; ++i) {
        const uint32 at = base + i * block_size_x() + thread_index_x();
        rows[i] = load_if(index + at, at < stop);
        values[i] = load_if(source + at * shape.index_step, at < stop);
    }
    GPUBENCH_UNROLL
    for (int i = 0; i < Items; ++i) {
        const bool exists = base + i * block_size_x() + thread_index_x() < stop;
        tile.rows[i] = exists ? row_inside(static_cast<int64>(rows[i]), shape) : no_key;
        tile.values[i] = uint32{bit_cast<Word<sizeof(T)>>(values[i])};
        if constexpr (!Looks) continue;
        const Index left = shuffle_up(full_mask, rows[i], 1);
        ordered = ordered && (!exists || (tile.rows[i] != no_key && (lane_index() == 0 || left <= rows[i])));
    }
    return ordered;
}

// kept: whether nothing was moved, and the number of units.
template <class T, class Index, int Warps, int Items>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(Warps * 32, 32 / Warps)
    partition_values(const T* source, const Index* index, uint64* meetings, uint32* totals, uint32* cursors, Pair* pairs, PartUnit* units,
                     uint32* kept, const PartitionShape shape) {
    GPUBENCH_DYNAMIC_SHARED(Pair, memory);
    const PartTables<Warps, Items> tables(memory, shape.slices.parts);
    const PartTotals counted{totals, cursors};
    const uint32 launch = grid_number(), start = block_index_x() * shape.range;
    const uint32 stop = start >= shape.count ? start : shape.count - start < shape.range ? shape.count : start + shape.range;
    PartTile<Items> tile;
    counted.clear(shape.slices.parts);
    const bool ordered = every_thread(load_tile<true>(tile, source, index, start, stop, shape));
    const bool stays = meet(meetings, launch, ordered);
    if (grid_thread() == 0) kept[0] = stays ? 1 : 0;
    if (stays) return;
    count_parts(tables, index, start, stop, shape.slices, [&](Index row) { return row_inside(static_cast<int64>(row), shape); });
    counted.take_counts(tables, shape.slices.parts);
    meet(meetings + grid_size_x(), launch);
    OwnParts<Warps> own(shape.slices.parts);
    const uint32 all = own.find_places(tables.exchange, counted, units, shape.slices.most);
    if (grid_thread() == 0) kept[1] = all;
    place_parts(tile, own, tables, counted, pairs, start, stop, shape.slices,
                [&](uint32 base) { load_tile<false>(tile, source, index, base, stop, shape); });
}

// The sums of a slice, in shared memory.
template <class T>
struct Slice {
    using A = sum_t<T>;
    A* sums;
    T* destination;  // of the slice
    uint32 first, size;

    // Thread by thread those elements that it flushed before.
    GPUBENCH_DEVICE void clear() const {
        together(static_cast<int>(size), [&](int i) { sums[i] = A{}; });
    }
    GPUBENCH_DEVICE void add(uint32 key, A value) const { atomic_add(sums + (key - first), value); }
    // Add the sums to the destination, by atomics where others do so too.
    GPUBENCH_DEVICE void flush(bool shared) const {
        constexpr int at_once = 8;
        const int tile = at_once * block_size_x(), tiles = (static_cast<int>(size) + tile - 1) / tile;
        after_all(tiles * block_size_x(), [&](int turn) {
            const uint32 base = (turn - thread_index_x()) * at_once + thread_index_x();
            T old[at_once];
            GPUBENCH_UNROLL
            for (int k = 0; k < at_once; ++k) {
                const uint32 i = base + k * block_size_x();
                old[k] = i < size && !shared ? destination[i] : T{};
            }
            GPUBENCH_UNROLL
            for (int k = 0; k < at_once; ++k) {
                const uint32 i = base + k * block_size_x();
                if (i >= size) continue;
                if (!shared) destination[i] = convert<T>(gpubench::add(convert<A>(old[k]), sums[i]));
                else if (sums[i] != A{}) atomic_add(destination + i, convert<T>(sums[i]));
            }
        });
    }
};

// Add a unit's pairs to its slice.
template <class T>
GPUBENCH_DEVICE void add_unit(const Slice<T>& slice, const Pair* pairs, const PartUnit& unit, alpha_t<T> alpha) {
    using A = sum_t<T>;
    constexpr int at_once = 8;
    Hot<A> hot{no_key, A{}, false};
    bool again = false;
    Pair next[at_once];
    const auto ask = [&](uint32 base) {
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) {
            const uint32 i = base + k * block_size_x() + thread_index_x();
            next[k] = i < unit.last ? pairs[i] : no_pair;
        }
    };
    ask(unit.first);
    for (uint32 base = unit.first; base < unit.last; base += at_once * block_size_x()) {
        Pair mine[at_once];
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) mine[k] = next[k];
        if (unit.last - base > at_once * block_size_x()) ask(base + at_once * block_size_x());
        if (base == unit.first) again = habit_of(row_of(mine[0])) != Habit::apart;
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) {
            const T value = bit_cast<T>(static_cast<Word<sizeof(T)>>(position_of(mine[k])));
            const Item<A> item{add_scaled<T>(A{}, convert<A>(value), alpha), row_of(mine[k])};
            if (again) hot.take(slice, item, static_cast<int>(base / block_size_x()) + k);
            else if (item.key != no_key) slice.add(item.key, item.value);
        }
        if (unit.last - base <= at_once * block_size_x()) break;
    }
    if (again && hot.used) hot.send([&](uint32 key, A total) { slice.add(key, total); });
}

// Add up a run of lanes that have one row; says whether the lane has all of it.
template <class A>
GPUBENCH_DEVICE bool sum_of_run(uint32 row, A& sum) {
    const bool ends = row != shuffle_down(full_mask, row, 1) || lane_index() == warp_size - 1;
    const uint32 before = ballot(full_mask, ends) & lanes_before();
    const int start = before != 0 ? 32 - count_leading_zeros(before) : 0;
    for (int delta = 1; any(full_mask, lane_index() - delta >= start); delta *= 2) {
        const A left = shuffle_up(full_mask, sum, delta);
        if (lane_index() - delta >= start) sum = add(left, sum);
    }
    return ends;
}

// A list in order, straight to the destination; what neighbouring lanes have of one place is added up before.
template <class T, class Index>
GPUBENCH_DEVICE void add_in_order(T* destination, const T* source, const Index* index, const PartitionShape& shape) {
    using A = sum_t<T>;
    constexpr int at_once = 8;
    const alpha_t<T> alpha = alpha_of<T>(shape.alpha);
    const uint32 tile = at_once * block_size_x();
    for (uint32 base = block_index_x() * tile; base < shape.count; base += grid_size_x() * tile) {
        int64 rows[at_once];
        T raw[at_once];
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) {
            const uint32 at = base + k * block_size_x() + thread_index_x();
            rows[k] = at < shape.count ? static_cast<int64>(index[at]) : -1;
            raw[k] = at < shape.count ? load<Cache::read_only>(source + at * shape.index_step) : T{};
        }
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) {
            const uint32 row = row_inside(rows[k], shape);
            A sum = row != no_key ? add_scaled<T>(A{}, convert<A>(raw[k]), alpha) : A{};
            if (sum_of_run(row, sum) && row != no_key) atomic_add(destination + row, convert<T>(sum));
        }
    }
}

template <class T, class Index>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(1024)
    add_slices(T* destination, const T* source, const Index* index, const Pair* pairs, const PartUnit* units, const uint32* kept,
               uint64* meetings, uint32 words, const PartitionShape shape) {
    GPUBENCH_DYNAMIC_SHARED(sum_t<T>, sums);
    if (grid_thread() < words) meetings[grid_thread()] = 0;
    if (kept[0] != 0) {
        add_in_order(destination, source, index, shape);
        return;
    }
    const uint32 size = shape.slices.size.divisor, all = kept[1];
    for (uint32 u = block_index_x(); u < all; u += grid_size_x()) {
        const PartUnit unit = units[u];
        const uint32 first = unit.part * size, left = static_cast<uint32>(shape.places) - first;
        const Slice<T> slice{sums, destination + first, first, left < size ? left : size};
        ask_lines(slice.destination, slice.size);
        slice.clear();
        add_unit(slice, pairs, unit, alpha_of<T>(shape.alpha));
        slice.flush(unit.shared != 0);
    }
}

}  // namespace gpubench::index_add
