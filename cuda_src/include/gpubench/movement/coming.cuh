// Vectors at any alignment, all asked for before the first is waited for.
//
// Data: a vector that stands on its own size comes by one access. Another comes as the two aligned words that hold its elements
// and is cut out of them only when it is wanted, so that nothing stands between the loads. Neighbouring lanes share words,
// which the L1 cache joins. Where such a word would reach beyond the operand, it comes element by element.
#pragma once

#include "gpubench/movement/lines.cuh"

namespace gpubench {

// Elements between the vector boundary at or before an address and the address.
template <int V, class T>
GPUBENCH_DEVICE int behind_grid(const T* address) {
    return static_cast<int>(reinterpret_cast<uint64>(address) / sizeof(T) % V);
}

// A vector of up to 16 bytes on its own size.
template <int V, class T>
GPUBENCH_DEVICE Packed<T, V> load_on_grid(const T* address) {
    return bit_cast<Packed<T, V>>(load_word(reinterpret_cast<const Word<sizeof(T) * V>*>(address)));
}
template <class T, int V>
GPUBENCH_DEVICE void store_on_grid(T* address, const Packed<T, V>& packed) {
    using W = Word<sizeof(T) * V>;
    store_word(reinterpret_cast<W*>(address), bit_cast<W>(packed));
}

// Elements from `address` on, `step` apart, of which those from `from` to `to` - 1 exist; the others are zero.
template <int V, class T>
GPUBENCH_DEVICE Packed<T, V> load_one_by_one(const T* address, int64 step, int from, int to) {
    Vector<T, V> items{};
    GPUBENCH_UNROLL
    for (int j = 0; j < V; ++j, address += step) {
        if (j >= from && j < to) items[j] = *address;
    }
    return bit_cast<Packed<T, V>>(items);
}

// Only elements `from` to `to` - 1 of a vector.
template <class T, int V>
GPUBENCH_DEVICE void store_one_by_one(T* address, const Packed<T, V>& packed, int from, int to) {
    const Vector<T, V> items = bit_cast<Vector<T, V>>(packed);
    GPUBENCH_UNROLL
    for (int j = 0; j < V; ++j) {
        if (j >= from && j < to) address[j] = items[j];
    }
}

// V elements on their way: as the two aligned words that hold them, `distance` elements behind the first one's beginning.
template <class T, int V>
struct Coming {
    Packed<T, V> words[V > 1 ? 2 : 1];
    int distance;

    // From an address on the vector's own size.
    GPUBENCH_DEVICE void ask_on_grid(const T* address) {
        words[0] = load_on_grid<V>(address);
        distance = 0;
    }
    // From any address, of an operand between `begin` and `end`; what lies outside is zero. All loads are asked for before anything
    // is waited for: who needs several vectors asks for all of them first.
    GPUBENCH_DEVICE void ask(const T* address, const T* begin, const T* end) {
        if constexpr (V == 1) {
            ask_on_grid(address);
        } else {
            distance = behind_grid<V>(address);
            const T* const low = address - distance;
            const bool inside = low >= begin && low + (distance > 0 ? 2 * V : V) <= end;
            if (inside) words[0] = load_on_grid<V>(low);
            if (inside && distance > 0) words[1] = load_on_grid<V>(low + V);
            if (!inside) {
                const int64 before = begin - address, left = end - address;
                words[0] = load_one_by_one<V>(address, 1, before > 0 ? static_cast<int>(before) : 0, left < V ? static_cast<int>(left) : V);
                distance = 0;
            }
        }
    }
    GPUBENCH_DEVICE Packed<T, V> get() const {
        if constexpr (V == 1) return words[0];
        else return joined(words[0], words[1], distance);
    }
};

}  // namespace gpubench
