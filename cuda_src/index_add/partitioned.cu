// index_add, variant `partitioned`: single elements into a destination beyond the L2 cache, by way of slices of it that fit a
// block's shared memory.
//
// Data: `partition_values`: blocks that are resident together look at a sample of the list each; if all find theirs in order, nothing is
// moved. Otherwise grid/partition.cuh brings (index, value) pairs to the slices; what finds no room there goes to the destination by
// atomics, added up before where it comes to few places. `add_slices`: a block adds the pairs of one slice up in shared memory and adds
// the slice to the destination, side by side; several blocks share a slice that takes many more pairs than others, and add theirs by
// atomics. A list in order goes to the destination by atomics straight away. Why: the L2 cache takes 100 G scattered additions a second,
// 18 G where each brings its line from memory (H200), shared memory 440 G.
#include "gpubench/grid/partition.cuh"
#include "gpubench/movement/near_row.cuh"
#include "index_add/shared_places.cuh"
#include "index_add/table.cuh"

namespace gpubench::index_add {

struct PartitionShape {
    Parting slices;
    uint32 count;  // indices
    uint32 range;  // of them, a block's
    uint32 near;   // places over which 32 neighbours of a list in order reach at most
    uint32 unused;
    int64 places;
    int64 index_step;  // elements between those of the source
    double alpha;
};
GPUBENCH_LAYOUT(PartitionShape, 72, alpha, 64);

// The row that an index names; no_key where it is outside the dim.
GPUBENCH_DEVICE uint32 row_inside(int64 row, const PartitionShape& shape) {
    return row >= 0 && row < shape.places ? static_cast<uint32>(row) : no_key;
}
GPUBENCH_DEVICE uint32 located(int64 row, const PartitionShape& shape) {
    const uint32 place = shape.slices.locate(static_cast<uint32>(row));
    return row >= 0 && row < shape.places ? place : shape.slices.nowhere();
}

// Whether a sample of the block's range is inside the dim and does not descend inside a warp's 32, and few of its threads find their row
// beyond `near` places from their warp's first: a list of sorted pieces that each reach over all places had better be moved, one that
// leaves places out now and then not. Eight rows of the block's threads, one somewhere in each eighth of the range. By all threads.
template <class Index>
GPUBENCH_DEVICE bool in_order(const Index* index, uint32 start, uint32 stop, const PartitionShape& shape) {
    constexpr uint32 looks = 8, few = 8;  // an eighth of the threads
    Index rows[looks];
    bool ordered = true, far = false;
    const uint32 stratum = (stop - start) / looks, room = stratum > block_size_x() ? stratum - block_size_x() : 0;
    const auto place = [&](uint32 k) {
        return start + k * stratum + sampled_place(start + k, shape.count, room + 1) + thread_index_x();
    };
    GPUBENCH_UNROLL
    for (uint32 k = 0; k < looks; ++k) rows[k] = load_if(index + place(k), place(k) < stop);
    GPUBENCH_UNROLL
    for (uint32 k = 0; k < looks; ++k) {
        const uint32 row = row_inside(static_cast<int64>(rows[k]), shape), left = shuffle_up(full_mask, row, 1);
        const uint32 first = shuffle(full_mask, row, 0);
        if (place(k) >= stop) continue;
        ordered = ordered && row != no_key && (lane_index() == 0 || left <= row);
        far = far || row - first > shape.near;
    }
    return every_thread(ordered) && threads_that(far) * few <= static_cast<int>(block_size_x());
}

// alpha times the value that a pair bears.
template <class T>
GPUBENCH_DEVICE sum_t<T> term_of(Pair pair, alpha_t<T> alpha) {
    const T value = bit_cast<T>(static_cast<Word<sizeof(T)>>(position_of(pair)));
    return add_scaled<T>(sum_t<T>{}, convert<sum_t<T>>(value), alpha);
}

// What finds no room in its slice's list goes to the destination, by whole warps. A place that four lanes meet again and again they add
// up; what else neighbouring lanes have of one place is added up before its atomic: a list made against the sample may name one place
// alone in all that the sample does not see.
template <class T, int Warps, int Items>
GPUBENCH_DEVICE void add_left_over(T* destination, const LeftPairs<Warps, Items>& pairs, const PartitionShape& shape) {
    using A = sum_t<T>;
    const alpha_t<T> alpha = alpha_of<T>(shape.alpha);
    Hot<A> hot{no_key, A{}, false};
    const auto give = [&](uint32 key, A value) { atomic_add(destination + key, convert<T>(value)); };
    for (uint32 base = 0; base < pairs.total; base += block_size_x()) {
        Pair pair = no_pair;
        const bool left = pairs.find(pair, base + thread_index_x());
        const uint32 key = left ? part_of(row_of(pair)) * shape.slices.size.divisor + offset_of(row_of(pair)) : no_key;
        Vector<A, 1> sums{left ? term_of<T>(pair, alpha) : A{}};
        const bool mine = left && key == hot.key;
        const int met = population_count(ballot(full_mask, mine));
        if (mine) hot.sum = gpubench::add(hot.sum, sums[0]);
        if (add_up_shared(left && !mine ? static_cast<int32>(key) : -1, sums, 1)) give(key, sums[0]);
        hot.go_on(met, key, static_cast<int>(base / block_size_x()), give);
    }
    if (hot.used) hot.send(give);
}

// kept: whether nothing was moved, and the number of units.
template <class T, class Index, int Warps, int Items>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(Warps * 32, 32 / Warps)
    partition_values(T* destination, const T* source, const Index* index, uint64* meetings, uint32* table, Pair* pairs, PartUnit* units,
                     uint32* kept, const PartitionShape shape) {
    GPUBENCH_DYNAMIC_SHARED(Pair, memory);
    const Parting& slices = shape.slices;
    const PartTables<Warps, Items> tables(memory, slices);
    const PartLists lists(table, pairs, slices.parts);
    const uint32 launch = grid_number(), start = block_index_x() * shape.range;
    const uint32 stop = start >= shape.count ? start : shape.count - start < shape.range ? shape.count : start + shape.range;
    lists.clear(slices.parts);
    const bool stays = meet(meetings, launch, in_order(index, start, stop, shape));
    if (grid_thread() == 0) kept[0] = stays ? 1 : 0;
    if (stays) return;
    sample_parts(tables, lists, index, start, stop, shape.count, slices.parts,
                 [&](Index row) { return located(static_cast<int64>(row), shape); });
    meet(meetings + grid_size_x(), launch);
    const uint32 tiles = (shape.range + slices.step - 1) / slices.step * grid_size_x();
    const uint32 all = find_rooms(tables, lists, units, tiles, slices);
    if (grid_thread() == 0) kept[1] = all;
    meet(meetings + 2 * grid_size_x(), launch);
    const auto load = [&](PartTile<Items>& tile, uint32 base, uint32 end) {
        Index rows[Items];
        T values[Items];
        const auto place = [&](int i) { return base + i * tables.threads + thread_index_x(); };
        GPUBENCH_UNROLL
        for (int i = 0; i < Items; ++i) {
            rows[i] = load_if(index + place(i), place(i) < end);
            values[i] = load_if(source + place(i) * shape.index_step, place(i) < end);
        }
        GPUBENCH_UNROLL
        for (int i = 0; i < Items; ++i) {
            tile.rows[i] = located(place(i) < end ? static_cast<int64>(rows[i]) : -1, shape);
            tile.values[i] = uint32{bit_cast<Word<sizeof(T)>>(values[i])};
        }
    };
    const auto left_over = [&](const LeftPairs<Warps, Items>& pairs_left) { add_left_over(destination, pairs_left, shape); };
    place_parts(tables, lists, start, stop, slices, load, left_over);
}

// The sums of a slice, in shared memory.
template <class T>
struct Slice {
    using A = sum_t<T>;
    A* sums;
    T* destination;  // of the slice
    uint32 size;

