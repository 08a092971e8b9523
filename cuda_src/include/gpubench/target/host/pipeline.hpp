// Phases and copies on the host: `pipeline.cuh` builds them from atomics, and tells the checks where they order accesses.
// Part of target/host.hpp.
#pragma once

namespace gpubench {

constexpr bool has_bulk_copies = false;
constexpr bool has_async_copies = false;

// What the block's threads did before is ordered before what they do next: they have met through a completed phase.
inline void ordering_point() { host::ordering_point(); }

inline int opaque(int value) { return value; }
template <class T>
T* opaque(T* global) {
    return global;
}

namespace hardware {  // never called: has_bulk_copies and has_async_copies are false

inline void phase_init(uint32*, int) {}
inline void phase_init_done() {}
inline void phase_arrive(uint32*) {}
inline void phase_wait(uint32*, uint32) {}
inline void phase_arrive_expecting(uint32*, uint32) {}
template <Cache C = Cache::normal>
void bulk_copy(void*, const void*, uint32, uint32*) {}
inline void barrier_of_some(int, int) {}
inline void bulk_copy_fence() {}
template <Beside>
void copy_16_bytes(void*, const void*) {}
inline void copy_up_to_16_bytes(void*, const void*, uint32) {}
inline void close_copies() {}
template <int Later>
void await_copies() {}

}  // namespace hardware

}  // namespace gpubench
