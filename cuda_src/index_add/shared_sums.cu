// index_add by sums in a block's shared memory: variant `cached`, in a table of those that come again, and `block_copies`, of all
// places or of a segment of them.
//
// `add_cached`: for single elements, and short rows that are no whole vectors (row_table.cuh has those). Threads of a block take the elements
// of a tile of the source side by side, two at once, and table.cuh says what becomes of them. `add_totals` follows where small integers
// were added up in 32 bits; `add_cached_if` is `partitioned`'s. Sums are formed in the accumulator, rounded by each atomic, in any order.
// Why: the L2 cache takes 100 G scattered additions a second, but 0.57 G to one address, and exchanges 32 G words of small integers (H200).
//
// `add_by_copies`: the elements of one repetition of the list (a row, where the indexed dim is the last one) come to a block side by
// side, eight of each thread on their way, and are added to the block's sums by atomics of shared memory; a thread keeps what it has
// for one place as long as one of eight comes there, and a warp whose neighbours share other places adds up what it has of each before.
// Then the block adds the sums that are not zero to the destination, side by side again, and clears them. Where places are more than fit,
// the list is first sorted by segments of them, and the block takes one segment after the other; where repetitions are few, several
// blocks share one and add by atomics. Indices that many repetitions read are first written as 32 bits. Floats are added in any order.
#include "gpubench/block/together.cuh"
#include "gpubench/movement/row_vectors.cuh"
#include "gpubench/pairs.cuh"
#include "index_add/row_table.cuh"
#include "index_add/table.cuh"

namespace gpubench::index_add {

// The elements at, at + threads ... of a repetition, asked for at once; `meanwhile` is done until they come. An index is
// widened when all are on their way, for behind a branch the compiler widens it, and waits for it, before the next one is asked for.
template <int N, class Target, class T, class Index>
GPUBENCH_DEVICE void load_items(Item<sum_t<T>> (&items)[N], const T* source, const Index* index, uint32 at, alpha_t<T> alpha,
                                const Table<Target>& table, Meanwhile meanwhile) {
    const CachedShape& shape = table.shape;
    Index rows[N];
    uint32 inside[N];
    T raw[N];
    const auto exists = [&](int k) { return at + k * cached_threads < shape.items; };
    GPUBENCH_UNROLL
    for (int k = 0; k < N; ++k) {
        const auto place = shape.inner.divide(at + k * cached_threads);
        inside[k] = place.remainder;
        rows[k] = load_if<Cache::streaming>(index + place.quotient, exists(k));
        raw[k] = load_if<Cache::streaming>(source + place.quotient * shape.index_step + place.remainder, exists(k));
    }
    table.prepare(meanwhile);
    GPUBENCH_UNROLL
    for (int k = 0; k < N; ++k) {
        const int64 row = static_cast<int64>(rows[k]);
        const bool good = exists(k) && row >= 0 && row < shape.places;
        items[k].key = good ? static_cast<uint32>(row) * static_cast<uint32>(shape.place_step) + inside[k] : no_key;
        items[k].value = add_scaled<T>(sum_t<T>{}, convert<sum_t<T>>(raw[k]), alpha);
    }
}

template <class Target, class T, class Index>
GPUBENCH_DEVICE void add_elements(const Table<Target>& table, const T* source, const Index* index) {
    const alpha_t<T> alpha = alpha_of<T>(table.shape.alpha);
    add_through_table(table, [&](Item<sum_t<T>> (&items)[items_at_once<Target>], uint32 at, Meanwhile meanwhile) {
        load_items(items, source, index, at, alpha, table, meanwhile);
    });
}

// Target: T, or int32 for totals of small integers in the workspace; later: what these are added to.
template <class T, class Index, class Target>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(cached_threads, sizeof(T) > 8 ? 3 : 4)
    add_cached(Target* destination, const T* source, const Index* index, const T* later, const CachedShape shape) {
    GPUBENCH_DYNAMIC_SHARED(sum_t<T>, sums);
    const int64 outer = block_index_y();
    if constexpr (!is_same<Target, T>) ask_together(later, shape.asked);
    add_elements(Table<Target>{sums, destination + outer * shape.outer_place, shape}, source + outer * shape.outer_index, index);
}

// The same behind `partition_values`, for a list that it leaves.
template <class T, class Index>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(cached_threads, sizeof(T) > 8 ? 3 : 4)
    add_cached_if(const Way* way, T* destination, const T* source, const Index* index, const CachedShape shape) {
    GPUBENCH_DYNAMIC_SHARED(sum_t<T>, sums);
    if (*way == Way::repeated) add_elements(Table<T>{sums, destination, shape}, source, index);
}

// Add the totals to the elements of a repetition, four a thread, and leave zeros for the next run. totals: `apart` between those
// of repetitions, a multiple of four.
template <class T>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(256)
    add_totals(T* destination, int32* totals, long long elements, long long apart, long long outer_place) {
    constexpr int V = 4;
    const int64 first = grid_thread() * V;
    if (first >= elements) return;
    int32* const total = totals + block_index_y() * apart + first;
    T* const target = destination + block_index_y() * outer_place + first;
    const auto sums = bit_cast<Vector<int32, V>>(row_vector<V>(total));
    if (((sums[0] | sums[1]) | (sums[2] | sums[3])) == 0) return;
    store_vector(total, Vector<int32, V>{});
    if (first + V <= elements && is_aligned(target, sizeof(T) * V)) {
        store_packed(target, added(row_vector<V>(target), sums));
        return;
    }
    for (int j = 0; j < V && first + j < elements; ++j) target[j] = convert<T>(add(convert<int32>(target[j]), sums[j]));
}

template <class T>
constexpr int copy_items = sizeof(T) > 4 ? 32 / static_cast<int>(sizeof(T)) : 8;  // on their way to a thread; 64 registers

struct BlockCopiesShape {
    IntegerDivider inner;  // elements of a row
    uint32 items;          // elements of one repetition of the source
    uint32 range;          // of them, a block's
    uint32 elements;       // of one repetition of the destination
    uint32 segment;        // of them, in shared memory
    uint32 words;          // of the sort's meetings, to be cleared
    int32 parts;           // blocks that share a repetition
    int32 units;           // repetitions times parts
    int64 places;
    int64 place_step, index_step;  // elements between rows of the destination, of the source
    int64 outer_place, outer_index;
    double alpha;
};
GPUBENCH_LAYOUT(BlockCopiesShape, 88, alpha, 80);

// Indices in 32 bits; -1 for those outside the dim.
template <class Index>
GPUBENCH_KERNEL void narrow_indices(const Index* index, int32* narrow, long long count, long long places) {
    for (int64 i = grid_thread(); i < count; i += grid_threads()) {
        const int64 row = static_cast<int64>(index[i]);
        narrow[i] = row < 0 || row >= places ? -1 : static_cast<int32>(row);
    }
}

// An entry of the list, its index, and where its row of the source stands; as the list has it, or sorted.
template <class Index>
struct List {
    using Entry = Index;
    const Index* index;
    GPUBENCH_DEVICE Entry entry(uint32 i, bool exists) const { return load_if(index + i, exists); }
    GPUBENCH_DEVICE static int64 row(Entry entry) { return static_cast<int64>(entry); }
    GPUBENCH_DEVICE static int64 position(Entry, uint32 i) { return i; }
};
template <>
struct List<Pair> {
    using Entry = Pair;
    const Pair* pairs;
    GPUBENCH_DEVICE Entry entry(uint32 i, bool exists) const { return load_if(pairs + i, exists); }
    GPUBENCH_DEVICE static int64 row(Entry entry) { return row_of(entry); }
    GPUBENCH_DEVICE static int64 position(Entry entry, uint32) { return position_of(entry); }
};

// A thread's sum for the place of its first item, as long as one of a turn's comes there. Shared memory adds others than 32-bit integers
// by compare and swap: of lanes that meet, one is done at a time. So where neighbours have one place besides their own, as in a list that
// is in order, what a warp has of a place is added up before: one item's code in a loop, for all of a turn's would be long.
template <class A>
struct Kept {
    static constexpr bool swaps = !is_same<A, int32>;
    static constexpr int enough = 3;  // neighbours
    uint32 place = no_key;
    A sum{};
    bool again = false;

