// index_add, variant `combined`: rows go to the destination by atomics of 16 bytes; equal indices near each other are added up
// before.
//
// Data: `add_single`: a thread takes an element; it knows nothing but the pointers and three numbers, for each further word of
// parameters costs a launch of a few elements time. `add_flat`: a thread takes a vector of a row, whose index is asked for at the same time: where there is little work.
// `add_few`: a group of lanes takes four rows at once; what meets among them is added up in registers. `add_combined`: a warp takes 32 indices (fewer where there is little work), one a lane; lanes with equal
// ones find each other, and the warp's rows stand in the order of their index, their first order inside. The warp's groups of
// lanes walk them, four rows on their way, and add in registers until the index changes. So an index that all rows share is met
// once in 32 rows by the atomics, which take 5 ns a row there. Sums are formed in the accumulator and rounded to the dtype by
// each atomic, in any order.
#include "gpubench/atomics.cuh"
#include "gpubench/grid.cuh"
#include "gpubench/integer_divider.cuh"
#include "gpubench/movement/row_vectors.cuh"
#include "gpubench/pairs.cuh"
#include "gpubench/strided.cuh"
#include "gpubench/warp.cuh"
#include "index_add/owned.cuh"

namespace gpubench::index_add {

constexpr int combined_threads = 256;
constexpr int at_once = 4;  // rows on their way to a lane

struct CombinedShape {
    IntegerDivider chunks;  // of a row
    IntegerDivider outers;  // repetitions of the whole list
    int32 lanes;            // of a group, a power of two up to 32
    int32 rows;             // of a warp, or of a group of `add_few`
    uint32 vectors;         // of a row
    uint32 count;           // indices
    int64 places;
    int64 place_step, index_step;  // elements between rows of the destination, of the source
    int64 outer_place, outer_index;
    int64 item_place, item_index;  // between the elements of a row; 1 where it moves in vectors
    double alpha;
};
GPUBENCH_LAYOUT(CombinedShape, 104, alpha, 96);

// A unit of work: some rows of one chunk of one repetition.
template <class T>
struct Unit {
    T* destination;
    const T* source;
    uint32 first;  // of its rows
    uint32 vector;

