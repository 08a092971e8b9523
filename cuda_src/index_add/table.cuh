// Elements on their way to a destination by atomics, those that come again added up in shared memory before: what shared_sums.cu and
// partitioned.cu share.
//
// A block takes tiles that follow each other. The first 32 elements of each warp show whether elements come again. If too few of the
// block's do, all go straight to the destination; so they do where they stand in order, but for warps that meet one place alone.
// Otherwise the block keeps sums in a table, one of two places a hash of the destination's element: one that finds both taken by others
// goes to the destination. What one warp meets again and again (an index that half of the list shares) a lane adds up in a register, from
// the first elements on if these show it. At the end the table goes to the destination. A warp whose first elements have places of their
// own does not wait for the block; one whose part of the list goes on otherwise leaves the block's way for itself: a shuffle and a vote
// say how often what one of its lanes has comes to the others.
#pragma once

#include "gpubench/atomics.cuh"
#include "gpubench/block/together.cuh"
#include "gpubench/grid.cuh"
#include "gpubench/integer_divider.cuh"
#include "gpubench/movement/near_row.cuh"
#include "gpubench/warp.cuh"
#include "index_add/shared_places.cuh"
#include "index_add/sums.cuh"

namespace gpubench::index_add {

constexpr int cached_threads = 512;
template <class T>
constexpr bool is_small = is_integer<T> && sizeof(T) <= 2;  // added to by exchanging words
template <class T>
constexpr int items_at_once = is_small<T> ? 1 : 2;  // the sooner words are exchanged the better
constexpr uint32 no_key = no_row;

struct CachedShape {
    IntegerDivider inner;  // elements of a row
    uint32 items;          // elements of one repetition of the source
    uint32 range;          // of them, a block's: whole tiles
    uint32 asked;          // elements of one repetition of the destination that blocks ask for before they know where to add
    int32 hash_shift;      // 32 - log2 of the table's places
    int64 places;
    int64 place_step, index_step;  // elements between rows of the destination, of the source
    int64 outer_place, outer_index;
    double alpha;
};
GPUBENCH_LAYOUT(CachedShape, 80, alpha, 72);

// One element, or row of them, on its way to where the destination's stands, `key` of them from the first; no_key: none.
template <class A>
struct Item {
    A value;
    uint32 key;
};

// Ask for the first elements of a repetition of the destination into the L2 cache, its blocks together.
template <class T>
GPUBENCH_DEVICE void ask_together(const T* destination, uint32 elements) {
    const uint32 thread = static_cast<uint32>(block_index_x()) * cached_threads + thread_index_x();
    ask_sectors(destination, 0, elements, thread, static_cast<uint32>(grid_size_x()) * cached_threads);
}

// What threads do until their elements come.
enum class Meanwhile { wait, ask, ask_and_clear };

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
    // What lanes of a warp have, where neighbours mostly stand side by side: two 16-bit floats of one word by one atomic.
    GPUBENCH_DEVICE void send_pairs(uint32 key, A value) const {
        if constexpr (is_half<T>) {
            const uint32 behind = shuffle_down(full_mask, key, 1);
            const A next = shuffle_down(full_mask, value, 1);
            const bool begins = (reinterpret_cast<uint64>(destination + key) & 2) == 0 && lane_index() < warp_size - 1;
            const uint32 pairs = ballot(full_mask, begins && key != no_key && behind == key + 1);
            if ((pairs >> lane_index() & 1) != 0) {
                atomic_add_vector(destination + key, pack_items<2, T>(Vector<A, 2>{value, next}));
                return;
            }
            if ((pairs << 1 >> lane_index() & 1) != 0) return;
        }
        if (key != no_key) send(key, value);
    }
    // The key's place in the table, or the neighbouring one; no_key where others have both.
    GPUBENCH_DEVICE uint32 place_of(uint32 key) const {
        uint32 place = hash_of(key) >> shape.hash_shift;
        GPUBENCH_UNROLL
        for (int probe = 0; probe < 2; ++probe) {
            uint32 seen = load_shared(keys + place);
            if (seen == no_key) seen = compare_exchange(keys + place, no_key, key);
            if (seen == no_key || seen == key) return place;
            place ^= 1;
        }
        return no_key;
    }
    GPUBENCH_DEVICE void add(uint32 key, A value) const {
        const uint32 place = place_of(key);
        if (place != no_key) atomic_add(sums + place, value);
        else send(key, value);
    }
    GPUBENCH_DEVICE void prepare(Meanwhile what) const {
        if (what != Meanwhile::wait) ask_together(destination, shape.asked);
        if (what == Meanwhile::ask_and_clear) clear();
    }
    GPUBENCH_DEVICE void clear() const {
        const int of_sums = static_cast<int>(places() * sizeof(A) / sizeof(Word128));
        const int of_keys = static_cast<int>(places() * sizeof(uint32) / sizeof(Word128));
        together<cached_threads>(of_sums + of_keys, [&](int i) {
            if (i < of_sums) reinterpret_cast<Word128*>(sums)[i] = Word128{};
            else reinterpret_cast<Word128*>(keys)[i - of_sums] = bit_cast<Word128>(Vector<uint32, 4>{no_key, no_key, no_key, no_key});
        });
    }
    GPUBENCH_DEVICE void flush() const {
        after_all<cached_threads>(places(), [&](int i) {
            if (keys[i] != no_key) send(keys[i], sums[i]);
        });
    }
};