    template <class Give>
    GPUBENCH_DEVICE static void give_together(const Item<A>& item, const Give& give) {
        Vector<A, 1> total{item.value};
        if (add_up_shared(static_cast<int32>(item.key), total, 1)) give(item.key, total[0]);
    }
    // Tell whether neighbours have one place besides what their threads keep.
    GPUBENCH_DEVICE bool is_crowded(uint32 key) const {
        if (key == place) key = no_key;
        const uint32 neighbour = shuffle(full_mask, key, (lane_index() + 1) & (warp_size - 1));
        return population_count(ballot(full_mask, key != no_key && key == neighbour)) >= enough;
    }
    // The item comes to the thread's sum; no_key if so, else its place.
    GPUBENCH_DEVICE uint32 keep(const Item<A>& item, bool first) {
        if (item.key != place) return item.key;
        sum = add(sum, item.value);
        again = again || !first;
        return no_key;
    }
    template <int N, class Give>
    GPUBENCH_DEVICE void take(Item<A> (&items)[N], const Give& give) {
        if (swaps) give_together({sum, again ? no_key : place}, give);
        else if (!again && place != no_key) give(place, sum);
        if (!again) {
            place = items[0].key;
            sum = A{};
        }
        again = false;
        if (swaps && (is_crowded(items[N - 1].key) || is_crowded(items[N / 2 - 1].key))) {
            GPUBENCH_NO_UNROLL
            for (int turn = 0; turn < N; ++turn) {
                give_together({items[0].value, keep(items[0], turn == 0)}, give);
                GPUBENCH_UNROLL
                for (int k = 1; k < N; ++k) items[k - 1] = items[k];
            }
            return;
        }
        GPUBENCH_UNROLL
        for (int k = 0; k < N; ++k) {
            const uint32 key = keep(items[k], k == 0);
            if (key != no_key) give(key, items[k].value);
        }
    }
    template <class Give>
    GPUBENCH_DEVICE void finish(const Give& give) const {
        give_together({sum, place}, give);
    }
};

// Add the elements from `start` on to the sums of the places from `first` on.
template <class T, class Index>
GPUBENCH_DEVICE void add_to_segment(sum_t<T>* sums, const T* source, const List<Index>& list, uint32 start, uint32 stop, uint32 first,
                                    const BlockCopiesShape& shape) {
    using A = sum_t<T>;
    const alpha_t<T> alpha = alpha_of<T>(shape.alpha);
    const auto give = [&](uint32 place, A value) { atomic_add(sums + place, value); };
    Kept<A> kept;
    for (uint32 base = start + thread_index_x(); base - lane_index() < stop; base += block_size_x() * copy_items<T>) {
        typename List<Index>::Entry entries[copy_items<T>];
        T raw[copy_items<T>];
        Item<A> items[copy_items<T>];
        const auto item = [&](int k) { return base + k * block_size_x(); };
        GPUBENCH_UNROLL
        for (int k = 0; k < copy_items<T>; ++k) entries[k] = list.entry(shape.inner.divide(item(k)).quotient, item(k) < stop);
        GPUBENCH_UNROLL
        for (int k = 0; k < copy_items<T>; ++k) {
            const auto at = shape.inner.divide(item(k));
            raw[k] = load_if(source + List<Index>::position(entries[k], at.quotient) * shape.index_step + at.remainder, item(k) < stop);
        }
        GPUBENCH_UNROLL
        for (int k = 0; k < copy_items<T>; ++k) {
            const int64 row = List<Index>::row(entries[k]);
            const bool inside = item(k) < stop && row >= 0 && row < shape.places;
            const uint32 place = static_cast<uint32>(row) * shape.inner.divisor + shape.inner.divide(item(k)).remainder - first;
            items[k] = {add_scaled<T>(A{}, convert<A>(raw[k]), alpha), inside && place < shape.segment ? place : no_key};
        }
        kept.take(items, give);
    }
    kept.finish(give);
}

template <class A>
GPUBENCH_DEVICE bool is_zero(A value) {
    if constexpr (is_complex<A>) return value.real == 0 && value.imag == 0;
    else return value == A{};
}

// Add the sums to the destination's elements from `first` on, and clear them.
template <class T>
GPUBENCH_DEVICE void flush_segment(sum_t<T>* sums, T* destination, uint32 first, const BlockCopiesShape& shape) {
    using A = sum_t<T>;
    constexpr int at_once = sizeof(T) == 16 ? 2 : 8;
    const uint32 count = shape.elements - first < shape.segment ? shape.elements - first : shape.segment;
    for (uint32 base = thread_index_x(); base < count; base += block_size_x() * at_once) {
        A added[at_once];
        T old[at_once];
        const auto target = [&](int k) {
            const auto at = shape.inner.divide(first + base + k * block_size_x());
            return destination + at.quotient * shape.place_step + at.remainder;
        };
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) {
            const uint32 i = base + k * block_size_x();
            added[k] = i < count ? sums[i] : A{};
            if (is_zero(added[k])) continue;
            sums[i] = A{};
            if (shape.parts == 1) old[k] = *target(k);
        }
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) {
            if (is_zero(added[k])) continue;
            if (shape.parts == 1) *target(k) = convert<T>(add(convert<A>(old[k]), added[k]));
            else atomic_add(target(k), convert<T>(added[k]));
        }
    }
}

