// Vectors of the destination, on their size, of which a row that stands anywhere has some elements.
//
//     row:            |0 1 2 3 4 5 6 7 8 9 ...
//     vectors:   |. . 0 1|2 3 4 5|6 7 8 9|       V = 4, `first` = -2, 2, 6
//
// Data: a lane brings the words of 32 bits of the source in which its vector's elements lie, and shifts them by half a word or not at all,
// when they are there: 16 bytes wide they would be more registers and instructions. What they have of other rows comes to nobody. The
// vector goes to the destination by one atomic: what others have of it is added -0 to, which changes nothing. Rows at the ends of an
// operand come element by element; of them the vectors that lie beyond it go so.
#pragma once

#include "gpubench/atomics.cuh"
#include "gpubench/movement/row_vectors.cuh"
#include "index_add/sums.cuh"

namespace gpubench::index_add {

// Of a repetition's rows those of which no vector lies beyond an end of their operand: all but the first and the last one, or these,
// too, where another repetition is beside them. Rows are at least two vectors long.
struct InnerRows {
    uint32 first, end, count;

    GPUBENCH_DEVICE InnerRows(uint32 rows, bool begins, bool ends)
        : first(begins ? 1 : 0), end(rows - (ends ? 1 : 0)), count(end > first ? end - first : 0) {}
    GPUBENCH_DEVICE bool have(uint32 row) const { return row - first < count; }
    // Whether elements `begin` to `begin + items` of any row lie inside: many may be added to one row that is the first.
    GPUBENCH_DEVICE bool have_vector(uint32 row, int begin, int items, uint32 inner) const {
        return (row >= first || begin >= 0) && (row < end || begin + items <= static_cast<int>(inner));
    }
};

// The elements by which an address lies behind a vector's.
template <int V, class T>
GPUBENCH_DEVICE int behind_vector(const T* address) {
    return static_cast<int>(reinterpret_cast<uint64>(address) / sizeof(T)) & (V - 1);
}

// The words of 32 bits in which a vector's elements of the source lie, and the bits by which they lie behind the first one's beginning.
template <class T, int V>
struct CutWords {
    static constexpr int count = static_cast<int>(sizeof(T)) * V / 4;
    uint32 words[count + 1];
    uint32 bits;

    GPUBENCH_DEVICE Packed<T, V> vector() const {
        uint32 shifted[count];
        GPUBENCH_UNROLL
        for (int w = 0; w < count; ++w) shifted[w] = static_cast<uint32>((uint64{words[w + 1]} << 32 | words[w]) >> bits);
        return Packed<T, V>::from(shifted);
    }
};

template <class T, int V>
struct CutVector {
    T* place;
    int32 first;     // element of the row that stands there
    uint32 present;  // a bit for each element that the row has

    // The vector of the given number of a row of so many elements.
    GPUBENCH_DEVICE CutVector(T* row, uint32 number, uint32 inner) {
        first = static_cast<int32>(number * V) - behind_vector<V>(row);
        place = row + first;
        const int left = static_cast<int>(inner) - first;
        present = (left < V ? (1u << (left > 0 ? left : 0)) - 1 : (1u << V) - 1) & ~0u << (first < 0 ? -first : 0);
    }
    GPUBENCH_DEVICE bool has(int j) const { return (present >> j & 1) != 0; }

    // Its elements of a row of the source; nothing is done with what is asked for. whole: no word lies beyond the source.
    GPUBENCH_DEVICE CutWords<T, V> load(const T* row, bool whole) const {
        const T* const from = row + first;
        const uint64 address = reinterpret_cast<uint64>(from);
        CutWords<T, V> raw{{}, static_cast<uint32>(address & 3) * 8};
        if (whole) {
            GPUBENCH_UNROLL
            for (int w = 0; w <= raw.count; ++w) {
                raw.words[w] = gpubench::load<Cache::read_only>(reinterpret_cast<const uint32*>(address & ~uint64{3}) + w);
            }
            return raw;
        }
        Vector<T, V> items;
        GPUBENCH_UNROLL
        for (int j = 0; j < V; ++j) items[j] = load_if(from + j, has(j));
        const auto packed = bit_cast<Packed<T, V>>(items);
        GPUBENCH_UNROLL
        for (int w = 0; w < raw.count; ++w) raw.words[w] = packed.word(w);
        raw.bits = 0;
        return raw;
    }
    GPUBENCH_DEVICE void send(Vector<sum_t<T>, V> sums, bool whole) const {
        if (present == 0) return;
        if (whole) {
            GPUBENCH_UNROLL
            for (int j = 0; j < V; ++j) sums[j] = has(j) ? sums[j] : -sum_t<T>{};
            atomic_add_vector(place, pack_items<V, T>(sums));
            return;
        }
        GPUBENCH_UNROLL
        for (int j = 0; j < V; ++j) {
            if (has(j)) atomic_add(place + j, convert<T>(sums[j]));
        }
    }
};

}  // namespace gpubench::index_add
