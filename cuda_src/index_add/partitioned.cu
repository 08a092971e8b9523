// index_add, variant `partitioned`: single elements and short rows, of up to 16 bytes, into a destination beyond the L2 cache, by way of
// slices of it that fit a block's shared memory. V: elements of a row; complex numbers are two of their parts.
//
// Data: `partition_values`: blocks that are resident together look at a sample of the list each, and choose a way for all of it. Where few
// places come again in a warp of the sample, grid/partition.cuh brings indices and the bytes of their rows to the slices; what finds no
// room there goes to the destination by atomics, added up before where it comes to few places. `add_slices`: a block adds the rows of one
// slice up in shared memory and adds the slice to the destination, side by side; several blocks share a slice that takes many more rows
// than others, and add theirs by atomics. A list in order goes to the destination by atomics straight away; one of which many places come
// again, or one place often, is left to the third launch, of shared_sums.cu or row_table.cuh: a block's table has those. Why: the L2 cache
// takes 100 G scattered additions a second, 18 G where each brings its line from memory (H200), shared memory 440 G.
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
    uint32 room;   // entries of all lists
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

// What stands in the workspace for the launches behind this one, and what the blocks count.
struct Chosen {
    Way way;
    uint32 units;
    uint32 again, alone;  // of the sample: see Repeats

    // Behind a meeting: of `sampled` rows. Of 2^22 to 2^24 rows by 1 / rank 2 to 4 in a hundred come again beside the place that does most
    // often, of even ones and of a single hot place's next to none.
    // Small integers in order are the table's, too: more threads of an SM wait for words that they exchange.
    // hot: lanes of a warp that one place has, from which moving the others costs more than the table takes.
    template <class T>
    GPUBENCH_DEVICE Way choose(bool ordered, uint32 sampled, int hot) const {
        if (uint64{load_relaxed(&alone)} * warp_size > uint64{sampled} * hot) return Way::repeated;
        if (ordered) return is_small<T> ? Way::repeated : Way::ordered;
        return uint64{load_relaxed(&again)} * 100 > sampled ? Way::repeated : Way::moved;
    }
};

