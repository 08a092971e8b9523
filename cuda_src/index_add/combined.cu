// index_add, variant `combined`: rows go to the destination by atomics of 16 bytes; equal indices near each other are added up
// before.
//
// Data: `add_single`, `add_scattered` and squares of operands that lie turned: scattered.cuh, one element or vector a thread. `add_walked`:
// places of few indices, without atomics (walked.cuh). `add_few`: a group of lanes takes four rows at once; what meets among them is
// added up in registers. `add_combined`: a warp takes 32 indices (fewer where there is little work), one a lane; lanes with equal ones
// find each other, and the warp's rows stand in the order of their index, their first order inside. The warp's groups of lanes walk
// them, four rows on their way, and add in registers until the index changes. So an index that all rows share is met once in 32 rows by
// the atomics, which take 5 ns a row there. Sums are formed in the accumulator and rounded to the dtype by each atomic, in any order.
#include "gpubench/grid.cuh"
#include "gpubench/integer_divider.cuh"
#include "gpubench/movement/row_vectors.cuh"
#include "gpubench/pairs.cuh"
#include "gpubench/warp.cuh"
#include "index_add/cut_vectors.cuh"
#include "index_add/one_place.cuh"
#include "index_add/owned.cuh"
#include "index_add/scattered.cuh"
#include "index_add/walked.cuh"

namespace gpubench::index_add {

constexpr int at_once = 4;  // rows on their way to a lane

struct CombinedShape {
    IntegerDivider chunks;  // of a row
    IntegerDivider tiles;   // of the list
    int32 lanes;            // of a group, a power of two up to 32
    int32 rows;             // of a warp, or of a group of `add_few`
    uint32 vectors;         // of a row
    uint32 count;           // indices
    uint32 units;           // of work
    uint32 inner;           // elements of a row
    int64 places;
    int64 place_step, index_step;  // elements between rows of the destination, of the source
    int64 outer_place, outer_index;
    int64 item_place, item_index;  // between the elements of a row; 1 where it moves in vectors
    uint32 outers;  // repetitions
    uint32 unused;
    double alpha;
};
GPUBENCH_LAYOUT(CombinedShape, 120, alpha, 112);

// A unit of work: some rows of one chunk of one repetition. One repetition after the other, so that its destination stays in the
// L2 cache.
template <class T>
struct Unit {
    T* destination;
    const T* source;
    uint32 first;  // of its rows
    uint32 vector;
    uint32 outer;

