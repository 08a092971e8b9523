// Atomic and ordered access to memory, and the waits that are made of it.
//
// A thread that finds the same value again at the address of its last ordered load is waiting: it sleeps until that
// memory changes by an atomic or ordered access, so that a block full of waiting threads costs nothing.
#pragma once

#include "access.hpp"

namespace gpubench::host {

inline void before_atomic(const void* address, int width, Access kind, Where where) {
    if (reinterpret_cast<std::uintptr_t>(address) % static_cast<unsigned>(width) != 0) {
        fail_misaligned(where, address, static_cast<std::size_t>(width));
    }
    if (checking) check_access(address, static_cast<std::size_t>(width), kind, nullptr, where);
    if (writes(kind)) {
        Block& block = *self().block;
        ++block.worker->progress;
        block.idle_yields = 0;
        current->polls = 0;
        wake(*block.worker, address);
    }
}

template <class T>
std::uint64_t update(Atomic kind, void* address, std::uint64_t value) {
    T* const target = static_cast<T*>(address);
    const T operand = static_cast<T>(value);
    if (kind == Atomic::add) return __atomic_fetch_add(target, operand, __ATOMIC_SEQ_CST);
    if (kind == Atomic::exchange) return __atomic_exchange_n(target, operand, __ATOMIC_SEQ_CST);
    T old = __atomic_load_n(target, __ATOMIC_SEQ_CST);
    for (;;) {
        const T wanted = (kind == Atomic::larger) == (old < operand) ? operand : old;
        if (__atomic_compare_exchange_n(target, &old, wanted, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return old;
    }
}

std::uint64_t atomic_update(Atomic kind, void* address, int width, std::uint64_t value, Where where) {
    before_atomic(address, width, Access::atomic_write, where);
    switch (width) {
        case 1: return update<std::uint8_t>(kind, address, value);
        case 2: return update<std::uint16_t>(kind, address, value);
        case 4: return update<std::uint32_t>(kind, address, value);
        default: return update<std::uint64_t>(kind, address, value);
    }
}

template <class T>
std::uint64_t swap_if(void* address, std::uint64_t expected, std::uint64_t desired) {
    T old = static_cast<T>(expected);
    __atomic_compare_exchange_n(static_cast<T*>(address), &old, static_cast<T>(desired), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return old;
}

// A thread that keeps polling must let the one it waits for run.
inline void count_poll(const void* address, int width, Where where) {
    ThreadView& view = *current;
    const bool again = view.last_poll == address && std::memcmp(view.last_value, address, static_cast<std::size_t>(width)) == 0;
    if (again) {
        park(address, where);
    } else if (++view.polls > 64) {
        wait_a_turn(where);
    }
    view.last_poll = address;
    std::memcpy(view.last_value, address, static_cast<std::size_t>(width));
}

std::uint64_t atomic_compare_exchange(void* address, int width, std::uint64_t expected, std::uint64_t desired, Where where) {
    GPUBENCH_NOTE_CALL();
    ThreadView& view = *current;
    if (view.polls > 64) wait_a_turn(where);
    const unsigned idle = self().block->idle_yields, polls = view.polls;
    const std::uint64_t progress = self().block->worker->progress;
    before_atomic(address, width, Access::atomic_write, where);
    std::uint64_t old = 0;
    switch (width) {
        case 2: old = swap_if<std::uint16_t>(address, expected, desired); break;
        case 4: old = swap_if<std::uint32_t>(address, expected, desired); break;
        default: old = swap_if<std::uint64_t>(address, expected, desired); break;
    }
    if (old != expected) {  // nothing was written, so nobody's wait ends
        view.polls = polls + 1;
        self().block->idle_yields = idle;
        self().block->worker->progress = progress;
    }
    return old;
}

inline std::mutex& wide_lock() {
    static std::mutex lock;
    return lock;
}

void ordered_load(const void* address, int width, void* result, Where where) {
    GPUBENCH_NOTE_CALL();
    before_atomic(address, width, Access::atomic_read, where);
    count_poll(address, width, where);
    switch (width) {
        case 4: *static_cast<std::uint32_t*>(result) = __atomic_load_n(static_cast<const std::uint32_t*>(address), __ATOMIC_SEQ_CST); return;
        case 8: *static_cast<std::uint64_t*>(result) = __atomic_load_n(static_cast<const std::uint64_t*>(address), __ATOMIC_SEQ_CST); return;
        default: break;
    }
    const std::lock_guard<std::mutex> lock(wide_lock());
    std::memcpy(result, address, 16);
}

void ordered_store(void* address, int width, const void* value, Where where) {
    before_atomic(address, width, Access::atomic_store, where);
    switch (width) {
        case 4: __atomic_store_n(static_cast<std::uint32_t*>(address), *static_cast<const std::uint32_t*>(value), __ATOMIC_SEQ_CST); return;
        case 8: __atomic_store_n(static_cast<std::uint64_t*>(address), *static_cast<const std::uint64_t*>(value), __ATOMIC_SEQ_CST); return;
        default: break;
    }
    const std::lock_guard<std::mutex> lock(wide_lock());
    std::memcpy(address, value, 16);
}

void fence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

}  // namespace gpubench::host

