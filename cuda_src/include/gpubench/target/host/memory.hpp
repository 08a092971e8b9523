// Plain, atomic and ordered access to memory on the host. Part of target/host.hpp.
#pragma once

namespace gpubench {

namespace detail {

// AddressSanitizer does not see the runtime's accesses: let it see one byte of each here.
inline void touch(const void* address) {
#if defined(__SANITIZE_ADDRESS__)
    (void)*static_cast<const volatile char*>(address);
#else
    (void)address;
#endif
}

inline void check_alignment(const void* address, unsigned bytes, host::Where where) {
    if (reinterpret_cast<uint64>(address) % bytes != 0) [[unlikely]] host::fail_misaligned(where, address, bytes);
}

template <class T>
uint64 update(host::Atomic kind, T* address, T value, host::Where where) {
    touch(address);
    return host::atomic_update(kind, address, sizeof(T), static_cast<uint64>(value), where);
}

// Change a number by compare-and-swap on a word of its size. `bits` seen as a number is the caller's business.
template <class W, class Change>
void change(W* address, const Change& next, host::Where where) {
    touch(address);
    uint64 seen = host::atomic_update(host::Atomic::add, address, sizeof(W), 0, where);
    for (;;) {
        const uint64 found = host::atomic_compare_exchange(address, sizeof(W), seen, next(static_cast<W>(seen)), where);
        if (found == seen) return;
        seen = found;
    }
}

}  // namespace detail

template <Cache C = Cache::normal, class W>
W load_word(const W* address, host::Where where = host::Where::here()) {
    detail::check_alignment(address, sizeof(W), where);
    return *address;
}
template <Cache C, class W>
W load_existing(const W* address, bool exists, host::Where where = host::Where::here()) {
    return exists ? load_word(address, where) : W{};
}
inline void prefetch(const void*) {}
template <Cache C = Cache::normal, class W>
void store_word(W* address, W word, host::Where where = host::Where::here()) {
    detail::check_alignment(address, sizeof(W), where);
    *address = word;
}

// --- Atomics: integers wrap, so that signed ones go through unsigned ones ------------------------------------------------

#define GPUBENCH_INTEGER_ADD(T)                                                                   \
    inline void atomic_add(T* address, T value, host::Where where = host::Where::here()) {       \
        detail::update(host::Atomic::add, address, value, where);                                 \
    }
GPUBENCH_INTEGER_ADD(int8)
GPUBENCH_INTEGER_ADD(uint8)
GPUBENCH_INTEGER_ADD(int16)
GPUBENCH_INTEGER_ADD(uint16)
GPUBENCH_INTEGER_ADD(int32)
GPUBENCH_INTEGER_ADD(uint32)
GPUBENCH_INTEGER_ADD(int64)
GPUBENCH_INTEGER_ADD(uint64)
#undef GPUBENCH_INTEGER_ADD

template <class T>
void atomic_add_in_word(T* address, T value, host::Where where = host::Where::here()) {
    atomic_add(address, value, where);
}
template <class T>
void atomic_add_in_word(T* address, uint32 word, host::Where where = host::Where::here()) {
    detail::check_alignment(address, 4, where);
    for (unsigned i = 0; i < 4 / sizeof(T); ++i) atomic_add(address + i, static_cast<T>(word >> i * 8 * sizeof(T)), where);
}

#define GPUBENCH_FLOAT_ADD(T, W)                                                                                   \
    inline void atomic_add(T* address, T value, host::Where where = host::Where::here()) {                        \
        detail::change(reinterpret_cast<W*>(address), [=](W old) { return bit_cast<W>(bit_cast<T>(old) + value); }, where); \
    }
GPUBENCH_FLOAT_ADD(float, uint32)
GPUBENCH_FLOAT_ADD(double, uint64)
#undef GPUBENCH_FLOAT_ADD

namespace detail {
inline uint16 add_half(uint16 a, uint16 b) { return bits16::float_to_half(bits16::half_to_float(a) + bits16::half_to_float(b)); }
inline uint16 add_bfloat16(uint16 a, uint16 b) {
    return bits16::float_to_bfloat16(bits16::bfloat16_to_float(a) + bits16::bfloat16_to_float(b));
}
template <class Add>
uint32 add_pair(uint32 a, uint32 b, const Add& add) {
    const uint32 low = add(static_cast<uint16>(a), static_cast<uint16>(b));
    const uint32 high = add(static_cast<uint16>(a >> 16), static_cast<uint16>(b >> 16));
    return high << 16 | low;
}
}  // namespace detail

inline void atomic_add_half(uint16* address, uint16 bits, host::Where where = host::Where::here()) {
    detail::change(address, [=](uint16 old) { return detail::add_half(old, bits); }, where);
}
inline void atomic_add_bfloat16(uint16* address, uint16 bits, host::Where where = host::Where::here()) {
    detail::change(address, [=](uint16 old) { return detail::add_bfloat16(old, bits); }, where);
}
inline void atomic_add_half_pair(uint32* address, uint32 bits, host::Where where = host::Where::here()) {
    detail::change(address, [=](uint32 old) { return detail::add_pair(old, bits, detail::add_half); }, where);
}
inline void atomic_add_bfloat16_pair(uint32* address, uint32 bits, host::Where where = host::Where::here()) {
    detail::change(address, [=](uint32 old) { return detail::add_pair(old, bits, detail::add_bfloat16); }, where);
}

namespace detail {
template <class Add>
void add_words(void* address, Word128 bits, const Add& add, host::Where where) {
    if (reinterpret_cast<std::uintptr_t>(address) % 16 != 0) host::fail_misaligned(where, address, 16);
    const uint64 halves[2] = {bits.low, bits.high};
    for (int i = 0; i < 4; ++i) add(i, static_cast<uint32>(halves[i / 2] >> (i % 2 * 32)));
}
}  // namespace detail

inline void atomic_add_floats(float* address, Word128 bits, host::Where where = host::Where::here()) {
    detail::add_words(address, bits, [=](int i, uint32 word) { atomic_add(address + i, bit_cast<float>(word), where); }, where);
}
inline void atomic_add_floats(float* address, uint64 bits, host::Where where = host::Where::here()) {
    if (reinterpret_cast<std::uintptr_t>(address) % 8 != 0) host::fail_misaligned(where, address, 8);
    atomic_add(address, bit_cast<float>(static_cast<uint32>(bits)), where);
    atomic_add(address + 1, bit_cast<float>(static_cast<uint32>(bits >> 32)), where);
}
inline void atomic_add_halves(uint32* address, Word128 bits, host::Where where = host::Where::here()) {
    detail::add_words(address, bits, [=](int i, uint32 word) { atomic_add_half_pair(address + i, word, where); }, where);
}
inline void atomic_add_bfloat16s(uint32* address, Word128 bits, host::Where where = host::Where::here()) {
    detail::add_words(address, bits, [=](int i, uint32 word) { atomic_add_bfloat16_pair(address + i, word, where); }, where);
}

#define GPUBENCH_UPDATE(name, kind, T)                                                      \
    inline T name(T* address, T value, host::Where where = host::Where::here()) {          \
        return static_cast<T>(detail::update(host::Atomic::kind, address, value, where));   \
    }
GPUBENCH_UPDATE(fetch_add, add, int32)
GPUBENCH_UPDATE(fetch_add, add, uint32)
GPUBENCH_UPDATE(fetch_add, add, int64)
GPUBENCH_UPDATE(fetch_add, add, uint64)
GPUBENCH_UPDATE(atomic_exchange, exchange, uint32)
GPUBENCH_UPDATE(atomic_exchange, exchange, uint64)
GPUBENCH_UPDATE(atomic_max, larger, uint32)
GPUBENCH_UPDATE(atomic_max, larger, uint64)
GPUBENCH_UPDATE(atomic_min, smaller, uint32)
GPUBENCH_UPDATE(atomic_min, smaller, uint64)
#undef GPUBENCH_UPDATE

#define GPUBENCH_COMPARE(T)                                                                                         \
    inline T compare_exchange(T* address, T expected, T desired, host::Where where = host::Where::here()) {        \
        detail::touch(address);                                                                                     \
        return static_cast<T>(host::atomic_compare_exchange(address, sizeof(T), expected, desired, where));         \
    }
GPUBENCH_COMPARE(uint16)
GPUBENCH_COMPARE(uint32)
GPUBENCH_COMPARE(uint64)
#undef GPUBENCH_COMPARE

// --- Ordered access: every one is sequentially consistent here -----------------------------------------------------------

#define GPUBENCH_ORDERED(T)                                                                            \
    inline T load_acquire(const T* address, host::Where where = host::Where::here()) {                \
        detail::touch(address);                                                                        \
        T word;                                                                                        \
        host::ordered_load(address, sizeof(T), &word, where);                                          \
        return word;                                                                                   \
    }                                                                                                  \
    inline T load_relaxed(const T* address, host::Where where = host::Where::here()) {                \
        return load_acquire(address, where);                                                           \
    }                                                                                                  \
    inline void store_release(T* address, T word, host::Where where = host::Where::here()) {          \
        detail::touch(address);                                                                        \
        host::ordered_store(address, sizeof(T), &word, where);                                         \
    }                                                                                                  \
    inline void store_relaxed(T* address, T word, host::Where where = host::Where::here()) {          \
        store_release(address, word, where);                                                           \
    }
GPUBENCH_ORDERED(uint32)
GPUBENCH_ORDERED(uint64)
GPUBENCH_ORDERED(Word128)
#undef GPUBENCH_ORDERED

inline uint32 load_shared(const uint32* address, host::Where where = host::Where::here()) { return load_acquire(address, where); }

inline void memory_fence() { host::fence(); }
inline void block_memory_fence() { host::fence(); }

}  // namespace gpubench
