// A vector of items in a thread's hands: how many there are, how they are converted, scanned and combined.
//
// `combine` is an associative function object such as Add{} (arithmetic.cuh); it is applied in the order of the items.
#pragma once

#include "gpubench/types.cuh"
#include "gpubench/vector.cuh"

namespace gpubench {

// Elements of one vector: 16 bytes of the wider of x and y.
template <class T, class Out>
constexpr int vector_items = 16 / (sizeof(T) > sizeof(Out) ? sizeof(T) : sizeof(Out)) > 0
                                 ? 16 / static_cast<int>(sizeof(T) > sizeof(Out) ? sizeof(T) : sizeof(Out))
                                 : 1;

// 8- and 16-bit integers that are accumulated in 64 bits: 32 hold the totals of a part of a row, far below 65536 elements.
template <class T, class A>
constexpr bool is_narrow = is_integer<T> && sizeof(T) < 4 && is_same<A, int64>;

// The type of totals inside a tile of fewer than 65536 elements.
template <class T, class A>
using tile_accumulator_t = conditional_t<is_narrow<T, A>, int32, A>;

template <int V, class A, class T>
GPUBENCH_DEVICE Vector<A, V> convert_items(const Vector<T, V>& raw) {
    Vector<A, V> items;
    GPUBENCH_UNROLL
    for (int j = 0; j < V; ++j) items[j] = convert<A>(raw[j]);
    return items;
}

// 16-bit floats that are converted two at a time, from and to the words that hold them.
template <class T, class A, int V>
constexpr bool in_pairs = V % 2 == 0 && is_half<T> && is_same<A, float>;

template <int V, class A, class T>
GPUBENCH_DEVICE Vector<A, V> unpack_items(const Packed<T, V>& packed) {
    if constexpr (in_pairs<T, A, V>) {
        Vector<A, V> items;
        GPUBENCH_UNROLL
        for (int j = 0; j < V / 2; ++j) {
            const FloatPair pair = is_same<T, half> ? halves_to_floats(packed.word(j)) : bfloat16s_to_floats(packed.word(j));
            items[2 * j] = pair.low;
            items[2 * j + 1] = pair.high;
        }
        return items;
    } else {
        return convert_items<V, A>(bit_cast<Vector<T, V>>(packed));
    }
}

template <int V, class Out, class A>
GPUBENCH_DEVICE Packed<Out, V> pack_items(const Vector<A, V>& items) {
    if constexpr (in_pairs<Out, A, V>) {
        uint32 words[V / 2];
        GPUBENCH_UNROLL
        for (int j = 0; j < V / 2; ++j) {
            const FloatPair pair{items[2 * j], items[2 * j + 1]};
            words[j] = is_same<Out, half> ? floats_to_halves(pair) : floats_to_bfloat16s(pair);
        }
        return Packed<Out, V>::from(words);
    } else {
        return bit_cast<Packed<Out, V>>(convert_items<V, Out>(items));
    }
}

// Each item becomes the total of the items up to and with it.
template <int V, class A, class Combine>
GPUBENCH_DEVICE void scan_items(Vector<A, V>& items, Combine combine) {
    GPUBENCH_UNROLL
    for (int j = 1; j < V; ++j) items[j] = combine(items[j - 1], items[j]);
}

// The total of all items.
template <int V, class A, class Combine>
GPUBENCH_DEVICE A reduce_items(const Vector<A, V>& items, Combine combine) {
    A total = items[0];
    GPUBENCH_UNROLL
    for (int j = 1; j < V; ++j) total = combine(total, items[j]);
    return total;
}

// `before` comes before each item.
template <int V, class A, class Combine>
GPUBENCH_DEVICE void combine_before(Vector<A, V>& items, A before, Combine combine) {
    GPUBENCH_UNROLL
    for (int j = 0; j < V; ++j) items[j] = combine(before, items[j]);
}

// Item by item, `other` comes behind the totals.
template <int V, class A, class Combine>
GPUBENCH_DEVICE void combine_items(Vector<A, V>& totals, const Vector<A, V>& other, Combine combine) {
    GPUBENCH_UNROLL
    for (int j = 0; j < V; ++j) totals[j] = combine(totals[j], other[j]);
}

}  // namespace gpubench