    GPUBENCH_DEVICE void add(uint32 key, A value) const { atomic_add(sums + key, value); }
    // Ask for the destination into the L2 cache, a third in each of the last three turns: what is asked for earlier is gone again.
    GPUBENCH_DEVICE void ask(uint32 turns_left) const {
        const uint32 third = size / 3, from = (2 - turns_left) * third;
        if (turns_left < 3) ask_sectors(destination, from, turns_left == 0 ? size : from + third);
    }
    // Add the sums to the destination, by atomics where others do so too, and clear them.
    GPUBENCH_DEVICE void flush(bool shared) const {
        constexpr int at_once = 8;
        for (uint32 base = thread_index_x(); base < size; base += at_once * block_size_x()) {
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
                const A sum = sums[i];
                sums[i] = A{};
                if (!shared) destination[i] = convert<T>(gpubench::add(convert<A>(old[k]), sum));
                else if (sum != A{}) atomic_add(destination + i, convert<T>(sum));
            }
        }
    }
};

// Add pairs first ... last - 1 to their slice. They are read once: the L2 cache gives them up before the destination.
template <class T>
GPUBENCH_DEVICE void add_pairs(const Slice<T>& slice, const Pair* pairs, uint32 first, uint32 last, alpha_t<T> alpha) {
    using A = sum_t<T>;
    constexpr int at_once = 8;
    const uint32 step = at_once * block_size_x();
    Hot<A> hot{no_key, A{}, false};
    bool again = false;
    Pair next[at_once];
    const auto ask = [&](uint32 base) {
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) {
            const uint32 i = base + k * block_size_x() + thread_index_x();
            next[k] = load_existing<true>(pairs + i, i < last);
        }
    };
    ask(first);
    for (uint32 base = first; base < last; base += step) {
        Pair mine[at_once];
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) mine[k] = next[k];
        const uint32 turns_left = (last - base - 1) / step;
        if (turns_left > 0) ask(base + step);
        slice.ask(turns_left);
        const auto key = [&](int k) {
            const uint32 offset = offset_of(row_of(mine[k]));
            return base + k * block_size_x() + thread_index_x() < last && offset != no_offset ? offset : no_key;
        };
        if (base == first) again = habit_of(key(0)) != Habit::apart;
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) {
            const Item<A> item{term_of<T>(mine[k], alpha), key(k)};
            if (again) hot.take(slice, item, static_cast<int>(base / block_size_x()) + k);
            else if (item.key != no_key) slice.add(item.key, item.value);
        }
        if (turns_left == 0) break;
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
    add_slices(T* destination, const T* source, const Index* index, uint32* table, Pair* pairs, const PartUnit* units,
               const uint32* kept, uint64* meetings, uint32 words, const PartitionShape shape) {
    GPUBENCH_DYNAMIC_SHARED(sum_t<T>, sums);
    if (grid_thread() < words) meetings[grid_thread()] = 0;
    if (kept[0] != 0) {
        add_in_order(destination, source, index, shape);
        return;
    }
    const PartLists lists(table, pairs, shape.slices.parts);
    const uint32 size = shape.slices.size.divisor, all = kept[1];
    together(static_cast<int>(size), [&](int i) { sums[i] = sum_t<T>{}; });
    for (uint32 u = block_index_x(); u < all; u += grid_size_x()) {
        const PartUnit unit = units[u];
        const PartLists::Range range = lists.range_of(unit);
        if (range.first == range.last) continue;
        const uint32 first = unit.part * size, left = static_cast<uint32>(shape.places) - first;
        const Slice<T> slice{sums, destination + first, left < size ? left : size};
        in_turn([&] { add_pairs(slice, pairs, range.first, range.last, alpha_of<T>(shape.alpha)); },
                [&] { slice.flush(unit.pieces > 1); });
    }
}

}  // namespace gpubench::index_add
