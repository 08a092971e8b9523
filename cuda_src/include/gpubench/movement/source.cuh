// Terms by whole vectors, wherever they begin: memory is read by vectors that stand on 16 bytes, and of the first and the last
// vector of a run the items that belong to others are set to zero, or what becomes of them is never looked at. Only the
// vector that reaches beyond the source's end is read item by item.
#pragma once

#include "gpubench/items.cuh"

namespace gpubench {

// Items of a vector of 16 bytes.
template <class T>
constexpr int vector_terms = 16 / static_cast<int>(sizeof(T));

// The first bytes of a word of 32 bits: so many, 0 to 4 and beyond.
GPUBENCH_DEVICE uint32 first_bytes(int bytes) { return bytes <= 0 ? 0u : bytes >= 4 ? ~0u : ~0u >> (32 - 8 * bytes); }

// Items `from` to `to` - 1 of a vector, and zero in the place of the others.
template <class T, int V>
GPUBENCH_DEVICE Packed<T, V> keep_items(const Packed<T, V>& packed, int from, int to) {
    constexpr int size = sizeof(T);
    if constexpr (V == 1) {
        return from <= 0 && to >= 1 ? packed : Packed<T, V>{};
    } else {
        constexpr int count = size * V / 4;
        uint32 words[count];
        GPUBENCH_UNROLL
        for (int w = 0; w < count; ++w) words[w] = packed.word(w) & first_bytes(to * size - 4 * w) & ~first_bytes(from * size - 4 * w);
        return Packed<T, V>::from(words);
    }
}

// Items between the vector boundary at or before `address` and `address`.
template <int V, class T>
GPUBENCH_DEVICE int items_before(const T* address) {
    return static_cast<int>(reinterpret_cast<uint64>(address) / sizeof(T) % V);
}

// The vector that begins `items` behind the first of two, which stand side by side.
template <class T, int V>
GPUBENCH_DEVICE Packed<T, V> shift_items(const Packed<T, V>& first, const Packed<T, V>& second, int items) {
    constexpr int bytes = static_cast<int>(sizeof(T)) * V;
    const uint32 bits = static_cast<uint32>(items) * (8 * sizeof(T));
    if constexpr (bytes == 16) {
        uint32 all[8], by_two[6], by_one[5], words[4];
        GPUBENCH_UNROLL
        for (int w = 0; w < 8; ++w) all[w] = w < 4 ? first.word(w) : second.word(w - 4);
        GPUBENCH_UNROLL
        for (int w = 0; w < 6; ++w) by_two[w] = (bits & 64) != 0 ? all[w + 2] : all[w];
        GPUBENCH_UNROLL
        for (int w = 0; w < 5; ++w) by_one[w] = (bits & 32) != 0 ? by_two[w + 1] : by_two[w];
        GPUBENCH_UNROLL
        for (int w = 0; w < 4; ++w) words[w] = static_cast<uint32>((uint64{by_one[w + 1]} << 32 | by_one[w]) >> (bits & 31));
        return Packed<T, V>::from(words);
    } else if constexpr (bytes == 8) {
        const uint64 low = bit_cast<uint64>(first), high = bit_cast<uint64>(second);
        return bit_cast<Packed<T, V>>(low >> bits | high << 1 << (63 - bits));
    } else {
        using W = Word<bytes>;
        const uint64 both = uint64{bit_cast<W>(second)} << 8 * bytes | bit_cast<W>(first);
        return bit_cast<Packed<T, V>>(static_cast<W>(both >> bits));
    }
}

// The vector at an address in shared memory, on its own size.
template <int V, class T>
GPUBENCH_DEVICE Packed<T, V> shared_items(const T* address) { return load_packed<V>(address); }

// The vector at an address, on its own size or on 16 bytes; zero, and no access, where it does not exist. Such loads of a thread are under
// way together, whatever is done with what they bring: see load_existing.
template <int V, Cache C = Cache::normal, class T>
GPUBENCH_DEVICE Packed<T, V> vector_if(const T* address, bool exists) {
    using W = Word<Packed<T, V>::size>;
    const W* const words = reinterpret_cast<const W*>(address);
    if constexpr (sizeof(W) == sizeof(Packed<T, V>)) {
        return bit_cast<Packed<T, V>>(load_existing<C>(words, exists));
    } else {
        Packed<T, V> packed;
        GPUBENCH_UNROLL
        for (int i = 0; i < static_cast<int>(sizeof(packed) / sizeof(W)); ++i) packed.words[i] = load_existing<C>(words + i, exists);
        return packed;
    }
}
template <Cache C = Cache::normal, class T>
GPUBENCH_DEVICE T load_if(const T* address, bool exists) {
    return bit_cast<T>(vector_if<1, C>(address, exists));
}

// How x is read: whether the L2 cache gives it up first, and where its elements end. Kernels hold code for either, so that
// loads stand side by side: a hint chosen by predicates made 4 million rows of 16 bfloat16 take 55 us in place of 43.
template <class T, bool FirstOut>
struct Source {
    const T* end;

    // The vector at `address`, on its own size; zero, and no access, where it does not exist.
    template <int V>
    GPUBENCH_DEVICE Packed<T, V> load(const T* address, bool exists) const {
        return vector_if<V, FirstOut ? Cache::first_out : Cache::normal>(address, exists);
    }
    // Whether a vector of which some items exist reaches beyond x.
    template <int V>
    GPUBENCH_DEVICE bool beyond(const T* address) const { return V > 1 && address + V > end; }
    // Such a vector, item by item, zero behind x's end.
    template <int V>
    GPUBENCH_DEVICE Packed<T, V> load_last(const T* address) const {
        Vector<T, V> items;
        GPUBENCH_UNROLL
        for (int j = 0; j < V; ++j) items[j] = bit_cast<T>(load<1>(address + j, address + j < end));
        return bit_cast<Packed<T, V>>(items);
    }
    // Either of both.
    template <int V>
    GPUBENCH_DEVICE Packed<T, V> load_any(const T* address) const {
        return beyond<V>(address) ? load_last<V>(address) : load<V>(address, true);
    }
};

}  // namespace gpubench
