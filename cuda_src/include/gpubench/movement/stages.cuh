// A ring of stages in shared memory between warps with different roles: phases that one side completes and the other
// waits for, and copies from global memory that complete a phase when they have landed.
//
//   PhaseBarrier            64 bits of shared memory. It counts arrivals of warps; when as many have come as it was made
//                           for, the phase is complete and the next one begins. Phases are told apart by their parity, 0
//                           first.
//   phase_init(barrier, warps)         one thread; then `phase_init_done()` by it and a block barrier before any use
//   phase_arrive(barrier)              by all lanes of a warp: one arrival; what they did before is seen by those who waited
//   phase_wait(barrier, parity)        by all lanes of a warp: until the phase of that parity is complete
//   warp_copy(target, source, bytes, barrier)   by all lanes of one warp: bring `bytes` (a multiple of 16) from global to
//                           shared memory, both on 16 bytes, and make one arrival when they are there; warp_copy<Cache::streaming>
//                           lets the L2 cache give up these lines first; so does a last argument that says so at run time
//   warp_copy_rows(target, source, rows, row_bytes, source_step, barrier)   the same for `rows` pieces of row_bytes each,
//                           source_step bytes apart in global memory (both multiples of 16) and side by side in shared
//   stage_written()         by each lane that stored into a stage itself: bulk copies that come into it later come after
//   last_to_arrive(counter, warps, warp)   by all lanes of each of `warps` warps, numbered by `warp`: true for one of them,
//                           which then sees what the others did before; counter: a zeroed uint32 in shared memory
//   copy_in_background(target, source)   by any lane: bring 16 bytes from global to shared memory, both on 16 bytes;
//                           what else comes with them is said by copy_in_background<Beside::...>, the rest of their line where nothing is
//   copy_in_background(target, source, exists)   the same, or 16 bytes of zero, for which the source is not touched
//   close_copies()          what this thread asked for since the last call becomes one group, be it empty
//   await_copies<Later>()   until all groups of this thread but the `Later` last have landed; others of the warp or block see
//                           them behind a barrier. Compute capability 8.0 and later; elsewhere the copy itself waits
//
// On compute capability 9.0 and later the rest are the hardware's mbarriers and bulk copies (the copy engine moves the bytes;
// the warp goes on at once). Each lane arrives by itself there: it costs nothing that could be measured, and racecheck of
// compute-sanitizer does not follow a first lane that arrives for the others behind a warp barrier. Elsewhere the warp
// copies by itself and the barriers are words changed by atomics.
#pragma once

#include "gpubench/platform.cuh"