// Whether a sample of the block's range is inside the dim and does not descend inside a warp's 32, and few of its threads find their row
// beyond `near` places from their warp's first: a list of sorted pieces that each reach over all places had better be moved, one that
// leaves places out now and then not. Eight rows of a warp, one somewhere in each eighth of the range. By all threads.
template <class Index>
GPUBENCH_DEVICE bool in_order(const Index* index, uint32 start, uint32 stop, uint32 seed, const PartitionShape& shape) {
    constexpr uint32 looks = 8, few = 8;  // an eighth of the threads
    Index rows[looks];
    bool ordered = true, far = false;
    const uint32 stratum = (stop - start) / looks, room = stratum > block_size_x() ? stratum - block_size_x() : 0;
    const auto place = [&](uint32 k) {
        return start + k * stratum + sampled_place(start + k, seed, room + 1) + thread_index_x();
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

// The words that a row's bytes fill, and how many rows of a slice a thread has on their way: as many words of any.
template <class T, int V>
constexpr int words_of = sizeof(T) * V <= 4 ? 1 : static_cast<int>(sizeof(T)) * V / 4;
template <class T, int V>
constexpr int rows_at_once = 8 / words_of<T, V>;

template <class T, int V>
using RowSums = Vector<sum_t<T>, V>;
template <class T, int V>
using RowEntry = PartEntry<words_of<T, V>>;

// alpha times a row, and the row that an entry bears.
template <class T, int V>
GPUBENCH_DEVICE RowSums<T, V> terms_of(const Packed<T, V>& row, alpha_t<T> alpha) {
    RowSums<T, V> sums{};
    add_scaled<T, V>(sums, row, alpha);
    return sums;
}
template <class T, int V>
GPUBENCH_DEVICE RowSums<T, V> terms_of(const RowEntry<T, V>& entry, alpha_t<T> alpha) {
    return terms_of<T, V>(bit_cast<Packed<T, V>>(static_cast<Word<sizeof(T) * V>>(value_of(entry))), alpha);
}

// Sums to a row of the destination, in accesses as large as the machine has.
template <class T, int V>
GPUBENCH_DEVICE void give_row(T* destination, uint32 row, const RowSums<T, V>& sums) {
    if constexpr (V == 1) atomic_add(destination + row, convert<T>(sums[0]));
    else atomic_add_vector(destination + uint64{row} * V, pack_items<V, T>(sums));
}

// What finds no room in its slice's list goes to the destination, by whole warps. A place that four lanes meet again and again they add
// up; what else neighbouring lanes have of one place is added up before its atomic: a list made against the sample may name one place
// alone in all that the sample does not see.
template <class T, int V, int Warps, int Items>
GPUBENCH_DEVICE void add_left_over(T* destination, const LeftEntries<Warps, Items, words_of<T, V>>& entries, const PartitionShape& shape) {
    using A = RowSums<T, V>;
    const alpha_t<T> alpha = alpha_of<T>(shape.alpha);
    Hot<A> hot{};
    const auto give = [&](uint32 key, const A& sums) { give_row<T, V>(destination, key, sums); };
    for (uint32 base = 0; base < entries.total; base += block_size_x()) {
        RowEntry<T, V> entry = make_entry<words_of<T, V>>(no_key, {});
        const bool left = entries.find(entry, base + thread_index_x());
        const uint32 key = left ? part_of(row_of(entry)) * shape.slices.size.divisor + offset_of(row_of(entry)) : no_key;
        A sums = left ? terms_of<T, V>(entry, alpha) : A{};
        const bool mine = hot.takes(key, static_cast<int>(base / block_size_x()), give);
        if (mine) add_to(hot.sum, sums);
        if (add_up_shared(left && !mine ? static_cast<int32>(key) : -1, sums, 1)) give(key, sums);
    }
    if (hot.used) hot.send(give);
}

template <class T, int V, class Index, int Warps, int Items>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(Warps * 32, 32 / Warps)
    partition_values(T* destination, const T* source, const Index* index, uint64* meetings, uint32* table, uint64* entries,
                     PartUnit* units, Chosen* kept, const PartitionShape shape) {
    constexpr int words = words_of<T, V>;
    GPUBENCH_DYNAMIC_SHARED(uint64, memory);
    const Parting& slices = shape.slices;
    const PartTables<Warps, Items, words> tables(memory, slices);
    const PartLists<words> lists(table, entries, shape.room, slices.parts);
    const uint32 launch = grid_number(), start = block_index_x() * shape.range;
    const uint32 stop = start >= shape.count ? start : shape.count - start < shape.range ? shape.count : start + shape.range;
    lists.clear(slices.parts);
    if (grid_thread() == 0) kept->again = kept->alone = 0;
    const uint32 seed = sampling_seed(shape.count);
    const bool ordered = meet(meetings, launch, in_order(index, start, stop, seed, shape));
    constexpr int hot = words == 4 && sizeof(T) < 8 && !is_integer<T> ? 12 : 24;  // such rows have a table of rows (row_table.cuh)
    const Repeats repeats = sample_parts(tables, lists, index, start, stop, seed, slices.parts, hot,
                                         [&](Index row) { return located(static_cast<int64>(row), shape); });
    if (lane_index() == 0 && repeats.again > 0) atomic_add(&kept->again, repeats.again);
    if (lane_index() == 0 && repeats.alone > 0) atomic_add(&kept->alone, repeats.alone);
    meet(meetings + grid_size_x(), launch);
    const Way way = kept->choose<T>(ordered, shape.count / sample_share, hot);
    if (grid_thread() == 0) kept->way = way;
    if (way != Way::moved) return;
    const uint32 tiles = (shape.range + slices.step - 1) / slices.step * grid_size_x();
    const uint32 all = find_rooms(tables, lists, units, tiles, slices);
    if (grid_thread() == 0) kept->units = all;
    meet(meetings + 2 * grid_size_x(), launch);
    const auto load = [&](PartTile<Items, words>& tile, uint32 base, uint32 end) {
        Index rows[Items];
        Packed<T, V> values[Items];
        const auto place = [&](int i) { return base + i * tables.threads + thread_index_x(); };
        GPUBENCH_UNROLL
        for (int i = 0; i < Items; ++i) {
            rows[i] = load_if(index + place(i), place(i) < end);
            values[i] = vector_if<V>(source + place(i) * shape.index_step, place(i) < end);
        }
        GPUBENCH_UNROLL
        for (int i = 0; i < Items; ++i) {
            tile.rows[i] = located(place(i) < end ? static_cast<int64>(rows[i]) : -1, shape);
            tile.values[i] = Word<4 * words>{bit_cast<Word<sizeof(T) * V>>(values[i])};
        }
    };
    const auto left_over = [&](const LeftEntries<Warps, Items, words>& left) { add_left_over<T, V>(destination, left, shape); };
    place_parts(tables, lists, start, stop, slices, load, left_over);
}

// The sums of a slice, in shared memory: of all rows' first elements, then of all second ones, so that lanes that add to rows anywhere
// meet a bank no more often than single elements would.
template <class T, int V>
struct Slice {
    using A = sum_t<T>;
    A* sums;
    T* destination;  // of the slice
    uint32 size;     // places
    uint32 apart;    // of most slices: from one element's sums to those of the next

    GPUBENCH_DEVICE void add(uint32 key, const Vector<A, V>& values) const {
        GPUBENCH_UNROLL
        for (int j = 0; j < V; ++j) atomic_add(sums + j * apart + key, values[j]);
    }
    // Ask for the destination into the L2 cache, a third in each of the last three turns: what is asked for earlier is gone again.
    GPUBENCH_DEVICE void ask(uint32 turns_left) const {
        const uint32 elements = size * V, third = elements / 3, from = (2 - turns_left) * third;
        if (turns_left < 3) ask_sectors(destination, from, turns_left == 0 ? elements : from + third);
    }
    // Take a row's sums, and leave zeros.
    GPUBENCH_DEVICE Vector<A, V> take(uint32 key) const {
        Vector<A, V> row;
        GPUBENCH_UNROLL
        for (int j = 0; j < V; ++j) {
            row[j] = sums[j * apart + key];
            sums[j * apart + key] = A{};
        }
        return row;
    }
    GPUBENCH_DEVICE static bool is_there(const Vector<A, V>& row) {
        bool any = false;
        GPUBENCH_UNROLL
        for (int j = 0; j < V; ++j) any = any || row[j] != A{};
        return any;
    }
    // Add the sums to the destination, by atomics where others do so too, and clear them.
    GPUBENCH_DEVICE void flush(bool shared) const {
        constexpr int at_once = rows_at_once<T, V>;
        for (uint32 base = thread_index_x(); base < size; base += at_once * block_size_x()) {
            Packed<T, V> old[at_once];
            GPUBENCH_UNROLL
            for (int k = 0; k < at_once; ++k) {
                const uint32 i = base + k * block_size_x();
                old[k] = row_vector<V>(destination + i * V, i < size && !shared);
            }
            GPUBENCH_UNROLL
            for (int k = 0; k < at_once; ++k) {
                const uint32 i = base + k * block_size_x();
                if (i >= size) continue;
                const Vector<A, V> row = take(i);
                if (!shared) store_packed(destination + i * V, added(old[k], row));
                else if (is_there(row)) give_row<T, V>(destination, i, row);
            }
        }
    }
};

// Add entries first ... last - 1 to their slice. They are read once: the L2 cache gives them up before the destination.
template <class T, int V>
GPUBENCH_DEVICE void add_entries(const Slice<T, V>& slice, const PartEntries<words_of<T, V>>& entries, uint32 first, uint32 last,
                                 alpha_t<T> alpha) {
    using A = RowSums<T, V>;
    constexpr int at_once = rows_at_once<T, V>;
    const uint32 step = at_once * block_size_x();
    Hot<A> hot{};
    const auto give = [&](uint32 key, const A& sums) { slice.add(key, sums); };
    bool again = false;
    RowEntry<T, V> next[at_once];
    const auto ask = [&](uint32 base) {
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) {
            const uint32 i = base + k * block_size_x() + thread_index_x();
            next[k] = entries.take(i, i < last);
        }
    };
    ask(first);
    for (uint32 base = first; base < last; base += step) {
        RowEntry<T, V> mine[at_once];
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) mine[k] = next[k];
        const uint32 turns_left = (last - base - 1) / step;
        if (turns_left > 0) ask(base + step);
        slice.ask(turns_left);
        const auto key = [&](int k) {
            const uint32 offset = offset_of(row_of(mine[k]));
            return base + k * block_size_x() + thread_index_x() < last && offset != no_offset ? offset : no_key;
        };
        if (base == first) again = Look(key(0), last - first).habit(last - first) != Habit::apart;
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) {
            const Item<A> item{terms_of<T, V>(mine[k], alpha), key(k)};
            if (again) hot.take(item, static_cast<int>(base / block_size_x()) + k, give);
            else if (item.key != no_key) give(item.key, item.value);
        }
        if (turns_left == 0) break;
    }
    if (again && hot.used) hot.send(give);
}

