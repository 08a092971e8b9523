// Elements on their way to a destination by atomics, those that come again added up in shared memory before: what shared_sums.cu and
// partitioned.cu share.
//
// A block takes tiles that follow each other. The first 32 elements of each warp show whether elements come again. If fewer than one in a
// hundred of the block's do, all go straight to the destination; so they do where they stand in order, but for warps that meet one place
// alone. Otherwise the block keeps sums in a table, one of two places a hash of the destination's element: one that finds both taken by
// others goes to the destination. What one warp meets again and again (an index that half of the list shares) a lane adds up in a
// register. At the end the table goes to the destination.
#pragma once

#include "gpubench/atomics.cuh"
#include "gpubench/block/together.cuh"
#include "gpubench/grid.cuh"
#include "gpubench/integer_divider.cuh"
#include "gpubench/warp.cuh"
#include "index_add/shared_places.cuh"
#include "index_add/sums.cuh"

namespace gpubench::index_add {

constexpr int cached_threads = 512;
template <class T>
constexpr bool is_small = is_integer<T> && sizeof(T) <= 2;  // added to by exchanging words
template <class T>
constexpr int items_at_once = is_small<T> ? 1 : 2;  // the sooner words are exchanged the better
constexpr uint32 no_key = 0xffffffffu;

struct CachedShape {
    IntegerDivider inner;  // elements of a row
    uint32 items;          // elements of one repetition of the source
    uint32 range;          // of them, a block's: whole tiles
    int32 hash_shift;      // 32 - log2 of the table's places
    int64 places;
    int64 place_step, index_step;  // elements between rows of the destination, of the source
    int64 outer_place, outer_index;
    double alpha;
};
GPUBENCH_LAYOUT(CachedShape, 72, alpha, 64);

// One element, or row of them, on its way to where the destination's stands, `key` of them from the first; no_key: none.
template <class A>
struct Item {
    A value;
    uint32 key;
};

template <class T>
struct Table {
    using A = sum_t<T>;
    A* sums;  // [places], and the keys behind them
    T* destination;
    const CachedShape& shape;
    uint32* keys;

    GPUBENCH_DEVICE Table(A* memory, T* to, const CachedShape& of)
        : sums(memory), destination(to), shape(of), keys(reinterpret_cast<uint32*>(memory + places())) {}

    GPUBENCH_DEVICE uint32 places() const { return 1u << (32 - shape.hash_shift); }
    GPUBENCH_DEVICE void send(uint32 key, A value) const {
        atomic_add_vector(destination + key, bit_cast<Packed<T, 1>>(convert<T>(value)));
    }
    // To the key's place in the table, or the neighbouring one, or the destination.
    GPUBENCH_DEVICE void add(uint32 key, A value) const {
        uint32 place = key * 2654435769u >> shape.hash_shift;
        GPUBENCH_UNROLL
        for (int probe = 0; probe < 2; ++probe) {
            uint32 seen = load_relaxed(keys + place);
            if (seen == no_key) seen = compare_exchange(keys + place, no_key, key);
            if (seen == no_key || seen == key) {
                atomic_add(sums + place, value);
                return;
            }
            place ^= 1;
        }
        send(key, value);
    }
    GPUBENCH_DEVICE void clear() const {
        together<cached_threads>(places(), [&](int i) {
            keys[i] = no_key;
            sums[i] = A{};
        });
    }
    GPUBENCH_DEVICE void flush() const {
        after_all<cached_threads>(places(), [&](int i) {
            if (keys[i] != no_key) send(keys[i], sums[i]);
        });
    }
};

// A warp's sum for the element, or row, that its lanes met most lately in numbers. A: its sum, or Vector of sums.
template <class A>
struct Hot {
    uint32 key;
    A sum;      // the lane's
    bool used;  // whether any lane may have one

