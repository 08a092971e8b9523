// Accesses with a cache hint or a memory order on a GPU, as PTX. Part of target/cuda.cuh.
//
// Ordered accesses use generic addresses (they serve shared memory too) and are volatile; hinted ones are for global
// memory and left free for the compiler to schedule.
#pragma once

namespace gpubench {

namespace detail {

template <Cache C>
struct Access;

template <>
struct Access<Cache::normal> {
    template <class W>
    static GPUBENCH_DEVICE W load(const W* address) {
        return *address;
    }
    template <class W>
    static GPUBENCH_DEVICE void store(W* address, W word) {
        *address = word;
    }
    static GPUBENCH_DEVICE Word128 load(const Word128* address) {  // spelled out: one 16-byte access
        const ulonglong2 word = *reinterpret_cast<const ulonglong2*>(address);
        return {word.x, word.y};
    }
    // A plain store under a condition comes out as two of 8 bytes, each of which writes half of every sector that a warp
    // touches. Which memory it is, the compiler knows: no branch remains.
    static GPUBENCH_DEVICE void store(Word128* address, Word128 word) {
        if (__isGlobal(address)) {
            asm volatile("st.global.v2.u64 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(address)), "l"(word.low), "l"(word.high)
                         : "memory");
        } else {
            *reinterpret_cast<ulonglong2*>(address) = make_ulonglong2(word.low, word.high);
        }
    }
};

#define GPUBENCH_PTX_LOADS(hint)                                                               \
    static GPUBENCH_DEVICE uint8 load(const uint8* address) {                                  \
        uint16 word;                                                                           \
        asm("ld.global" hint ".u8 %0, [%1];" : "=h"(word) : "l"(address));                     \
        return static_cast<uint8>(word);                                                       \
    }                                                                                          \
    static GPUBENCH_DEVICE uint16 load(const uint16* address) {                                \
        uint16 word;                                                                           \
        asm("ld.global" hint ".u16 %0, [%1];" : "=h"(word) : "l"(address));                    \
        return word;                                                                           \
    }                                                                                          \
    static GPUBENCH_DEVICE uint32 load(const uint32* address) {                                \
        uint32 word;                                                                           \
        asm("ld.global" hint ".u32 %0, [%1];" : "=r"(word) : "l"(address));                    \
        return word;                                                                           \
    }                                                                                          \
    static GPUBENCH_DEVICE uint64 load(const uint64* address) {                                \
        uint64 word;                                                                           \
        asm("ld.global" hint ".u64 %0, [%1];" : "=l"(word) : "l"(address));                    \
        return word;                                                                           \
    }                                                                                          \
    static GPUBENCH_DEVICE Word128 load(const Word128* address) {                              \
        Word128 word;                                                                          \
        asm("ld.global" hint ".v2.u64 {%0, %1}, [%2];" : "=l"(word.low), "=l"(word.high) : "l"(address)); \
        return word;                                                                           \
    }

#define GPUBENCH_PTX_STORES(hint)                                                              \
    static GPUBENCH_DEVICE void store(uint8* address, uint8 word) {                            \
        const uint16 wide = word;                                                              \
        asm volatile("st.global" hint ".u8 [%0], %1;" ::"l"(address), "h"(wide) : "memory");   \
    }                                                                                          \
    static GPUBENCH_DEVICE void store(uint16* address, uint16 word) {                          \
        asm volatile("st.global" hint ".u16 [%0], %1;" ::"l"(address), "h"(word) : "memory");  \
    }                                                                                          \
    static GPUBENCH_DEVICE void store(uint32* address, uint32 word) {                          \
        asm volatile("st.global" hint ".u32 [%0], %1;" ::"l"(address), "r"(word) : "memory");  \
    }                                                                                          \
    static GPUBENCH_DEVICE void store(uint64* address, uint64 word) {                          \
        asm volatile("st.global" hint ".u64 [%0], %1;" ::"l"(address), "l"(word) : "memory");  \
    }                                                                                          \
    static GPUBENCH_DEVICE void store(Word128* address, Word128 word) {                        \
        asm volatile("st.global" hint ".v2.u64 [%0], {%1, %2};" ::"l"(address), "l"(word.low), "l"(word.high) : "memory"); \
    }

template <>
struct Access<Cache::read_only> {
    GPUBENCH_PTX_LOADS(".nc")
};
template <>
struct Access<Cache::streaming> {
    GPUBENCH_PTX_LOADS(".cs")
    GPUBENCH_PTX_STORES(".cs")
};
template <>
struct Access<Cache::no_allocate> {
    GPUBENCH_PTX_LOADS(".L1::no_allocate")
    GPUBENCH_PTX_STORES(".L1::no_allocate")
};

#undef GPUBENCH_PTX_LOADS
#undef GPUBENCH_PTX_STORES

}  // namespace detail

template <Cache C = Cache::normal, class W>
GPUBENCH_DEVICE W load_word(const W* address) {
    return detail::Access<C>::load(address);
}
template <Cache C = Cache::normal, class W>
GPUBENCH_DEVICE void store_word(W* address, W word) {
    detail::Access<C>::store(address, word);
}

namespace detail {

GPUBENCH_DEVICE uint64 first_out() {
    uint64 policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

}  // namespace detail

// A predicated load over a zero, in one piece of assembly: where the compiler chooses between the two by itself, it converts what was
// loaded there and then, and waits for it before it issues the next load.
#define GPUBENCH_PTX_EXISTING(W, Register, letter, bits, load)                                                           \
    template <Cache C>                                                                                                   \
    GPUBENCH_DEVICE W load_existing(const W* address, bool exists) {                                                     \
        Register word;                                                                                                   \
        if constexpr (C == Cache::first_out && architecture >= 800) {                                                    \
            asm("{ .reg .pred p; setp.ne.s32 p, %2, 0; mov." bits " %0, 0; @p ld.global.L2::cache_hint." load            \
                " %0, [%1], %3; }"                                                                                       \
                : letter(word)                                                                                           \
                : "l"(address), "r"(static_cast<int>(exists)), "l"(detail::first_out()));                                \
        } else if constexpr (C == Cache::streaming) {                                                                    \
            asm("{ .reg .pred p; setp.ne.s32 p, %2, 0; mov." bits " %0, 0; @p ld.global.cs." load " %0, [%1]; }"         \
                : letter(word)                                                                                           \
                : "l"(address), "r"(static_cast<int>(exists)));                                                          \
        } else {                                                                                                         \
            asm("{ .reg .pred p; setp.ne.s32 p, %2, 0; mov." bits " %0, 0; @p ld.global." load " %0, [%1]; }"            \
                : letter(word)                                                                                           \
                : "l"(address), "r"(static_cast<int>(exists)));                                                          \
        }                                                                                                                \
        return static_cast<W>(word);                                                                                     \
    }
GPUBENCH_PTX_EXISTING(uint8, uint32, "=&r", "b32", "u8")
GPUBENCH_PTX_EXISTING(uint16, uint32, "=&r", "b32", "u16")
GPUBENCH_PTX_EXISTING(uint32, uint32, "=&r", "b32", "u32")
GPUBENCH_PTX_EXISTING(uint64, uint64, "=&l", "b64", "u64")
#undef GPUBENCH_PTX_EXISTING
template <Cache C>
GPUBENCH_DEVICE Word128 load_existing(const Word128* address, bool exists) {
    Word128 word;
    if constexpr (C == Cache::first_out && architecture >= 800) {
        asm("{ .reg .pred p; setp.ne.s32 p, %3, 0; mov.b64 %0, 0; mov.b64 %1, 0; @p ld.global.L2::cache_hint.v2.u64 {%0, %1}, [%2], %4; }"
            : "=&l"(word.low), "=&l"(word.high)
            : "l"(address), "r"(static_cast<int>(exists)), "l"(detail::first_out()));
    } else if constexpr (C == Cache::streaming) {
        asm("{ .reg .pred p; setp.ne.s32 p, %3, 0; mov.b64 %0, 0; mov.b64 %1, 0; @p ld.global.cs.v2.u64 {%0, %1}, [%2]; }"
            : "=&l"(word.low), "=&l"(word.high)
            : "l"(address), "r"(static_cast<int>(exists)));
    } else {
        asm("{ .reg .pred p; setp.ne.s32 p, %3, 0; mov.b64 %0, 0; mov.b64 %1, 0; @p ld.global.v2.u64 {%0, %1}, [%2]; }"
            : "=&l"(word.low), "=&l"(word.high)
            : "l"(address), "r"(static_cast<int>(exists)));
    }
    return word;
}

#define GPUBENCH_PTX_ORDERED(order_load, load_name, order_store, store_name)                                      \
    GPUBENCH_DEVICE uint32 load_name(const uint32* address) {                                                     \
        uint32 word;                                                                                              \
        asm volatile("ld." order_load ".gpu.u32 %0, [%1];" : "=r"(word) : "l"(address) : "memory");               \
        return word;                                                                                              \
    }                                                                                                             \
    GPUBENCH_DEVICE uint64 load_name(const uint64* address) {                                                     \
        uint64 word;                                                                                              \
        asm volatile("ld." order_load ".gpu.u64 %0, [%1];" : "=l"(word) : "l"(address) : "memory");               \
        return word;                                                                                              \
    }                                                                                                             \
    GPUBENCH_DEVICE Word128 load_name(const Word128* address) {                                                   \
        Word128 word;                                                                                             \
        asm volatile(                                                                                             \
            "{ .reg .b128 t; ld." order_load ".gpu.b128 t, [%2]; mov.b128 {%0, %1}, t; }"                         \
            : "=l"(word.low), "=l"(word.high)                                                                     \
            : "l"(address)                                                                                        \
            : "memory");                                                                                          \
        return word;                                                                                              \
    }                                                                                                             \
    GPUBENCH_DEVICE void store_name(uint32* address, uint32 word) {                                               \
        asm volatile("st." order_store ".gpu.u32 [%0], %1;" ::"l"(address), "r"(word) : "memory");                \
    }                                                                                                             \
    GPUBENCH_DEVICE void store_name(uint64* address, uint64 word) {                                               \
        asm volatile("st." order_store ".gpu.u64 [%0], %1;" ::"l"(address), "l"(word) : "memory");                \
    }                                                                                                             \
    GPUBENCH_DEVICE void store_name(Word128* address, Word128 word) {                                             \
        asm volatile(                                                                                             \
            "{ .reg .b128 t; mov.b128 t, {%1, %2}; st." order_store ".gpu.b128 [%0], t; }" ::"l"(address),        \
            "l"(word.low), "l"(word.high)                                                                         \
            : "memory");                                                                                          \
    }

GPUBENCH_PTX_ORDERED("relaxed", load_relaxed, "relaxed", store_relaxed)
GPUBENCH_PTX_ORDERED("acquire", load_acquire, "release", store_release)

#undef GPUBENCH_PTX_ORDERED

namespace hardware {

GPUBENCH_DEVICE uint32 shared_address(const void* pointer) {
    return static_cast<uint32>(__cvta_generic_to_shared(pointer));
}

}  // namespace hardware

GPUBENCH_DEVICE uint32 load_shared(const uint32* address) {
    uint32 word;
    asm volatile("ld.relaxed.cta.shared.u32 %0, [%1];" : "=r"(word) : "r"(hardware::shared_address(address)) : "memory");
    return word;
}

GPUBENCH_DEVICE void prefetch(const void* address) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(address)));
}

GPUBENCH_DEVICE void memory_fence() { __threadfence(); }
GPUBENCH_DEVICE void block_memory_fence() { __threadfence_block(); }

}  // namespace gpubench
