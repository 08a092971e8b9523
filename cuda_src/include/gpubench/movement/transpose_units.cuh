// Transposed by units: a tile of elements that lie side by side across the rows wanted, through shared memory.
//
// Data: a thread loads 16 bytes along each of `pack` neighbouring lines, turns squares of 1- or 2-byte elements in registers by
// byte permutations (movement/transpose_words.cuh), so that a word of 4 bytes, or one wider element, belongs to one row, and
// stores word by word. A row's units of 16 bytes are swizzled by an exclusive or with the number of the rows' vector. So
// eight lanes that store into rows a vector apart meet different banks, and with the lanes of neighbouring words all
// of them once; lanes that read along a row have neighbouring units.
#pragma once

#include "gpubench/movement/lines.cuh"
#include "gpubench/movement/transpose_words.cuh"

namespace gpubench {

// Until all threads of the block have filled.
GPUBENCH_DEVICE void await_turned() { block_barrier(); }

// The numbers of a tile of `Rows` rows of `Length` elements of T; powers of two. Places are unsigned, for a quotient of what may be
// negative takes three instructions more.
template <class T, int Length, int Rows, int Threads>
struct TurnedTile {
    static constexpr int size = static_cast<int>(sizeof(T));
    static constexpr int V = 16 / size;                      // elements of a vector, along a line or a row
    static constexpr int pack = size < 4 ? 4 / size : 1;     // elements of a word
    static constexpr int word = size < 4 ? 4 : size;         // bytes
    static constexpr int words = 16 / word;                  // of a unit
    static constexpr int units = Length * size / 16;         // of a row
    static constexpr int columns = Length / pack;            // words of a row
    static constexpr int vectors = Rows / V;                 // of a line
    static constexpr int lanes = vectors < 8 ? vectors : 8;  // along a line, of a warp
    static constexpr int items = columns * vectors;
    static constexpr int held = (items + Threads - 1) / Threads;  // of a thread
    static constexpr int bytes = Rows * Length * size;
    static_assert(Length % V == 0 && Rows % V == 0);

    using W = Word<word>;

    // What a thread brings: its vector (`line`: the first of `pack` lines; row: the first of V rows).
    // `lanes` neighbouring threads are a group, whose numbers go through the columns first.
    static constexpr int groups = Threads / lanes, turns = groups < columns ? columns / groups : 1;
    static GPUBENCH_DEVICE uint32 thread() { return static_cast<uint32>(thread_index_x()) % Threads; }
    static GPUBENCH_DEVICE bool exists(int n) { return items % Threads == 0 || n * Threads + thread() < items; }
    static GPUBENCH_DEVICE int column(int n) { return n % turns * groups + thread() / lanes % columns; }
    static GPUBENCH_DEVICE int row(int n) {
        const int block = groups < columns ? n / turns : n * (groups / columns) + thread() / (lanes * columns);
        return (block * lanes + thread() % lanes) * V;
    }

    // Where a unit of a row stands, in bytes. Fewer than eight lanes along a line leave room for the units of more columns.
    static GPUBENCH_DEVICE int place(uint32 row, uint32 unit) { return (row * units + (unit ^ (row / V * (8 / lanes) % 8 % units))) * 16; }

    // Store what was loaded along the lines of item n.
    static GPUBENCH_DEVICE void fill(char* stage, int n, const Packed<T, V> (&lines)[pack]) {
        const int first = row(n), at = column(n);
        char* const target = stage + place(first, at / words) + at % words * word;  // rows of one vector are swizzled alike
        if constexpr (pack == 1) {
            const Vector<T, V> items = bit_cast<Vector<T, V>>(lines[0]);
            GPUBENCH_UNROLL
            for (int j = 0; j < V; ++j) store_word(reinterpret_cast<W*>(target + j * units * 16), bit_cast<W>(items[j]));
        } else {
            GPUBENCH_UNROLL
            for (int i = 0; i < 4; ++i) {
                uint32 square[pack];
                GPUBENCH_UNROLL
                for (int p = 0; p < pack; ++p) square[p] = lines[p].word(i);
                transpose_square(square);
                GPUBENCH_UNROLL
                for (int p = 0; p < pack; ++p) store_word(reinterpret_cast<W*>(target + (i * pack + p) * units * 16), square[p]);
            }
        }
    }
    static GPUBENCH_DEVICE const T* element(const char* stage, uint32 row, uint32 at) {
        return reinterpret_cast<const T*>(stage + place(row, at / V) + at % V * size);
    }
    // N elements of a row from a multiple of N on, N up to V.
    template <int N>
    static GPUBENCH_DEVICE Packed<T, N> load_whole(const char* stage, uint32 row, uint32 at) {
        return load_packed<N>(element(stage, row, at));
    }
    // N elements of a row from any of them on, N up to V; all of them exist.
    template <int N>
    static GPUBENCH_DEVICE Packed<T, N> load(const char* stage, uint32 row, uint32 at) {
        const uint32 distance = at % N, low = at - distance;
        const Packed<T, N> first = load_packed<N>(element(stage, row, low));
        if constexpr (N == 1) return first;
        else return joined(first, load_packed<N>(element(stage, row, low + (distance > 0 ? N : 0))), distance);
    }
};

}  // namespace gpubench