    // Give the warp's sum away: `give(key, total)`, by one lane.
    template <class Give>
    GPUBENCH_DEVICE void send(const Give& give) {
        const A total = sum_of_lanes(sum);
        if (lane_index() == 0) give(key, total);
        sum = A{};
        used = false;
    }
    // So many lanes met the element: where they are few, another takes its place, what a lane has in this turn.
    template <class Give>
    GPUBENCH_DEVICE void go_on(int met, uint32 lanes_key, int turn, const Give& give) {
        used = used || met > 0;
        if (met >= 4) return;
        if (used) send(give);
        key = shuffle(full_mask, lanes_key, turn & (warp_size - 1));
    }
    template <class Target>
    GPUBENCH_DEVICE void take(const Target& table, const Item<A>& item, int turn) {
        const bool mine = item.key == key && key != no_key;
        const int met = population_count(ballot(full_mask, mine));
        if (mine) add_to(sum, item.value);
        else if (item.key != no_key) table.add(item.key, item.value);
        go_on(met, item.key, turn, [&](uint32 to, A total) { table.add(to, total); });
    }
};

// What `partitioned` does with a list: the last is left to a launch of shared_sums.cu.
enum class Way : uint32 { moved, ordered, repeated };

// What the first elements of a block's warps say: that few come again, that they stand in order, or that many come again.
enum class Habit { apart, ordered, again };

GPUBENCH_DEVICE Habit habit_of(uint32 key) {
    const uint32 left = shuffle_up(full_mask, key, 1);
    const int equal = population_count(match_any(full_mask, key));
    const bool again = key != no_key && equal > 1;
    const bool descends = lane_index() > 0 && key < left;
    const int found = threads_that(again) * 100;
    if (found < cached_threads) return Habit::apart;
    return any_thread(descends) ? Habit::again : Habit::ordered;
}

// An element of a list in order. What neighbouring lanes have of one place is added up before; warps that meet one place alone keep its
// sum, a part a lane, until they meet another one.
template <class T>
GPUBENCH_DEVICE void send_ordered(const Table<T>& table, Hot<sum_t<T>>& hot, const Item<sum_t<T>>& item) {
    const uint32 first = shuffle(full_mask, item.key, 0);
    if (!all(full_mask, item.key == first)) {
        Vector<sum_t<T>, 1> sum{item.value};
        if (sum_of_run(item.key, sum) && item.key != no_key) table.send(item.key, sum[0]);
        return;
    }
    if (first != hot.key) {
        if (hot.used) hot.send([&](uint32 key, sum_t<T> total) { table.send(key, total); });
        hot = {first, sum_t<T>{}, first != no_key};
    }
    hot.sum = gpubench::add(hot.sum, item.value);
}

// Add the elements of the block's range. `load(items, at)` brings those at, at + threads ... A list may go on as it does not begin: what a
// range's first tile says is said of its neighbours alone.
template <class T, class Load>
GPUBENCH_DEVICE void add_through_table(const Table<T>& table, const Load& load) {
    using A = sum_t<T>;
    constexpr uint32 tile = cached_threads * items_at_once<T>;
    Item<A> items[items_at_once<T>];
    Hot<A> hot{no_key, A{}, false};
    const uint32 start = static_cast<uint32>(block_index_x()) * table.shape.range, left = table.shape.items - start;
    const uint32 stop = start + (left < table.shape.range ? left : table.shape.range);
    Habit habit = Habit::apart;
    for (uint32 base = start; base < stop; base += tile) {
        load(items, base + thread_index_x());
        if (base == start) {
            habit = habit_of(items[0].key);
            if (habit == Habit::again) table.clear();
        }
        GPUBENCH_UNROLL
        for (int k = 0; k < items_at_once<T>; ++k) {
            if (habit == Habit::again) hot.take(table, items[k], static_cast<int>((base - start) / tile) + k);
            else if (habit == Habit::ordered) send_ordered(table, hot, items[k]);
            else if (items[k].key != no_key) table.send(items[k].key, items[k].value);
        }
        if (stop - base <= tile) break;
    }
    if (habit == Habit::apart || (habit == Habit::ordered && !any_thread(hot.used))) return;
    if (habit == Habit::ordered) table.clear();
    if (hot.used) hot.send([&](uint32 key, A total) { table.add(key, total); });
    table.flush();
}

}  // namespace gpubench::index_add