// A list in order, straight to the destination; what neighbouring lanes have of one place is added up before.
template <class T, int V, class Index>
GPUBENCH_DEVICE void add_in_order(T* destination, const T* source, const Index* index, const PartitionShape& shape) {
    constexpr int at_once = rows_at_once<T, V>;
    const alpha_t<T> alpha = alpha_of<T>(shape.alpha);
    const uint32 tile = at_once * block_size_x();
    for (uint32 base = block_index_x() * tile; base < shape.count; base += grid_size_x() * tile) {
        int64 rows[at_once];
        Packed<T, V> raw[at_once];
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) {
            const uint32 at = base + k * block_size_x() + thread_index_x();
            rows[k] = at < shape.count ? static_cast<int64>(index[at]) : -1;
            raw[k] = row_vector<V, Cache::read_only>(source + at * shape.index_step, at < shape.count);
        }
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) {
            const uint32 row = row_inside(rows[k], shape);
            RowSums<T, V> sums = row != no_key ? terms_of<T, V>(raw[k], alpha) : RowSums<T, V>{};
            const uint32 ends = ends_of_runs(row, shuffle_down(full_mask, row, 1));
            if (sum_of_run(ends, sums) && row != no_key) give_row<T, V>(destination, row, sums);
        }
    }
}

