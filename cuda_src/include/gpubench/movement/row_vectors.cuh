// Vectors of rows that stand anywhere: what a thread asks for of several rows before it uses the first, and a ring of them.
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

// A ring of stages in shared memory, `Slots` of 16 bytes each; a thread's copies in the background for one turn are one group. What a
// thread asked for it reads with no barrier between, and others behind one. What else stands in a line of 128 bytes is left where it is:
// it may be a row that is wanted much later.
template <int Slots, int Stages>
struct CopyRing {
    static constexpr int size = Stages * Slots;
    Word128* words;

    template <class Turn>
    GPUBENCH_DEVICE Word128* slot(Turn turn, int number) const {
        return words + turn % Stages * Slots + number;
    }
    template <class Turn>
    GPUBENCH_DEVICE void ask(Turn turn, int number, const void* address) const {
        copy_in_background<Beside::nothing>(slot(turn, number), static_cast<const Word128*>(address));
    }
    // Behind what was asked for one turn, be it nothing.
    GPUBENCH_DEVICE void close_turn() const { close_copies(); }
    // The turn that was closed Stages - 1 turns ago.
    GPUBENCH_DEVICE void await_turn() const { await_copies<Stages - 1>(); }
    GPUBENCH_DEVICE void await_all() const { await_copies<0>(); }
    template <class P, class Turn>
    GPUBENCH_DEVICE P read(Turn turn, int number) const {
        return bit_cast<P>(*slot(turn, number));
    }
};

}  // namespace gpubench