// A warp's sum for the element, or row, that many of its lanes meet. A: its sum, or Vector of sums.
template <class A>
struct Hot {
    static constexpr int enough = 4;  // lanes that are worth a sum of the warp
    uint32 key = no_key;
    A sum{};            // the lane's; nothing unless used
    bool used = false;  // whether lanes have one
    int met = 0;        // lanes that had the key lately

    // Give the warp's sum away: `give(key, total)`, by one lane.
    template <class Give>
    GPUBENCH_DEVICE void send(const Give& give) {
        const A total = sum_of_lanes(sum);
        if (lane_index() == 0) give(key, total);
        sum = A{};
        used = false;
    }
    // Tell whether the lane's sum is the place for what it has. Where few lanes have the warp's key, what one of them has now takes its
    // place at once: no turn goes by in which all of them go to one place each for itself.
    template <class Give>
    GPUBENCH_DEVICE bool takes(uint32 lanes_key, int turn, const Give& give) {
        const auto count = [&] { return population_count(ballot(full_mask, lanes_key == key && key != no_key)); };
        if (used) met = count();
        if (!used || met < enough) {
            if (used) send(give);
            key = shuffle(full_mask, lanes_key, turn & (warp_size - 1));
            met = count();
            used = met >= enough;
        }
        return used && lanes_key == key;
    }
    // What the warp does not add up itself is given away as it is.
    template <class Give>
    GPUBENCH_DEVICE void take(const Item<A>& item, int turn, const Give& give) {
        if (takes(item.key, turn, give)) add_to(sum, item.value);
        else if (item.key != no_key) give(item.key, item.value);
    }
};

// What `partitioned` does with a list: the last is left to a launch of shared_sums.cu.
enum class Way : uint32 { moved, ordered, repeated };

// What the first elements of a block's warps say: that few come again, that they stand in order, that rows do and seldom come again, or that
// many come again.
enum class Habit { apart, ordered, ordered_rows, again };

// What a warp's first elements say: where each lane's stands, and how many lanes of the warp have the same.
struct Look {
    uint32 key;
    uint32 inner;  // elements of a row
    int equal;
    bool descends;  // from the lane before, to a row before that one's
    bool far;       // ... by more than half of the list's elements

