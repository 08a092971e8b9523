// Vectors of rows that stand anywhere: what a thread asks for of several rows before it uses the first, and rings of them.
#pragma once

#include "gpubench/movement/source.cuh"
#include "gpubench/movement/stages.cuh"
#include "gpubench/vector.cuh"

namespace gpubench {

// A vector, on its own size, of a row that may not exist: then zeros.
template <int V, Cache C = Cache::normal, class T>
GPUBENCH_DEVICE Packed<T, V> row_vector(const T* address, bool exists = true) {
    return exists ? load_packed<V, C>(address) : Packed<T, V>{};
}

// The vector of up to 16 bytes at an address, on its own size; zero, and no access, where it does not exist. Such loads of a thread
// are under way together, whatever is done with what they bring: see load_existing.
template <int V, class T>
GPUBENCH_DEVICE Packed<T, V> vector_if(const T* address, bool exists) {
    return Source<T, false>{}.template load<V>(address, exists);
}
template <class T>
GPUBENCH_DEVICE T load_if(const T* address, bool exists) {
    return bit_cast<T>(vector_if<1>(address, exists));
}

// A lane's own ring in shared memory of 16 bytes a slot, two slots a stage, one group of copies in the background a stage. What a
// lane asked for only it reads: no barrier stands between. What else stands in a line of 128 bytes is left where it is: it may be a row
// that is wanted much later. Threads: of the block, whose slots lie side by side.
template <int Threads, int Stages>
struct LaneRing {
    Word128* words;  // the thread's first slot

    GPUBENCH_DEVICE Word128* slot(int stage, int which) const { return words + (stage * 2 + which) * Threads; }
    GPUBENCH_DEVICE void ask(int turn, int which, const void* address) const {
        copy_in_background<false>(slot(turn % Stages, which), static_cast<const Word128*>(address));
    }
    // Behind what was asked for one turn, be it nothing.
    GPUBENCH_DEVICE void close_turn() const { close_copies(); }
    // The turn that was closed Stages - 1 turns ago.
    GPUBENCH_DEVICE void await_turn() const { await_copies<Stages - 1>(); }
    GPUBENCH_DEVICE void await_all() const { await_copies<0>(); }
    template <class P>
    GPUBENCH_DEVICE P read(int turn, int which) const {
        return bit_cast<P>(*slot(turn % Stages, which));
    }
};

// A warp's own ring of the same slots, `Copies` a lane and stage: whichever lane asked, all of them read it when its turn was awaited. No
// lane asks for a turn before all have read the one whose stage it takes.
template <int Copies, int Stages>
struct WarpRing {
    static constexpr int slots = Copies * warp_size;  // of a stage
    static constexpr int words = Stages * slots;
    Word128* own;  // the warp's first

    GPUBENCH_DEVICE Word128* stage(uint32 turn) const { return own + turn % Stages * slots; }
    GPUBENCH_DEVICE void ask(uint32 turn, int slot, const void* address) const {
        copy_in_background<false>(stage(turn) + slot, static_cast<const Word128*>(address));
    }
    GPUBENCH_DEVICE void close_turn() const { close_copies(); }
    // By all lanes: the turn that was closed Stages - 1 turns ago.
    GPUBENCH_DEVICE void await_turn() const {
        await_copies<Stages - 1>();
        warp_barrier();
    }
    template <class P>
    GPUBENCH_DEVICE P read(uint32 turn, int slot) const {
        return bit_cast<P>(stage(turn)[slot]);
    }
};

}  // namespace gpubench
