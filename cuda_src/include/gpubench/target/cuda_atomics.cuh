// Atomics on a GPU. Part of target/cuda.cuh. Types that the machine cannot add by itself go through compare-and-swap on
// the aligned 32-bit word that holds them; neighbours in that word are written back unchanged.
#pragma once

namespace gpubench {

GPUBENCH_DEVICE void atomic_add(int32* address, int32 value) { atomicAdd(address, value); }
GPUBENCH_DEVICE void atomic_add(uint32* address, uint32 value) { atomicAdd(address, value); }
GPUBENCH_DEVICE void atomic_add(uint64* address, uint64 value) { atomicAdd(address, value); }
GPUBENCH_DEVICE void atomic_add(int64* address, int64 value) {
    atomicAdd(reinterpret_cast<uint64*>(address), static_cast<uint64>(value));
}
GPUBENCH_DEVICE void atomic_add(float* address, float value) { atomicAdd(address, value); }
GPUBENCH_DEVICE void atomic_add(double* address, double value) { atomicAdd(address, value); }

GPUBENCH_DEVICE int32 fetch_add(int32* address, int32 value) { return atomicAdd(address, value); }
GPUBENCH_DEVICE uint32 fetch_add(uint32* address, uint32 value) { return atomicAdd(address, value); }
GPUBENCH_DEVICE uint64 fetch_add(uint64* address, uint64 value) { return atomicAdd(address, value); }
GPUBENCH_DEVICE int64 fetch_add(int64* address, int64 value) {
    return static_cast<int64>(atomicAdd(reinterpret_cast<uint64*>(address), static_cast<uint64>(value)));
}

GPUBENCH_DEVICE uint32 atomic_exchange(uint32* address, uint32 value) { return atomicExch(address, value); }
GPUBENCH_DEVICE uint64 atomic_exchange(uint64* address, uint64 value) { return atomicExch(address, value); }
GPUBENCH_DEVICE uint32 atomic_max(uint32* address, uint32 value) { return atomicMax(address, value); }
GPUBENCH_DEVICE uint64 atomic_max(uint64* address, uint64 value) { return atomicMax(address, value); }
GPUBENCH_DEVICE uint32 atomic_min(uint32* address, uint32 value) { return atomicMin(address, value); }
GPUBENCH_DEVICE uint64 atomic_min(uint64* address, uint64 value) { return atomicMin(address, value); }
GPUBENCH_DEVICE uint16 compare_exchange(uint16* address, uint16 expected, uint16 desired) {
    return atomicCAS(address, expected, desired);
}
GPUBENCH_DEVICE uint32 compare_exchange(uint32* address, uint32 expected, uint32 desired) {
    return atomicCAS(address, expected, desired);
}
GPUBENCH_DEVICE uint64 compare_exchange(uint64* address, uint64 expected, uint64 desired) {
    return atomicCAS(address, expected, desired);
}

namespace detail {

// Replace the W (8 or 16 bits) at `address` by change(W) in one step.
template <class W, class Change>
GPUBENCH_DEVICE void atomic_change_in_word(W* address, const Change& change) {
    const uint64 place = reinterpret_cast<uint64>(address);
    uint32* const word = reinterpret_cast<uint32*>(place & ~uint64{3});
    const uint32 shift = static_cast<uint32>(place & 3) * 8;
    const uint32 field = static_cast<uint32>(static_cast<W>(~W{0})) << shift;
    uint32 seen = load_relaxed(word);
    uint32 expected;
    do {
        expected = seen;
        const W changed = change(static_cast<W>(expected >> shift));
        seen = atomicCAS(word, expected, (expected & ~field) | static_cast<uint32>(changed) << shift);
    } while (seen != expected);
}

GPUBENCH_DEVICE uint16 add_bfloat16_bits(uint16 a, uint16 b) {
    return bits16::float_to_bfloat16(bits16::bfloat16_to_float(a) + bits16::bfloat16_to_float(b));
}

}  // namespace detail

GPUBENCH_DEVICE void atomic_add(uint8* address, uint8 value) {
    detail::atomic_change_in_word(address, [=](uint8 old) { return static_cast<uint8>(old + value); });
}
GPUBENCH_DEVICE void atomic_add(int8* address, int8 value) {
    atomic_add(reinterpret_cast<uint8*>(address), static_cast<uint8>(value));
}
GPUBENCH_DEVICE void atomic_add(uint16* address, uint16 value) {
    detail::atomic_change_in_word(address, [=](uint16 old) { return static_cast<uint16>(old + value); });
}
GPUBENCH_DEVICE void atomic_add(int16* address, int16 value) {
    atomic_add(reinterpret_cast<uint16*>(address), static_cast<uint16>(value));
}

namespace detail {

// Add to the small integers of a word, or subtract, by the machine's addition: what that carries from one into the next is taken
// back there, until nothing is carried. All additions commute, so the word is right in the end.
template <class T>
GPUBENCH_DEVICE void add_fields(uint32* word, uint32 amount, bool down) {
    constexpr uint32 lowest = sizeof(T) == 1 ? 0x01010100u : 0x00010000u;  // where carries arrive
    for (; amount != 0; down = !down) {
        const uint32 sent = down ? 0u - amount : amount, old = atomicAdd(word, sent);
        amount = (old ^ amount ^ (old + sent)) & lowest;
    }
}

}  // namespace detail

// The small integers of a whole word.
template <class T>
GPUBENCH_DEVICE void atomic_add_in_word(T* address, uint32 word) {
    detail::add_fields<T>(reinterpret_cast<uint32*>(address), word, false);
}
template <class T>
GPUBENCH_DEVICE void atomic_add_in_word(T* address, T value) {
    const uint64 place = reinterpret_cast<uint64>(address);
    const int32 number = sizeof(T) == 1 ? static_cast<int8>(value) : static_cast<int16>(value);
    const uint32 amount = static_cast<uint32>(number < 0 ? -number : number) << (place & 3) * 8;
    detail::add_fields<T>(reinterpret_cast<uint32*>(place & ~uint64{3}), amount, number < 0);
}

// 8 or 16 bytes of floats in global memory, each added by itself.
GPUBENCH_DEVICE void atomic_add_floats(float* address, uint64 bits) {
    const float first = bit_cast<float>(static_cast<uint32>(bits)), second = bit_cast<float>(static_cast<uint32>(bits >> 32));
    if constexpr (architecture >= 900) {
        asm volatile("red.relaxed.gpu.global.add.v2.f32 [%0], {%1, %2};" ::"l"(address), "f"(first), "f"(second) : "memory");
    } else {
        atomicAdd(address, first);
        atomicAdd(address + 1, second);
    }
}
GPUBENCH_DEVICE void atomic_add_floats(float* address, Word128 bits) {
    const uint32 words[4] = {static_cast<uint32>(bits.low), static_cast<uint32>(bits.low >> 32), static_cast<uint32>(bits.high),
                             static_cast<uint32>(bits.high >> 32)};
    if constexpr (architecture >= 900) {
        asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(address), "f"(bit_cast<float>(words[0])),
                     "f"(bit_cast<float>(words[1])), "f"(bit_cast<float>(words[2])), "f"(bit_cast<float>(words[3]))
                     : "memory");
    } else {
        GPUBENCH_UNROLL
        for (int i = 0; i < 4; ++i) atomicAdd(address + i, bit_cast<float>(words[i]));
    }
}

