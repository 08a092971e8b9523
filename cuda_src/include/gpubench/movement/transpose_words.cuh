// Transposed by words: elements of 1 or 2 bytes that lie across the lines, as squares in registers and runs of 16 bytes in
// shared memory.
//
// Data: a thread loads words of 4 bytes, each one element of `pack` neighbouring lines, from up to 16 bytes' worth of
// neighbouring rows. Byte permutations turn each square of pack x pack elements, so that a word holds neighbouring elements of
// one line, and the words of a line go to shared memory as one store of up to 16 bytes. There a line of a tile is
// runs of 16 bytes, one a lane, which a warp reads by 16-byte loads.
// Against an element at a time: a quarter (2 bytes) to a sixteenth (1 byte) of the accesses to shared memory. On one H200,
// 4096 x 4096: bfloat16 24.6 us (36.9), int8 45.6 (55.3), int16 50.9 (62).
#pragma once

#include "gpubench/movement/narrow.cuh"

namespace gpubench {

// Which operands come this way.
template <class T, class Out, bool XAlong>
constexpr bool transposes_words = !XAlong && ((is_half<T> && is_same<T, Out>) || is_narrow<T, accumulator_t<Out>>);

// Turn a square of elements: word i holds element i of each line, then all elements of line i.
GPUBENCH_DEVICE void transpose_square(uint32 (&words)[2]) {
    const uint32 first = words[0], second = words[1];
    words[0] = select_bytes(first, second, 0x5410);
    words[1] = select_bytes(first, second, 0x7632);
}
GPUBENCH_DEVICE void transpose_square(uint32 (&words)[4]) {
    uint32 low[2] = {select_bytes(words[0], words[1], 0x5140), select_bytes(words[2], words[3], 0x5140)};   // lines 0 and 1
    uint32 high[2] = {select_bytes(words[0], words[1], 0x7362), select_bytes(words[2], words[3], 0x7362)};  // lines 2 and 3
    transpose_square(low);
    transpose_square(high);
    words[0] = low[0], words[1] = low[1], words[2] = high[0], words[3] = high[1];
}

// The numbers of one instance. K: runs of a lane and line in a tile.
template <class T, class Out, int L, int W, int K>
struct TransposedRuns {
    using A = accumulator_t<Out>;
    using Item = uint32;
    static constexpr bool narrow = is_narrow<T, A>;
    static constexpr int pack = 4 / static_cast<int>(sizeof(T));  // lines of a word across them, elements of a word along one
    static constexpr int V = 4 * pack;                            // elements of a run
    static constexpr int runs = warp_size * K;                    // of a line in a tile
    static constexpr int tile = runs * V;
    static constexpr int mine = L / W;  // lines of a warp
    static constexpr int threads = W * warp_size, groups = L / pack;
    static constexpr int items = L * runs * 4;                     // words of a tile
    static constexpr int held = items / threads;                   // words of a thread
    static constexpr int rows = held < V ? held : V;               // neighbouring ones of a thread
    static constexpr int pieces = held / rows;                     // of so many rows
    static constexpr int piece_rows = threads / groups * rows;     // of the block
    static constexpr int blocks = K == 1 && !narrow ? 32 / W : 1;  // of an SM, at least; integers need more than 64 registers
    static_assert(L == warp_size && held % pack == 0 && piece_rows % (8 * V) == 0);

    using Part = PackedPart<T, V * K>;
    struct Loads {
        uint32 words[pieces][rows];
    };