    GPUBENCH_DEVICE Unit(T* to, const T* from, uint32 number, uint32 rows, int lane, int items, const CombinedShape& shape) {
        const auto by_chunk = shape.chunks.divide(number);
        const auto by_tile = shape.tiles.divide(by_chunk.quotient);
        vector = by_chunk.remainder * shape.lanes + lane;
        first = by_tile.remainder * rows;
        outer = by_tile.quotient;
        destination = to + outer * shape.outer_place + int64{vector} * items * shape.item_place;
        source = from + outer * shape.outer_index + int64{vector} * items * shape.item_index;
    }
};

// A few rows of one thread; what meets among them is added up before.
template <class T, int V>
GPUBENCH_DEVICE void send_few(T* destination, int64 (&rows)[at_once], const Packed<T, V> (&raw)[at_once], const CombinedShape& shape) {
    const alpha_t<T> alpha = alpha_of<T>(shape.alpha);
    GPUBENCH_UNROLL
    for (int k = 0; k < at_once; ++k) {
        if (rows[k] < 0 || rows[k] >= shape.places) continue;
        Vector<sum_t<T>, V> sums{};
        add_scaled<T, V>(sums, raw[k], alpha);
        GPUBENCH_UNROLL
        for (int other = k + 1; other < at_once; ++other) {
            if (rows[other] != rows[k]) continue;
            add_scaled<T, V>(sums, raw[other], alpha);
            rows[other] = -1;
        }
        send<T, V>(destination + rows[k] * shape.place_step, sums);
    }
}

// Ask for the places to which one row of the thread comes, and no other.
template <class T>
GPUBENCH_DEVICE void ask_few(const T* destination, const int64 (&rows)[at_once], const CombinedShape& shape) {
    GPUBENCH_UNROLL
    for (int k = 0; k < at_once; ++k) {
        bool alone = rows[k] >= 0 && rows[k] < shape.places;
        GPUBENCH_UNROLL
        for (int other = 0; other < at_once; ++other) alone = alone && (other == k || rows[other] != rows[k]);
        if (alone) prefetch(destination + rows[k] * shape.place_step);
    }
}

template <class T, class Index, int V, bool Asks>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(combined_threads)
    add_few(T* destination, const T* source, const Index* index, const CombinedShape shape) {
    const uint32 groups = combined_threads / shape.lanes, group = thread_index_x() / shape.lanes;
    const Unit<T> unit(destination, source, static_cast<uint32>(block_index_x()), groups * at_once, thread_index_x() & (shape.lanes - 1),
                       V, shape);
    if (unit.vector >= shape.vectors) return;
    int64 rows[at_once];
    Packed<T, V> raw[at_once];
    GPUBENCH_UNROLL
    for (int k = 0; k < at_once; ++k) {
        const uint32 at = unit.first + k * groups + group;
        rows[k] = at < shape.count ? static_cast<int64>(index[at]) : -1;
        raw[k] = at < shape.count ? row_vector<V, Cache::streaming>(unit.source + at * shape.index_step) : Packed<T, V>{};
    }
    if constexpr (Asks) ask_few(unit.destination, rows, shape);
    send_few<T, V>(unit.destination, rows, raw, shape);
}

// The warp's indices `first` ... in the order of their first appearance, equal ones together. Returns how many are inside the dim.
template <class Index>
GPUBENCH_DEVICE int gather_equal(Pair* list, const Index* index, uint32 first, const CombinedShape& shape) {
    const uint32 at = first + lane_index();
    const bool exists = lane_index() < shape.rows && at < shape.count;
    const int64 row = exists ? static_cast<int64>(index[at]) : -1;
    const bool inside = row >= 0 && row < shape.places;
    const uint32 good = ballot(full_mask, inside);
    const uint32 equal = match_any(full_mask, inside ? static_cast<uint32>(row) : no_row);
    const int leader = count_trailing_zeros(equal);
    const uint32 led = inside && leader == lane_index() ? population_count(equal) : 0;
    const uint32 before = warp_inclusive_scan(led, Add{}) - led;
    const uint32 slot = shuffle(full_mask, before, leader) + population_count(equal & lanes_before());
    if (inside) list[slot] = make_pair(static_cast<uint32>(row), at);
    warp_barrier();
    return population_count(good);
}

// A bit for each pair of the warp's list with which a run of equal indices begins. By all lanes.
GPUBENCH_DEVICE uint32 begins_of_runs(const Pair* list, int used) {
    const int at = lane_index();
    return ballot(full_mask, at < used && (at == 0 || row_of(list[at]) != row_of(list[at - 1])));
}

// Where a group's share of the warp's list begins that would begin at this place: behind the run that goes on there, where that is longer
// than any group's share, for each would send an atomic of its own.
GPUBENCH_DEVICE int begin_of_share(uint32 begins, int used, int place, int share) {
    if (place >= used) return used;
    const uint32 before = begins & (2u << place) - 1, behind = begins & ~((2u << place) - 1);
    const int begin = 31 - count_leading_zeros(before), end = behind != 0 ? count_trailing_zeros(behind) : used;
    return begin < place && end - begin > (share < at_once ? at_once : share) ? end : place;
}

// How groups of lanes share a warp's list: evenly; evenly but for long runs, each of which is one group's; or one warp has all rows of its
// chunk, so that nobody else adds to them, and it needs no atomics.
enum class Sharing { even, runs, owned };

// How a lane's part of a row comes and goes: a vector on the grid of both operands, or one on the destination's that the row's ends cut.
template <class T, int V>
struct WholeVectors {
    using Raw = Packed<T, V>;
    static constexpr int at_once = gpubench::index_add::at_once;
    const Unit<T>& unit;
    const CombinedShape& shape;

    GPUBENCH_DEVICE T* place(Pair pair) const { return unit.destination + row_of(pair) * shape.place_step; }
    GPUBENCH_DEVICE Packed<T, V> load(Pair pair) const {
        return row_vector<V, Cache::streaming>(unit.source + position_of(pair) * shape.index_step);
    }
    GPUBENCH_DEVICE static Packed<T, V> vector(const Raw& raw) { return raw; }
    GPUBENCH_DEVICE void send(Pair pair, const Vector<sum_t<T>, V>& sums) const { gpubench::index_add::send<T, V>(place(pair), sums); }
};
template <class T, int V>
struct CutVectors {
    using Raw = CutWords<T, V>;
    static constexpr int at_once = 2;  // as many as registers of several blocks hold
    const Unit<T>& unit;  // whose pointers are those of rows
    const CombinedShape& shape;
    const InnerRows places, sources;

