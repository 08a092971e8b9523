// A short row that a block wants again and again, from any of its elements on.
//
// Data: the block lays the row into shared memory, and two vectors of it again behind, whatever its length. So any vector of the
// row without end lies inside two aligned words there, and is cut out of them when it is wanted.
#pragma once

#include "gpubench/integer_divider.cuh"
#include "gpubench/movement/coming.cuh"

namespace gpubench {

// Vectors of V elements of T.
template <class T, int V>
struct RepeatedRow {
    // Of shared memory. The host has the same.
    static GPUBENCH_DEVICE uint32 bytes(uint32 row) { return ((row + 2 * V) * static_cast<uint32>(sizeof(T)) + 15) / 16 * 16; }

    // By all threads of the block; a barrier stands behind.
    static GPUBENCH_DEVICE void put(char* stage, const T* row, const IntegerDivider& length) {
        for (uint32 i = thread_index_x(); i < length.divisor + 2 * V; i += static_cast<uint32>(block_size_x())) {
            reinterpret_cast<T*>(stage)[i] = row[length.divide(i).remainder];
        }
    }
    // The vector from this element of the row on.
    static GPUBENCH_DEVICE Coming<T, V> take(const char* stage, uint32 element) {
        const uint32 distance = element % V;
        const T* const low = reinterpret_cast<const T*>(stage) + (element - distance);
        Coming<T, V> found;
        found.words[0] = load_packed<V>(low);
        if constexpr (V > 1) found.words[1] = load_packed<V>(low + V);
        found.distance = static_cast<int>(distance);
        return found;
    }
};

}  // namespace gpubench
