// Transposed in registers: a few rows that lie in memory as one run, an element of each in turn.
//
// Data: a thread loads as many vectors of the run, side by side, as there are rows, and sorts their elements into a vector of each
// row. Who wants vectors that begin elsewhere than on a multiple of V lets all threads put theirs into shared memory, row by
// row, and cuts his own out of two.
#pragma once

#include "gpubench/movement/coming.cuh"

namespace gpubench {

// Of each row the block has `Vectors` vectors of V elements.
template <class T, int V, int Rows, int Vectors>
struct BraidedRows {
    static constexpr int size = static_cast<int>(sizeof(T)) * V, bytes = Rows * Vectors * size;
    Packed<T, V> run[Rows];

    // From an address on the vector's size, behind which `left` elements of the run exist. All: those of all rows.
    template <bool All>
    GPUBENCH_DEVICE void load(const T* begin, int64 left) {
        GPUBENCH_UNROLL
        for (int k = 0; k < Rows; ++k) {
            run[k] = {};
            if (left <= k * V) continue;
            if (All || left >= (k + 1) * V) run[k] = load_on_grid<V>(begin + k * V);
            else run[k] = load_one_by_one<V>(begin + k * V, 1, 0, static_cast<int>(left) - k * V);
        }
    }
    // The elements of a row.
    GPUBENCH_DEVICE Packed<T, V> row(int k) const {
        Vector<T, V> items;
        GPUBENCH_UNROLL
        for (int j = 0; j < V; ++j) items[j] = bit_cast<Vector<T, V>>(run[(j * Rows + k) / V])[(j * Rows + k) % V];
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
