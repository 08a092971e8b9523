// Several elements as one aligned access.
#pragma once

#include "gpubench/platform.cuh"

namespace gpubench {

namespace detail {
GPUBENCH_DEVICE constexpr int vector_alignment(int bytes) { return bytes < 16 ? bytes : 16; }
}  // namespace detail

// N elements side by side, aligned so that they move in accesses of up to 16 bytes. sizeof(T) * N is a power of two.
template <class T, int N>
struct alignas(detail::vector_alignment(sizeof(T) * N)) Vector {
    T values[N];

    GPUBENCH_DEVICE T& operator[](int i) { return values[i]; }
    GPUBENCH_DEVICE const T& operator[](int i) const { return values[i]; }
};

// N elements as the words that move them: one for up to 16 bytes, several of 16 beyond that. Elements of 1 or 2 bytes that
// a loop carries on in this form are not cut apart and put together again at each turn.
template <class T, int N>
struct Packed {
    static constexpr int bytes = static_cast<int>(sizeof(T)) * N, size = detail::vector_alignment(bytes);
    Word<size> words[bytes / size];

    // Word i of 32 bits; there are bytes / 4.
    GPUBENCH_DEVICE uint32 word(int i) const {
        if constexpr (size == 16) {
            const uint64 half = i % 4 < 2 ? words[i / 4].low : words[i / 4].high;
            return static_cast<uint32>(i % 2 == 0 ? half : half >> 32);
        } else if constexpr (size == 8) {
            return static_cast<uint32>(i == 0 ? words[0] : words[0] >> 32);
        } else {
            static_assert(size == 4);
            return words[0];
        }
    }
    // From bytes / 4 words of 32 bits.
    GPUBENCH_DEVICE static Packed from(const uint32 (&all)[bytes / 4 > 0 ? bytes / 4 : 1]) {
        const auto both = [&](int i) { return all[i] | uint64{all[i + 1]} << 32; };
        Packed packed;
        if constexpr (size == 16) {
            GPUBENCH_UNROLL
            for (int i = 0; i < bytes / 16; ++i) packed.words[i] = Word128{both(4 * i), both(4 * i + 2)};
        } else if constexpr (size == 8) {
            packed.words[0] = both(0);
        } else {
            static_assert(size == 4);
            packed.words[0] = all[0];
        }
        return packed;
    }
};

// Load N elements from an address aligned to the vector.
template <int N, Cache C = Cache::normal, class T>
GPUBENCH_DEVICE Packed<T, N> load_packed(const T* address) {
    using W = Word<Packed<T, N>::size>;
    Packed<T, N> packed;
    GPUBENCH_UNROLL
    for (int i = 0; i < static_cast<int>(sizeof(packed) / sizeof(W)); ++i) {
        packed.words[i] = load_word<C>(reinterpret_cast<const W*>(address) + i);
    }
    return packed;
}

// Store N elements to an address aligned to the vector.
template <Cache C = Cache::normal, class T, int N>
GPUBENCH_DEVICE void store_packed(T* address, const Packed<T, N>& packed) {
    using W = Word<Packed<T, N>::size>;
    GPUBENCH_UNROLL
    for (int i = 0; i < static_cast<int>(sizeof(packed) / sizeof(W)); ++i) {
        store_word<C>(reinterpret_cast<W*>(address) + i, packed.words[i]);
    }
}

template <int N, Cache C = Cache::normal, class T>
GPUBENCH_DEVICE Vector<T, N> load_vector(const T* address) {
    return bit_cast<Vector<T, N>>(load_packed<N, C>(address));
}
template <Cache C = Cache::normal, class T, int N>
GPUBENCH_DEVICE void store_vector(T* address, const Vector<T, N>& vector) {
    store_packed<C>(address, bit_cast<Packed<T, N>>(vector));
}

// One element, with a hint.
template <Cache C, class T>
GPUBENCH_DEVICE T load(const T* address) {
    return bit_cast<T>(load_word<C>(reinterpret_cast<const Word<sizeof(T)>*>(address)));
}
template <Cache C, class T>
GPUBENCH_DEVICE void store(T* address, T value) {
    store_word<C>(reinterpret_cast<Word<sizeof(T)>*>(address), bit_cast<Word<sizeof(T)>>(value));
}

// Loads and stores of what is used only once.
template <class T>
GPUBENCH_DEVICE T load_streaming(const T* address) {
    return load<Cache::streaming>(address);
}
template <class T>
GPUBENCH_DEVICE void store_streaming(T* address, T value) {
    store<Cache::streaming>(address, value);
}

// True when the address is a multiple of `bytes` (a power of two).
GPUBENCH_DEVICE bool is_aligned(const void* address, int bytes) {
    return (reinterpret_cast<uint64>(address) & static_cast<uint64>(bytes - 1)) == 0;
}

}  // namespace gpubench