namespace gpubench {

struct PhaseBarrier {
    alignas(8) uint32 words[2];  // without hardware: arrivals so far (low half) and wanted (high half); phases completed
};

namespace detail {

GPUBENCH_DEVICE void soft_phase_init(PhaseBarrier* barrier, int arrivals) {
    barrier->words[0] = static_cast<uint32>(arrivals) << 16;
    barrier->words[1] = 0;
}
GPUBENCH_DEVICE void soft_phase_arrive(PhaseBarrier* barrier) {
    block_memory_fence();
    const uint32 before = fetch_add(&barrier->words[0], 1u);
    if ((before & 0xffffu) + 1 != before >> 16) return;
    fetch_add(&barrier->words[0], 0u - (before >> 16));
    ordering_point();
    block_memory_fence();
    fetch_add(&barrier->words[1], 1u);
}
GPUBENCH_DEVICE void soft_phase_wait(PhaseBarrier* barrier, uint32 parity) {
    while ((load_acquire(&barrier->words[1]) & 1u) == parity) {
    }
    block_memory_fence();
}
GPUBENCH_DEVICE void soft_warp_copy(void* target, const void* source, uint32 bytes, PhaseBarrier* barrier) {
    for (uint32 at = static_cast<uint32>(lane_index()) * 16u; at < bytes; at += warp_size * 16u) {
        store_word(reinterpret_cast<Word128*>(static_cast<char*>(target) + at),
                   load_word(reinterpret_cast<const Word128*>(static_cast<const char*>(source) + at)));
    }
    block_memory_fence();
    warp_barrier();
    if (lane_index() == 0) soft_phase_arrive(barrier);
}

}  // namespace detail

GPUBENCH_DEVICE void phase_init(PhaseBarrier* barrier, int warps) {
    if constexpr (has_bulk_copies) hardware::phase_init(barrier->words, warp_size * warps);
    else detail::soft_phase_init(barrier, warps);
}
GPUBENCH_DEVICE void phase_init_done() {
    if constexpr (has_bulk_copies) hardware::phase_init_done();
}
GPUBENCH_DEVICE void phase_arrive(PhaseBarrier* barrier) {
    warp_barrier();
    if constexpr (has_bulk_copies) hardware::phase_arrive(barrier->words);
    else if (lane_index() == 0) detail::soft_phase_arrive(barrier);
}
GPUBENCH_DEVICE void phase_wait(PhaseBarrier* barrier, uint32 parity) {
    if constexpr (has_bulk_copies) hardware::phase_wait(barrier->words, parity);
    else detail::soft_phase_wait(barrier, parity);
    warp_barrier();  // lanes that had to look more often rejoin the others
}
template <Cache C = Cache::normal>
GPUBENCH_DEVICE void warp_copy(void* target, const void* source, uint32 bytes, PhaseBarrier* barrier) {
    if constexpr (has_bulk_copies) {
        warp_barrier();  // what other lanes stored beside the copied bytes comes before the arrival
        if (lane_index() == 0) {
            hardware::phase_arrive_expecting(barrier->words, bytes);
            if (bytes > 0) hardware::bulk_copy<C>(target, source, bytes, barrier->words);
        } else {
            hardware::phase_arrive(barrier->words);
        }
    } else {
        detail::soft_warp_copy(target, source, bytes, barrier);
    }
}

GPUBENCH_DEVICE void warp_copy(void* target, const void* source, uint32 bytes, PhaseBarrier* barrier, bool streaming) {
    if (streaming) warp_copy<Cache::streaming>(target, source, bytes, barrier);
    else warp_copy(target, source, bytes, barrier);
}

GPUBENCH_DEVICE void warp_copy_rows(void* target, const void* source, int rows, uint32 row_bytes, long long source_step,
                                    PhaseBarrier* barrier) {
    char* const to = static_cast<char*>(target);
    const char* const from = static_cast<const char*>(source);
    if constexpr (has_bulk_copies) {
        warp_barrier();
        if (lane_index() == 0) hardware::phase_arrive_expecting(barrier->words, static_cast<uint32>(rows) * row_bytes);
        else hardware::phase_arrive(barrier->words);
        warp_barrier();
        GPUBENCH_NO_UNROLL
        for (int row = lane_index(); row < rows; row += warp_size) {
            hardware::bulk_copy(to + row * row_bytes, from + row * source_step, row_bytes, barrier->words);
        }
    } else {
        const int words = static_cast<int>(row_bytes / 16u);
        for (int word = lane_index(); word < rows * words; word += warp_size) {
            const int row = word / words;
            store_word(reinterpret_cast<Word128*>(to) + word,
                       load_word(reinterpret_cast<const Word128*>(from + row * source_step) + (word - row * words)));
        }
        block_memory_fence();
        warp_barrier();
        if (lane_index() == 0) detail::soft_phase_arrive(barrier);
    }
}

GPUBENCH_DEVICE void stage_written() {
    if constexpr (has_bulk_copies) hardware::bulk_copy_fence();
}

template <Beside B = Beside::rest_of_line>
GPUBENCH_DEVICE void copy_in_background(Word128* target, const Word128* source) {
    if constexpr (has_async_copies) hardware::copy_16_bytes<B>(target, source);
    else store_word(target, load_word<Cache::read_only>(source));
}
GPUBENCH_DEVICE void copy_in_background(Word128* target, const Word128* source, bool exists) {
    if constexpr (has_async_copies) hardware::copy_up_to_16_bytes(target, source, exists ? 16 : 0);
    else store_word(target, exists ? load_word<Cache::read_only>(source) : Word128{});
}
GPUBENCH_DEVICE void close_copies() {
    if constexpr (has_async_copies) hardware::close_copies();
}
template <int Later>
GPUBENCH_DEVICE void await_copies() {
    if constexpr (has_async_copies) hardware::await_copies<Later>();
}

namespace detail {

GPUBENCH_DEVICE bool lane_is_last(uint32* counter, uint32 count) {
    if (fetch_add(counter, 1u) + 1 != count) return false;
    fetch_add(counter, 0u - count);  // ready for the next round
    ordering_point();
    block_memory_fence();
    return true;
}

}  // namespace detail

GPUBENCH_DEVICE bool last_to_arrive(uint32* counter, int warps, int warp) {
    block_memory_fence();
    if constexpr (has_bulk_copies) {
        hardware::barrier_of_some(1, warps * warp_size);
        return warp == 0;
    } else {
        warp_barrier();
        bool last = false;
        if (lane_index() == 0) last = detail::lane_is_last(counter, static_cast<uint32>(warps));
        return any(full_mask, last);
    }
}

// What the stages of a ring pass through, one barrier a stage: full, summed, empty ...
struct StageBarriers {
    PhaseBarrier* of_stages;

