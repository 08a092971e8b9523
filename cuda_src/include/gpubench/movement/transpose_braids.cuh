// Transposed in registers: a few rows that lie in memory as one run, an element of each in turn.
//
// Data: a thread loads as many vectors of the run, side by side, as there are rows, and sorts their elements into a vector of each
// row. They come by the widest loads that the run can be cut into: short vectors of rows keep the runs of neighbouring threads in few
// lines of the L1 cache, whose lookups a wide load of long runs waits for, one a thread. Who wants vectors that begin elsewhere than on a multiple of V lets all threads put theirs into shared memory, row by
// row, and cuts his own out of two.
#pragma once

#include "gpubench/movement/coming.cuh"

namespace gpubench {

// Of each row the block has `Vectors` vectors of V elements. Runs begin on `Unit` elements, at least V and at most 16 bytes.
template <class T, int V, int Rows, int Vectors, int Unit>
struct BraidedRows {
    static constexpr int size = static_cast<int>(sizeof(T)) * V, bytes = Rows * Vectors * size;
    static constexpr int widest = (Rows * V) & -(Rows * V);  // the largest power of two that a thread's part is a multiple of
    static constexpr int U = widest < Unit ? widest : Unit;  // elements of a load
    static constexpr int loads = Rows * V / U;
    Packed<T, U> run[loads];

    // From an address on the load's size, behind which `left` elements of the run exist. All: those of all rows.
    template <bool All>
    GPUBENCH_DEVICE void load(const T* begin, int64 left) {
        GPUBENCH_UNROLL
        for (int k = 0; k < loads; ++k) {
            run[k] = {};
            if (left <= k * U) continue;
            if (All || left >= (k + 1) * U) run[k] = load_on_grid<U>(begin + k * U);
            else run[k] = load_one_by_one<U>(begin + k * U, 1, 0, static_cast<int>(left) - k * U);
        }
    }
    // The elements of a row.
    GPUBENCH_DEVICE Packed<T, V> row(int k) const {
        Vector<T, V> items;
        GPUBENCH_UNROLL
        for (int j = 0; j < V; ++j) items[j] = bit_cast<Vector<T, U>>(run[(j * Rows + k) / U])[(j * Rows + k) % U];
        return bit_cast<Packed<T, V>>(items);
    }
    static GPUBENCH_DEVICE int place(uint32 k, uint32 vector) { return (k * Vectors + vector) * size; }

    // Put this thread's vectors, of this number, where all threads find them behind a barrier.
    GPUBENCH_DEVICE void fill(char* stage, int vector) const {
        GPUBENCH_UNROLL
        for (int k = 0; k < Rows; ++k) store_packed(reinterpret_cast<T*>(stage + place(k, vector)), row(k));
    }
    // V elements of a row from the element `at` of the block's on.
    static GPUBENCH_DEVICE Packed<T, V> load_row(const char* stage, int k, uint32 at) {
        const uint32 vector = at / V, distance = at % V;
        const auto load = [&](uint32 n) { return load_packed<V>(reinterpret_cast<const T*>(stage + place(k, n))); };
        return joined(load(vector), load(vector + (distance > 0 ? 1 : 0)), static_cast<int>(distance));
    }
};

}  // namespace gpubench
