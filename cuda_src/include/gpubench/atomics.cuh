// Atomic sums for the dtypes that the platform does not know: beside the platform's atomic_add for integers, float and
// double. Each addition into a 16-bit float rounds to it. The two parts of a complex number are added one after the
// other: the sum is right, but a reader in between can see one part without the other.
#pragma once

#include "gpubench/types.cuh"
#include "gpubench/vector.cuh"

namespace gpubench {

GPUBENCH_DEVICE void atomic_add(half* address, half value) {
    atomic_add_half(reinterpret_cast<uint16*>(address), value.bits);
}

GPUBENCH_DEVICE void atomic_add(bfloat16* address, bfloat16 value) {
    atomic_add_bfloat16(reinterpret_cast<uint16*>(address), value.bits);
}

template <class R>
GPUBENCH_DEVICE void atomic_add(complex<R>* address, complex<R> value) {
    atomic_add(&address->real, value.real);
    atomic_add(&address->imag, value.imag);
}

// Neighbours at an address aligned to the vector, each added by itself: up to 16 bytes of floats at once where the machine can. Small
// integers by atomic_add_in_word: nobody may write their words otherwise meanwhile.
template <class T, int N>
GPUBENCH_DEVICE void atomic_add_vector(T* address, const Packed<T, N>& values) {
    constexpr bool whole = sizeof(values) == 16, words = sizeof(values) % 4 == 0;
    constexpr int count = static_cast<int>(sizeof(values)) / 4;
    if constexpr (whole && (is_same<T, float> || is_same<T, complex<float>>)) {
        atomic_add_floats(reinterpret_cast<float*>(address), values.words[0]);
    } else if constexpr (sizeof(values) == 8 && (is_same<T, float> || is_same<T, complex<float>>)) {
        atomic_add_floats(reinterpret_cast<float*>(address), values.words[0]);
    } else if constexpr (whole && is_same<T, half>) {
        atomic_add_halves(reinterpret_cast<uint32*>(address), values.words[0]);
    } else if constexpr (whole && is_same<T, bfloat16>) {
        atomic_add_bfloat16s(reinterpret_cast<uint32*>(address), values.words[0]);
    } else if constexpr (words && (is_same<T, half> || is_same<T, bfloat16>)) {
        GPUBENCH_UNROLL
        for (int i = 0; i < count; ++i) {
            uint32* const pair = reinterpret_cast<uint32*>(address) + i;
            if constexpr (is_same<T, half>) atomic_add_half_pair(pair, values.word(i));
            else atomic_add_bfloat16_pair(pair, values.word(i));
        }
    } else if constexpr (words && is_integer<T> && sizeof(T) <= 2) {
        GPUBENCH_UNROLL
        for (int i = 0; i < count; ++i) atomic_add_in_word(address + i * (N / count), values.word(i));
    } else if constexpr (N == 1 && is_integer<T> && sizeof(T) <= 2) {
        atomic_add_in_word(address, bit_cast<T>(values));
    } else {
        const auto items = bit_cast<Vector<T, N>>(values);
        GPUBENCH_UNROLL
        for (int i = 0; i < N; ++i) atomic_add(address + i, items[i]);
    }
}

}  // namespace gpubench