    GPUBENCH_DEVICE Unit(T* to, const T* from, uint32 number, uint32 rows, int lane, int items, const CombinedShape& shape) {
        const auto by_chunk = shape.chunks.divide(number);
        const auto by_outer = shape.outers.divide(by_chunk.quotient);
        vector = by_chunk.remainder * shape.lanes + lane;
        first = by_outer.quotient * rows;
        const int64 outer = by_outer.remainder;
        destination = to + outer * shape.outer_place + int64{vector} * items * shape.item_place;
        source = from + outer * shape.outer_index + int64{vector} * items * shape.item_index;
    }
};

template <class T, int V>
GPUBENCH_DEVICE void send(T* destination, const Vector<sum_t<T>, V>& sums) {
    atomic_add_vector(destination, pack_items<V, T>(sums));
}

// Single elements without gaps, one a thread.
template <class T, class Index>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(combined_threads)
    add_single(T* destination, const T* source, const Index* index, uint32 count, uint32 places, alpha_t<T> alpha) {
    const uint32 at = static_cast<uint32>(block_index_x()) * block_size_x() + thread_index_x();
    if (at >= count) return;
    const int64 row = static_cast<int64>(index[at]);
    const Packed<T, 1> raw = row_vector<1, Cache::read_only>(source + at);
    if (row < 0 || row >= places) return;
    Vector<sum_t<T>, 1> sums{};
    add_scaled<T, 1>(sums, raw, alpha);
    send<T, 1>(destination + row, sums);
}

struct ScatteredShape {
    IntegerDivider inner;  // what stands fastest: indices, or the other elements
    int32 indices_inside;  // which of them
    uint32 items;
    int32 unused;
    int64 places, place_step, index_step;
    double alpha;
};
GPUBENCH_LAYOUT(ScatteredShape, 56, alpha, 48);

// Single elements of any layout, one a thread; `to` and `of` count the dims beside the indexed one.
template <class T, class Index>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(combined_threads)
    add_scattered(T* destination, const T* source, const Index* index, const DividedStrided to, const DividedStrided of,
                  const ScatteredShape shape) {
    const uint32 item = static_cast<uint32>(block_index_x()) * block_size_x() + thread_index_x();
    if (item >= shape.items) return;
    const auto at = shape.inner.divide(item);
    const uint32 number = shape.indices_inside != 0 ? at.remainder : at.quotient;
    const uint32 element = shape.indices_inside != 0 ? at.quotient : at.remainder;
    const int64 row = static_cast<int64>(index[number]);
    const Packed<T, 1> raw = row_vector<1, Cache::read_only>(source + number * shape.index_step + of.offset(element));
    if (row < 0 || row >= shape.places) return;
    Vector<sum_t<T>, 1> sums{};
    add_scaled<T, 1>(sums, raw, alpha_of<T>(shape.alpha));
    send<T, 1>(destination + row * shape.place_step + to.offset(element), sums);
}

// Vector by vector of the whole list, one a thread; shape.chunks divides by the vectors of a row.
template <class T, class Index, int V>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(combined_threads)
    add_flat(T* destination, const T* source, const Index* index, const CombinedShape shape) {
    const uint32 item = static_cast<uint32>(block_index_x()) * block_size_x() + thread_index_x();
    const auto at = shape.chunks.divide(item);
    if (at.quotient >= shape.count) return;
    const int64 outer = block_index_y(), first = int64{at.remainder} * V;
    const int64 row = static_cast<int64>(index[at.quotient]);
    const Packed<T, V> raw = row_vector<V, Cache::read_only>(source + outer * shape.outer_index + at.quotient * shape.index_step +
                                                              first * shape.item_index);
    if (row < 0 || row >= shape.places) return;
    Vector<sum_t<T>, V> sums{};
    add_scaled<T, V>(sums, raw, alpha_of<T>(shape.alpha));
    send<T, V>(destination + outer * shape.outer_place + row * shape.place_step + first * shape.item_place, sums);
}

template <class T, class Index, int V>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(combined_threads)
    add_few(T* destination, const T* source, const Index* index, const CombinedShape shape) {
    using Sums = Vector<sum_t<T>, V>;
    const uint32 groups = combined_threads / shape.lanes, group = thread_index_x() / shape.lanes;
    const Unit<T> unit(destination, source, static_cast<uint32>(block_index_x()), groups * at_once, thread_index_x() & (shape.lanes - 1),
                       V, shape);
    if (unit.vector >= shape.vectors) return;
    const alpha_t<T> alpha = alpha_of<T>(shape.alpha);
    int64 rows[at_once];
    Packed<T, V> raw[at_once];
    GPUBENCH_UNROLL
    for (int k = 0; k < at_once; ++k) {
        const uint32 at = unit.first + k * groups + group;
        rows[k] = at < shape.count ? static_cast<int64>(index[at]) : -1;
        raw[k] = at < shape.count ? row_vector<V, Cache::read_only>(unit.source + at * shape.index_step) : Packed<T, V>{};
    }
    GPUBENCH_UNROLL
    for (int k = 0; k < at_once; ++k) {
        if (rows[k] < 0 || rows[k] >= shape.places) continue;
        Sums sums{};
        add_scaled<T, V>(sums, raw[k], alpha);
        GPUBENCH_UNROLL
        for (int other = k + 1; other < at_once; ++other) {
            if (rows[other] != rows[k]) continue;
            add_scaled<T, V>(sums, raw[other], alpha);
            rows[other] = -1;
        }
        send<T, V>(unit.destination + rows[k] * shape.place_step, sums);
    }
}

// The warp's indices `first` ... in the order of their first appearance, equal ones together. Returns how many are inside the dim.
template <class Index>
GPUBENCH_DEVICE int gather_equal(Pair* list, const Index* index, uint32 first, const CombinedShape& shape) {
    const uint32 at = first + lane_index();
    const bool exists = lane_index() < shape.rows && at < shape.count;
    const int64 row = exists ? static_cast<int64>(index[at]) : -1;
    const bool inside = row >= 0 && row < shape.places;
    const uint32 good = ballot(full_mask, inside);
    const uint32 equal = match_any(full_mask, inside ? static_cast<uint32>(row) : 0xffffffffu);
    const int leader = count_trailing_zeros(equal);
    const uint32 led = inside && leader == lane_index() ? population_count(equal) : 0;
    const uint32 before = warp_inclusive_scan(led, Add{}) - led;
    const uint32 slot = shuffle(full_mask, before, leader) + population_count(equal & lanes_before());
    if (inside) list[slot] = make_pair(static_cast<uint32>(row), at);
    warp_barrier();
    return population_count(good);
}

// Owned: one warp has all rows of its chunk, so that nobody else adds to them, and it needs no atomics.
template <class T, class Index, int V, bool Owned>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(combined_threads)
    add_combined(T* destination, const T* source, const Index* index, const CombinedShape shape) {
    using Sums = Vector<sum_t<T>, V>;
    GPUBENCH_SHARED(Pair, lists, combined_threads);
    const int warp = thread_index_x() / warp_size, lane = lane_index() & (shape.lanes - 1), groups = warp_size / shape.lanes;
    Pair* const list = lists + warp * warp_size;
    const Unit<T> unit(destination, source, static_cast<uint32>(block_index_x()) * (combined_threads / warp_size) + warp, shape.rows, lane,
                       V, shape);
    if (unit.first >= shape.count) return;
    const int used = gather_equal(list, index, unit.first, shape), share = (used + groups - 1) / groups;
    const int first = lane_index() / shape.lanes * share, last = first + share < used ? first + share : used;
    if (unit.vector >= shape.vectors) return;
    const alpha_t<T> alpha = alpha_of<T>(shape.alpha);
    Sums sums{};
    for (int base = first; base < last; base += at_once) {
        const auto ends = [&](int i) { return i + 1 >= last || row_of(list[i + 1]) != row_of(list[i]); };
        Packed<T, V> raw[at_once], old[Owned ? at_once : 1];
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) {
            raw[k] = Packed<T, V>{};
            if (base + k >= last) continue;
            if constexpr (Owned) {
                old[k] = Packed<T, V>{};
                if (ends(base + k)) old[k] = row_vector<V>(unit.destination + row_of(list[base + k]) * shape.place_step);
            }
            raw[k] = row_vector<V, Cache::read_only>(unit.source + position_of(list[base + k]) * shape.index_step);
        }
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) {
            const int i = base + k;
            if (i >= last) continue;
            add_scaled<T, V>(sums, raw[k], alpha);
            if (!ends(i)) continue;
            T* const place = unit.destination + row_of(list[i]) * shape.place_step;
            if constexpr (Owned) store_packed(place, added(old[k], sums));
            else send<T, V>(place, sums);
            sums = Sums{};
        }
    }
}

}  // namespace gpubench::index_add
