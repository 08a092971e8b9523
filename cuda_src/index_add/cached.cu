// index_add, variant `cached`: single elements, and short rows, by atomics; those that many indices share are added up in shared
// memory before.
//
// Data: threads of a block take the elements of a tile of the source side by side, four at once, and table.cuh says what becomes of
// them. Sums are formed in the accumulator, rounded by each atomic, in any order. Why: the L2 cache takes 100 G scattered additions
// a second, but 0.57 G to one address (H200).
#include "index_add/table.cuh"

namespace gpubench::index_add {

// The elements at, at + threads ... before `stop`, asked for at once.
template <class T, class Index>
GPUBENCH_DEVICE void load_items(Item<sum_t<T>> (&items)[items_at_once<T>], const T* source, const Index* index, uint32 at, uint32 stop,
                                alpha_t<T> alpha, const CachedShape& shape) {
    constexpr int N = items_at_once<T>;
    int64 rows[N];
    uint32 inside[N];
    T raw[N];
    GPUBENCH_UNROLL
    for (int k = 0; k < N; ++k) {
        rows[k] = -1;
        inside[k] = 0;
        raw[k] = T{};
        const uint32 item = at + k * cached_threads;
        if (item >= stop) continue;
        const auto place = shape.inner.divide(item);
        inside[k] = place.remainder;
        rows[k] = static_cast<int64>(index[place.quotient]);
        raw[k] = load<Cache::read_only>(source + place.quotient * shape.index_step + place.remainder);
    }
    GPUBENCH_UNROLL
    for (int k = 0; k < N; ++k) {
        const bool good = rows[k] >= 0 && rows[k] < shape.places;
        items[k].key = good ? static_cast<uint32>(rows[k]) * shape.inner.divisor + inside[k] : no_key;
        items[k].value = add_scaled<T>(sum_t<T>{}, convert<sum_t<T>>(raw[k]), alpha);
    }
}

template <class T, class Index>
GPUBENCH_DEVICE void add_elements(const Table<T>& table, const T* source, const Index* index, const CachedShape& shape) {
    const alpha_t<T> alpha = alpha_of<T>(shape.alpha);
    add_through_table(table, shape.items, [&](Item<sum_t<T>> (&items)[items_at_once<T>], uint32 at) {
        load_items(items, source, index, at, shape.items, alpha, shape);
    });
}

template <class T, class Index>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(cached_threads, sizeof(T) > 8 ? 2 : 3)
    add_cached(T* destination, const T* source, const Index* index, const CachedShape shape) {
    GPUBENCH_DYNAMIC_SHARED(sum_t<T>, sums);
    const int64 outer = block_index_y();
    add_elements(Table<T>{sums, destination + outer * shape.outer_place, shape}, source + outer * shape.outer_index, index, shape);
}

}  // namespace gpubench::index_add
