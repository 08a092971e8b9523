// A row that a block reads at random places: as much of it as fits waits in shared memory, the rest is read where it is.
//
// Data: all threads bring it by copies of 16 bytes in the background where it stands on 16 bytes without gaps, else by loads, eight
// of each thread on their way.
#pragma once

#include "gpubench/movement/row_vectors.cuh"
#include "gpubench/movement/stages.cuh"
#include "gpubench/vector.cuh"

namespace gpubench {

// Ask for elements from ... to - 1, side by side, into the L2 cache, each of their sectors by itself; by the threads of the block, or so
// many.
template <class T>
GPUBENCH_DEVICE void ask_sectors(const T* address, uint32 from, uint32 to, uint32 thread = thread_index_x(),
                                 uint32 threads = block_size_x()) {
    constexpr uint32 sector = 32 / sizeof(T);
    for (uint32 i = from + thread * sector; i < to; i += threads * sector) prefetch(address + i);
}

// The bits of both: of two of which one is zero, the other.
template <class T>
GPUBENCH_DEVICE T either(const T& a, const T& b) {
    constexpr int size = sizeof(T) < 8 ? static_cast<int>(sizeof(T)) : 8;
    using Words = Vector<Word<size>, static_cast<int>(sizeof(T)) / size>;
    Words all = bit_cast<Words>(a);
    const Words more = bit_cast<Words>(b);
    GPUBENCH_UNROLL
    for (int i = 0; i < static_cast<int>(sizeof(T)) / size; ++i) all[i] |= more[i];
    return bit_cast<T>(all);
}

template <class T>
struct NearRow {
    T* near;         // [resident + 1], on 16 bytes; the last one is zero
    const T* source;
    uint32 count;     // elements
    uint32 resident;  // of them, in shared memory
    uint32 step;      // between neighbours

    // The element at `place` is either of both: what is in shared memory, else zero, and what is not. No choice between them, for
    // which the compiler would have one load wait for the other.
    GPUBENCH_DEVICE T close(uint32 place) const { return near[place < resident ? place : resident]; }
    GPUBENCH_DEVICE T far(uint32 place) const { return load_if(source + place * step, place >= resident); }

    // Ask for another such row into the L2 cache, by all threads of the block, whenever they come.
    GPUBENCH_DEVICE void ask(const T* other) const {
        if (step == 1) ask_sectors(other, 0, count);
    }

    // By all threads, which have read what was there before; it is there for all of them behind it.
    GPUBENCH_DEVICE void bring() const {
        block_barrier();
        if (thread_index_x() == 0) near[resident] = T{};
        if (step == 1 && is_aligned(source, 16)) bring_vectors();
        else bring_elements();
        block_barrier();
    }

private:
    GPUBENCH_DEVICE void bring_vectors() const {
        constexpr uint32 V = 16 / sizeof(T);
        const uint32 vectors = resident / V;
        for (uint32 i = thread_index_x(); i < vectors; i += block_size_x()) {
            copy_in_background(reinterpret_cast<Word128*>(near) + i, reinterpret_cast<const Word128*>(source) + i);
        }
        close_copies();
        for (uint32 i = vectors * V + thread_index_x(); i < resident; i += block_size_x()) near[i] = source[i];
        await_copies<0>();
    }
    GPUBENCH_DEVICE void bring_elements() const {
        constexpr int at_once = 8;
        for (uint32 base = thread_index_x(); base < resident; base += at_once * block_size_x()) {
            T raw[at_once];
            GPUBENCH_UNROLL
            for (int k = 0; k < at_once; ++k) {
                const uint32 i = base + k * block_size_x();
                raw[k] = i < resident ? source[i * step] : T{};
            }
            GPUBENCH_UNROLL
            for (int k = 0; k < at_once; ++k) {
                const uint32 i = base + k * block_size_x();
                if (i < resident) near[i] = raw[k];
            }
        }
    }
};

}  // namespace gpubench