    GPUBENCH_DEVICE Look(uint32 first, uint32 items, uint32 row = 1) : key(first), inner(row) {
        const uint32 left = shuffle_up(full_mask, key, 1);
        const int met = population_count(match_any(full_mask, key));
        equal = key == no_key ? 0 : met;
        descends = lane_index() > 0 && key < left && left - key >= inner;
        far = descends && left != no_key && left - key > items / 2;
    }
    // Tell whether no lane has another's place, in a block of few elements or where places seem to be as many as the list is long.
    GPUBENCH_DEVICE bool is_scattered(bool few) const { return !any(full_mask, equal > 1) && (few || any(full_mask, far)); }
    // The habit of the block, by all of its threads. A table of fewer elements saves fewer atomics: of 512 that are one in 1000 places each
    // a quarter. So of these three in a hundred must come again in their warps, of many one.
    GPUBENCH_DEVICE Habit habit(uint32 elements) const {
        constexpr uint32 many = 1600, few_in_order = 8;
        const uint32 found = threads_that(equal > 1), of = elements < many ? elements : many;
        if (found * of * 100 < many * cached_threads) return Habit::apart;
        if (any_thread(descends)) return Habit::again;
        if (inner == 1) return Habit::ordered;
        return inner * 4 <= warp_size && threads_that(equal > 2) * few_in_order < cached_threads ? Habit::ordered_rows : Habit::again;
    }
    // What much of the list shares, if most lanes that have one place are so many.
    template <class A>
    GPUBENCH_DEVICE Hot<A> hottest() const {
        const int most = largest_of_lanes(equal);
        Hot<A> hot{};
        if (most < 2 * Hot<A>::enough) return hot;
        return {shuffle(full_mask, key, count_trailing_zeros(ballot(full_mask, equal == most))), A{}, true, most};
    }
};

// How a block's warps add, as its first elements say; each turn of a warp shows whether its part of the list goes on so.
template <class T>
struct Adding {
    using A = sum_t<T>;
    const Table<T>& table;
    const Habit habit;
    const bool ready;     // the table, from the first
    Hot<A> hot;
    bool filled = false;  // it has sums, of a block that began otherwise

    GPUBENCH_DEVICE void take(const Item<A>& item, int turn) {
        if (habit == Habit::again) hot.take(item, turn, [&](uint32 key, A value) { table.add(key, value); });
        else if (habit != Habit::ordered || !take_ordered(item)) take_apart(item, turn);
    }
    // Straight to the destination, unless what one lane has comes to others, too: then a sum of the warp, and the table.
    GPUBENCH_DEVICE void take_apart(const Item<A>& item, int turn) {
        const auto send = [&](uint32 key, A value) { table.send(key, value); };
        if (is_wide(table.shape) || (habit == Habit::ordered_rows && stay_ordered(item.key, turn))) {
            table.send_pairs(item.key, item.value);
            return;
        }
        // All warps of a block that began with one place may have its sum to give at once.
        const bool mine = hot.takes(item.key, turn, [&](uint32 key, A total) {
            filled = filled || ready;
            if (ready) table.add(key, total);
            else send(key, total);
        });
        const bool again = ready && hot.met > 1;
        filled = filled || again;
        if (mine) hot.sum = gpubench::add(hot.sum, item.value);
        else if (item.key == no_key) return;
        else if (again) table.add(item.key, item.value);
        else send(item.key, item.value);
    }
    // What neighbouring lanes have of one place is added up before. A warp that meets one place alone keeps its sum, a part a lane, until
    // it meets another one. False, and nothing done, where the list is in order no more.
    GPUBENCH_DEVICE bool take_ordered(const Item<A>& item) {
        const auto send = [&](uint32 key, A total) { table.send(key, total); };
        const uint32 next = shuffle_down(full_mask, item.key, 1), ends = ends_of_runs(item.key, next);
        if (ends != 1u << (warp_size - 1)) {
            if (any(full_mask, next < item.key && lane_index() < warp_size - 1)) return false;
            Vector<A, 1> sum{item.value};
            if (sum_of_run(ends, sum) && item.key != no_key) send(item.key, sum[0]);
            return true;
        }
        if (item.key != hot.key || !hot.used) {
            if (hot.used) hot.send(send);
            hot = {item.key, A{}, item.key != no_key, warp_size};
        }
        if (hot.used) hot.sum = gpubench::add(hot.sum, item.value);
        return true;
    }
    // Tell whether the warp's rows stand in order, and few have one place.
    GPUBENCH_DEVICE bool stay_ordered(uint32 key, int turn) const {
        const uint32 next = shuffle_down(full_mask, key, 1), one = shuffle(full_mask, key, turn & (warp_size - 1));
        const bool descends = lane_index() < warp_size - 1 && next < key && key - next >= table.shape.inner.divisor;
        return !any(full_mask, descends) && population_count(ballot(full_mask, key == one)) <= 2;
    }
    // Lanes of so long rows have elements of their own whatever the list is.
    GPUBENCH_DEVICE static bool is_wide(const CachedShape& shape) { return shape.inner.divisor * Hot<A>::enough > warp_size; }