template <class T, int V, class Index>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(1024)
    add_slices(T* destination, const T* source, const Index* index, uint32* table, uint64* entries, const PartUnit* units,
               const Chosen* kept, uint64* meetings, uint32 words, const PartitionShape shape) {
    GPUBENCH_DYNAMIC_SHARED(sum_t<T>, sums);
    if (grid_thread() < words) meetings[grid_thread()] = 0;
    if constexpr (!is_small<T>) {
        if (kept->way == Way::ordered) add_in_order<T, V>(destination, source, index, shape);
    }
    if (kept->way != Way::moved) return;
    const PartLists<words_of<T, V>> lists(table, entries, shape.room, shape.slices.parts);
    const uint32 size = shape.slices.size.divisor, all = kept->units;
    together(static_cast<int>(size * V), [&](int i) { sums[i] = sum_t<T>{}; });
    for (uint32 u = block_index_x(); u < all; u += grid_size_x()) {
        const PartUnit unit = units[u];
        const auto range = lists.range_of(unit);
        if (range.first == range.last) continue;
        const uint32 first = unit.part * size, left = static_cast<uint32>(shape.places) - first;
        const Slice<T, V> slice{sums, destination + uint64{first} * V, left < size ? left : size, size};
        in_turn([&] { add_entries(slice, lists.entries, range.first, range.last, alpha_of<T>(shape.alpha)); },
                [&] { slice.flush(unit.pieces > 1); });
    }
}

}  // namespace gpubench::index_add