    GPUBENCH_DEVICE PhaseBarrier* at(int stage) const { return of_stages + stage; }
    GPUBENCH_DEVICE void make(int stage, int warps) const { phase_init(at(stage), warps); }
    GPUBENCH_DEVICE void arrive(int stage) const { phase_arrive(at(stage)); }
    GPUBENCH_DEVICE void wait(int stage, uint32 parity) const { phase_wait(at(stage), parity); }
};

// Make the barriers of a block: thread 0 by `make`, all threads then go on.
template <class Make>
GPUBENCH_DEVICE void make_barriers(const Make& make) {
    if (thread_index_x() == 0) {
        make();
        phase_init_done();
    }
    block_barrier();
}

// Make a warp's own barriers, each completed by one copy of the warp. A warp barrier follows, or warp_copy.
template <int Stages>
GPUBENCH_DEVICE void make_warp_barriers(const StageBarriers& landed) {
    if (lane_index() == 0) {
        GPUBENCH_UNROLL
        for (int stage = 0; stage < Stages; ++stage) landed.make(stage, 1);
        phase_init_done();
    }
}

// What the first warp of the block did before it called is seen by all warps that call. The barrier is for one warp.
GPUBENCH_DEVICE void follow_first_warp(PhaseBarrier* barrier, int warp) {
    if (warp == 0) phase_arrive(barrier);
    phase_wait(barrier, 0);
}

// Two stages in turn, filled from registers: `load(start)` asks for the tile at `start`, `fill(stage)` puts what was loaded
// into shared memory, `store(start, stage)` reads it behind a barrier of the block, while the next tile is on its way.
template <class Item, class Load, class Fill, class Store>
GPUBENCH_DEVICE void walk_two_stages(long long length, int tile, Item* stages, int items, const Load& load, const Fill& fill,
                                     const Store& store) {
    load(0ll);
    Item* stage = stages;
    for (long long start = 0; start < length; start += tile) {
        fill(stage);
        if (start + tile < length) load(start + tile);
        block_barrier();
        store(start, stage);
        stage = stage == stages ? stages + items : stages;
    }
}

// A ring of slots, filled by copies in the background: `copy(start, slot)` asks for the tile at `start` as one group, be it
// behind the end. All slots but one are under way. `mine(slot)` sees what the thread itself asked for, `use(start, slot)` what
// all threads did; one barrier of the block a tile says both that a tile is there and that the slot of the one before is free.
template <int Stages, class Copy, class Mine, class Use>
GPUBENCH_DEVICE void walk_ring(long long length, int tile, Word128* ring, int slot_units, const Copy& copy, const Mine& mine, const Use& use) {
    for (int stage = 0; stage + 1 < Stages; ++stage) copy(static_cast<long long>(stage * tile), ring + stage * slot_units);
    int stage = 0, freed = Stages - 1;
    for (long long start = 0; start < length; start += tile) {
        Word128* const slot = ring + stage * slot_units;
        await_copies<Stages - 2>();
        mine(slot);
        block_barrier();
        copy(start + (Stages - 1) * tile, ring + freed * slot_units);
        use(start, slot);
        freed = stage;
        stage = stage + 1 < Stages ? stage + 1 : 0;
    }
}

}  // namespace gpubench