// list: of indices, or of pairs with totals: pairs of each segment.
template <class T, class Index>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(1024)
    add_by_copies(T* destination, const T* source, const Index* list, const uint32* totals, uint64* meetings, const BlockCopiesShape shape) {
    GPUBENCH_DYNAMIC_SHARED(sum_t<T>, sums);
    for (int64 i = grid_thread(); i < shape.words; i += grid_threads()) meetings[i] = 0;
    together(shape.segment, [&](int i) { sums[i] = sum_t<T>{}; });
    for (int unit = block_index_x(); unit < shape.units; unit += grid_size_x()) {
        const int outer = unit / shape.parts, part = unit - outer * shape.parts;
        uint32 items = shape.items, range = shape.range, begin = 0;
        for (uint32 first = 0; first < shape.elements; first += shape.segment) {
            if constexpr (is_same<Index, Pair>) {
                items = totals[first / shape.segment] * shape.inner.divisor;
                range = (items + shape.parts - 1) / shape.parts;
            }
            const uint32 start = begin + (part * range < items ? part * range : items);
            const uint32 stop = begin + items - start < range ? begin + items : start + range;
            in_turn([&] { add_to_segment(sums, source + outer * shape.outer_index, List<Index>{list}, start, stop, first, shape); },
                    [&] { flush_segment(sums, destination + outer * shape.outer_place, first, shape); });
            if constexpr (is_same<Index, Pair>) begin += items;
        }
    }
}

}  // namespace gpubench::index_add