    GPUBENCH_DEVICE CutVectors(const Unit<T>& part, const CombinedShape& of)
        : unit(part), shape(of), places(inner(static_cast<uint32>(of.places), of.outer_place)), sources(inner(of.count, of.outer_index)) {}
    GPUBENCH_DEVICE InnerRows inner(uint32 rows, int64 apart) const {
        return {rows, unit.outer * apart < 3 * V, (shape.outers - 1 - unit.outer) * apart < 3 * V};
    }
    GPUBENCH_DEVICE CutVector<T, V> part(Pair pair) const {
        return {unit.destination + row_of(pair) * shape.place_step, unit.vector, shape.inner};
    }
    GPUBENCH_DEVICE Raw load(Pair pair) const {
        const uint32 position = position_of(pair);
        return part(pair).load(unit.source + position * shape.index_step, sources.have(position));
    }
    GPUBENCH_DEVICE static Packed<T, V> vector(const Raw& raw) { return raw.vector(); }
    GPUBENCH_DEVICE void send(Pair pair, const Vector<sum_t<T>, V>& sums) const {
        const CutVector<T, V> cut = part(pair);
        cut.send(sums, places.have(row_of(pair)) || places.have_vector(row_of(pair), cut.first, V, shape.inner));
    }
};

// Ask for the places of a few of the list's rows, from `base` on, that have them to themselves. ends: whether a run of equal ones does.
template <class Rows, class Ends>
GPUBENCH_DEVICE void ask_for_places(const Pair* list, int base, int last, const Rows& rows, const Ends& ends) {
    const auto begins = [&](int i) { return i == 0 || row_of(list[i - 1]) != row_of(list[i]); };
    GPUBENCH_UNROLL
    for (int k = 0; k < Rows::at_once; ++k) {
        if (base + k < last && ends(base + k) && begins(base + k)) prefetch(rows.place(list[base + k]));
    }
}

template <int V, Sharing sharing, bool Asks, class Rows, class T>
GPUBENCH_DEVICE void combine_rows(const Pair* list, int used, const Rows& rows, const Unit<T>& unit, const CombinedShape& shape) {
    using Sums = Vector<sum_t<T>, V>;
    constexpr bool owned = sharing == Sharing::owned;
    constexpr int at_once = Rows::at_once;
    const int groups = warp_size / shape.lanes, share = (used + groups - 1) / groups;
    int first = lane_index() / shape.lanes * share, last = first + share < used ? first + share : used;
    if constexpr (sharing == Sharing::runs) {
        const uint32 begins = begins_of_runs(list, used);
        first = begin_of_share(begins, used, first, share);
        last = begin_of_share(begins, used, last, share);
    }
    if (unit.vector >= shape.vectors) return;
    const alpha_t<T> alpha = alpha_of<T>(shape.alpha);
    Sums sums{};
    for (int base = first; base < last; base += at_once) {
        const auto ends = [&](int i) { return i + 1 >= last || row_of(list[i + 1]) != row_of(list[i]); };
        typename Rows::Raw raw[at_once];
        Packed<T, V> old[owned ? at_once : 1];
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) {
            raw[k] = typename Rows::Raw{};
            if (base + k >= last) continue;
            if constexpr (owned) {
                old[k] = Packed<T, V>{};
                if (ends(base + k)) old[k] = row_vector<V>(rows.place(list[base + k]));
            }
            raw[k] = rows.load(list[base + k]);
        }
        if constexpr (Asks) ask_for_places(list, base, last, rows, ends);
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) {
            const int i = base + k;
            if (i >= last) continue;
            add_scaled<T, V>(sums, rows.vector(raw[k]), alpha);
            if (!ends(i)) continue;
            if constexpr (owned) store_packed(rows.place(list[i]), added(old[k], sums));
            else rows.send(list[i], sums);
            sums = Sums{};
        }
    }
}

// Anywhere: rows do not begin and end on vectors, but nothing lies between those of the destination. Asks: for places, into the L2 cache,
// while their rows are on their way, for an atomic that misses waits there for memory; not for what comes again in the warp's list, for
// which other warps would ask, too, all for one line.
template <class T, class Index, int V, Sharing sharing, bool Anywhere, bool Asks>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(combined_threads)
    add_combined(T* destination, const T* source, const Index* index, const CombinedShape shape) {
    GPUBENCH_SHARED(Pair, lists, combined_threads);
    const int warp = thread_index_x() / warp_size, lane = lane_index() & (shape.lanes - 1);
    Pair* const list = lists + warp * warp_size;
    const uint32 number = static_cast<uint32>(block_index_x()) * (combined_threads / warp_size) + warp;
    if (number >= shape.units) return;
    const Unit<T> unit(destination, source, number, shape.rows, lane, Anywhere ? 0 : V, shape);  // 0: pointers to rows, not to vectors
    const int used = gather_equal(list, index, unit.first, shape);
    if constexpr (Anywhere) {
        combine_rows<V, sharing, false>(list, used, CutVectors<T, V>(unit, shape), unit, shape);
    } else {
        combine_rows<V, sharing, Asks>(list, used, WholeVectors<T, V>{unit, shape}, unit, shape);
    }
}

}  // namespace gpubench::index_add
