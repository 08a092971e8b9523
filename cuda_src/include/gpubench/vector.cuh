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

namespace detail {

// A vector as the words that move it: one for up to 16 bytes, several of 16 beyond that.
template <int Bytes>
struct Words {
    static constexpr int size = vector_alignment(Bytes);
    Word<size> words[Bytes / size];
};

}  // namespace detail

// Load N elements from an address aligned to the vector.
template <int N, Cache C = Cache::normal, class T>
GPUBENCH_DEVICE Vector<T, N> load_vector(const T* address) {
    using Words = detail::Words<sizeof(T) * N>;
    using W = Word<Words::size>;
    Words words;
    GPUBENCH_UNROLL
    for (int i = 0; i < static_cast<int>(sizeof(Words) / sizeof(W)); ++i) {
        words.words[i] = load_word<C>(reinterpret_cast<const W*>(address) + i);
    }
    return bit_cast<Vector<T, N>>(words);
}

// Store N elements to an address aligned to the vector.
template <Cache C = Cache::normal, class T, int N>
GPUBENCH_DEVICE void store_vector(T* address, const Vector<T, N>& vector) {
    using Words = detail::Words<sizeof(T) * N>;
    using W = Word<Words::size>;
    const Words words = bit_cast<Words>(vector);
    GPUBENCH_UNROLL
    for (int i = 0; i < static_cast<int>(sizeof(Words) / sizeof(W)); ++i) {
        store_word<C>(reinterpret_cast<W*>(address) + i, words.words[i]);
    }
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