    // Where a run of a line stands in its tile, in words. Eight lanes that store 16 bytes at a time have neighbouring groups of
    // lines, those that load neighbouring runs: either way they meet all banks once. With fewer bytes a store, as many more
    // lanes have the other words of the same runs.
    static GPUBENCH_DEVICE int place(uint32 line, uint32 run) {
        return static_cast<int>(line * runs + (run ^ (line / pack % 8))) * 4;
    }
    // The first line and row of a thread that goes across the lines.
    static GPUBENCH_DEVICE int line_across() { return thread_index_x() % groups * pack; }
    static GPUBENCH_DEVICE int row_across() { return thread_index_x() / groups * rows; }
    static GPUBENCH_DEVICE int first_line() { return thread_index_x() / warp_size * mine; }
};

// The words of one thread's rows: whole words of rows that all exist, or whose first `left` do.
template <bool All, class S>
GPUBENCH_DEVICE void load_whole_words(typename S::Loads& next, const char* source, long long step, int left) {
    GPUBENCH_UNROLL
    for (int n = 0; n < S::pieces; ++n, source += (S::piece_rows - S::rows) * step) {
        GPUBENCH_UNROLL
        for (int r = 0; r < S::rows; ++r, source += step) {
            next.words[n][r] = 0;
            if (All || n * S::piece_rows + r < left) next.words[n][r] = load_word(reinterpret_cast<const uint32*>(source));
        }
    }
}
// Rows at any alignment, of which all exist and have others before and behind: each word cut out of the two aligned ones that
// hold it. What these have besides lies between rows of x.
template <class S>
GPUBENCH_DEVICE void load_shifted_words(typename S::Loads& next, const char* source, long long step) {
    GPUBENCH_UNROLL
    for (int n = 0; n < S::pieces; ++n, source += (S::piece_rows - S::rows) * step) {
        uint32 high[S::rows];
        const char* place = source;
        GPUBENCH_UNROLL
        for (int r = 0; r < S::rows; ++r, place += step) {
            const uint32* const word = reinterpret_cast<const uint32*>(reinterpret_cast<uint64>(place) & ~uint64{3});
            next.words[n][r] = load_word(word);
            high[r] = load_word(word + 1);
        }
        GPUBENCH_UNROLL
        for (int r = 0; r < S::rows; ++r, source += step) {
            const uint32 bytes = static_cast<uint32>(reinterpret_cast<uint64>(source)) & 3u;
            next.words[n][r] = select_bytes(next.words[n][r], high[r], 0x3210u + 0x1111u * bytes);
        }
    }
}
// Element by element, the first one of all words first, of which `lines` lines exist: all of them at once take too many registers.
template <class S, class T>
GPUBENCH_DEVICE void load_words_by_elements(typename S::Loads& next, const T* source, long long step, int left, int lines) {
    next = {};
    GPUBENCH_NO_UNROLL
    for (int p = 0; p < S::pack && p < lines; ++p, ++source) {
        const T* place = source;
        GPUBENCH_UNROLL
        for (int n = 0; n < S::pieces; ++n, place += (S::piece_rows - S::rows) * step) {
            GPUBENCH_UNROLL
            for (int r = 0; r < S::rows; ++r, place += step) {
                if (n * S::piece_rows + r < left) {
                    next.words[n][r] |= uint32{bit_cast<Word<sizeof(T)>>(*place)} << (8 * static_cast<int>(sizeof(T)) * p);
                }
            }
        }
    }
}

// The tile from `start` on. x: the first element of the strip, `x_along` elements from row to row; of the lines and rows, `lines`
// and `length` exist. What does not exist is zero.
template <class S, class T>
GPUBENCH_DEVICE void load_words(typename S::Loads& next, const T* x, long long x_along, long long start, long long length, int lines) {
    const int line = S::line_across(), row = S::row_across();
    const T* const source = x + (start + row) * x_along + line;
    const long long rest = length - start;
    const int left = (rest < S::tile ? static_cast<int>(rest) : S::tile) - row;
    const long long step = x_along * static_cast<long long>(sizeof(T));
    if (lines == warp_size && is_aligned(x, 4) && x_along % S::pack == 0) {
        if (rest >= S::tile) load_whole_words<true, S>(next, reinterpret_cast<const char*>(source), step, left);
        else load_whole_words<false, S>(next, reinterpret_cast<const char*>(source), step, left);
    } else if (lines == warp_size && x_along >= S::pack && start > 0 && rest > S::tile) {
        load_shifted_words<S>(next, reinterpret_cast<const char*>(source), step);
    } else {
        load_words_by_elements<S>(next, source, x_along, left, lines - line);
    }
}

// Turn what was loaded, and put it into shared memory.
template <class S>
GPUBENCH_DEVICE void fill_runs(const typename S::Loads& next, uint32* stage) {
    constexpr int squares = S::rows / S::pack;
    using Stored = Packed<uint32, squares>;
    const int line = S::line_across(), row = S::row_across();
    uint32* const first = stage + S::place(line, row / S::V) + row % S::V / S::pack;
    GPUBENCH_UNROLL
    for (int n = 0; n < S::pieces; ++n) {
        uint32 transposed[S::pack][squares];
        GPUBENCH_UNROLL
        for (int s = 0; s < squares; ++s) {
            uint32 square[S::pack];
            GPUBENCH_UNROLL
            for (int p = 0; p < S::pack; ++p) square[p] = next.words[n][s * S::pack + p];
            transpose_square(square);
            GPUBENCH_UNROLL
            for (int p = 0; p < S::pack; ++p) transposed[p][s] = square[p];
        }
        GPUBENCH_UNROLL
        for (int p = 0; p < S::pack; ++p) store_packed(first + (p * S::runs + n * (S::piece_rows / S::V)) * 4, Stored::from(transposed[p]));
    }
}

// Run k of this lane in a line of the tile.
template <class S, class T>
GPUBENCH_DEVICE Packed<T, S::V> load_run(const uint32* stage, int line, int k) {
    const uint32* const run = stage + S::place(line, lane_index()) + k * (warp_size * 4);
    return load_packed<S::V>(reinterpret_cast<const T*>(run));
}

}  // namespace gpubench