// Pairs of 16-bit floats in global memory: the machine adds those in one instruction, while a single one would become a
// compare-and-swap loop.
GPUBENCH_DEVICE void atomic_add_half_pair(uint32* address, uint32 bits) {
    asm volatile("red.relaxed.gpu.global.add.noftz.f16x2 [%0], %1;" ::"l"(address), "r"(bits) : "memory");
}
GPUBENCH_DEVICE void atomic_add_bfloat16_pair(uint32* address, uint32 bits) {
    if constexpr (architecture >= 900) {
        asm volatile("red.relaxed.gpu.global.add.noftz.bf16x2 [%0], %1;" ::"l"(address), "r"(bits) : "memory");
    } else {
        detail::atomic_change_in_word(address, [=](uint32 old) {
            const uint16 low = detail::add_bfloat16_bits(static_cast<uint16>(old), static_cast<uint16>(bits));
            const uint16 high = detail::add_bfloat16_bits(static_cast<uint16>(old >> 16), static_cast<uint16>(bits >> 16));
            return static_cast<uint32>(high) << 16 | low;
        });
    }
}

// The same, 16 bytes of them.
GPUBENCH_DEVICE void atomic_add_halves(uint32* address, Word128 bits) {
    const uint32 words[4] = {static_cast<uint32>(bits.low), static_cast<uint32>(bits.low >> 32), static_cast<uint32>(bits.high),
                             static_cast<uint32>(bits.high >> 32)};
    if constexpr (architecture >= 900) {
        asm volatile("red.relaxed.gpu.global.add.noftz.v4.f16x2 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(words[0]), "r"(words[1]),
                     "r"(words[2]), "r"(words[3])
                     : "memory");
    } else {
        GPUBENCH_UNROLL
        for (int i = 0; i < 4; ++i) atomic_add_half_pair(address + i, words[i]);
    }
}
GPUBENCH_DEVICE void atomic_add_bfloat16s(uint32* address, Word128 bits) {
    const uint32 words[4] = {static_cast<uint32>(bits.low), static_cast<uint32>(bits.low >> 32), static_cast<uint32>(bits.high),
                             static_cast<uint32>(bits.high >> 32)};
    if constexpr (architecture >= 900) {
        asm volatile("red.relaxed.gpu.global.add.noftz.v4.bf16x2 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(words[0]), "r"(words[1]),
                     "r"(words[2]), "r"(words[3])
                     : "memory");
    } else {
        GPUBENCH_UNROLL
        for (int i = 0; i < 4; ++i) atomic_add_bfloat16_pair(address + i, words[i]);
    }
}

namespace detail {

// A 16-bit float as a pair whose other half is -0, which changes nothing when it is added; and the word of the pair.
GPUBENCH_DEVICE uint32 padded_pair(const uint16* address, uint16 bits) {
    const bool upper = (reinterpret_cast<uint64>(address) & 2) != 0;
    return upper ? static_cast<uint32>(bits) << 16 | 0x8000u : 0x80000000u | bits;
}
GPUBENCH_DEVICE uint32* word_of_pair(uint16* address) {
    return reinterpret_cast<uint32*>(reinterpret_cast<uint64>(address) & ~uint64{3});
}

}  // namespace detail

GPUBENCH_DEVICE void atomic_add_half(uint16* address, uint16 bits) {
    atomic_add_half_pair(detail::word_of_pair(address), detail::padded_pair(address, bits));
}
GPUBENCH_DEVICE void atomic_add_bfloat16(uint16* address, uint16 bits) {
    if constexpr (architecture >= 900) {
        atomic_add_bfloat16_pair(detail::word_of_pair(address), detail::padded_pair(address, bits));
    } else {
        detail::atomic_change_in_word(address, [=](uint16 old) { return detail::add_bfloat16_bits(old, bits); });
    }
}

}  // namespace gpubench