    // The block's sums to the destination.
    GPUBENCH_DEVICE void finish() {
        if (habit != Habit::again && !any_thread(hot.used || filled)) return;
        if (!ready) table.clear();
        if (hot.used) hot.send([&](uint32 key, A total) { table.add(key, total); });
        table.flush();
    }
};

// Send what the lanes of a warp have for places of their own, before the block agrees on a habit; of the first items they do.
template <class T, int N>
GPUBENCH_DEVICE void send_scattered(const Table<T>& table, Item<sum_t<T>> (&items)[N]) {
    GPUBENCH_UNROLL
    for (int k = 0; k < N; ++k) {
        if (k > 0 && any(full_mask, population_count(match_any(full_mask, items[k].key)) > 1)) break;
        if (items[k].key != no_key) table.send(items[k].key, items[k].value);
        items[k].key = no_key;
    }
}

// Add the elements of the block's range. `load(items, at, meanwhile)` brings those at, at + threads ..., and does that until they are
// there. A list may go on as it does not begin: what a range's first tile says is said of its neighbours alone.
template <class T, class Load>
GPUBENCH_DEVICE void add_through_table(const Table<T>& table, const Load& load) {
    constexpr uint32 tile = cached_threads * items_at_once<T>;
    Item<sum_t<T>> items[items_at_once<T>];
    const uint32 start = static_cast<uint32>(block_index_x()) * table.shape.range, left = table.shape.items - start;
    const uint32 stop = start + (left < table.shape.range ? left : table.shape.range);
    const bool early = stop - start > tile && !Adding<T>::is_wide(table.shape);
    load(items, start + thread_index_x(), early ? Meanwhile::ask_and_clear : Meanwhile::ask);
    const Look look(items[0].key, table.shape.items, table.shape.inner.divisor);
    if constexpr (sizeof(T) == 4 || sizeof(T) == 8) {  // of others it costs the loop below more than it brings
        if (!Adding<T>::is_wide(table.shape) && look.is_scattered(stop - start <= tile)) send_scattered(table, items);
    }
    const Habit habit = look.habit(stop - start);
    if (!early && habit == Habit::again) table.clear();
    Adding<T> adding{table, habit, early || habit == Habit::again, {}};
    if (habit == Habit::again) adding.hot = look.hottest<sum_t<T>>();
    if (adding.hot.used && lane_index() == 0) table.place_of(adding.hot.key);  // before others have it
    for (uint32 base = start;; base += tile) {
        GPUBENCH_UNROLL
        for (int k = 0; k < items_at_once<T>; ++k) adding.take(items[k], static_cast<int>((base - start) / tile) + k);
        if (stop - base <= tile) break;
        load(items, base + tile + thread_index_x(), Meanwhile::wait);
    }
    adding.finish();
}

}  // namespace gpubench::index_add
