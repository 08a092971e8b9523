// How transposed_tiles.cu takes x of 1 or 2 bytes across the lines: words transposed in registers, runs of 16 bytes in shared memory.
//
// Data: a thread loads words of 4 bytes, each one element of `pack` neighbouring lines, from up to 16 bytes' worth of
// neighbouring rows. Byte permutations turn each square of pack x pack elements, so that a word holds neighbouring elements of
// one line, and the words of a line go to shared memory as one store of up to 16 bytes. There a line of a tile is
// runs of 16 bytes, one a lane: a warp reads its lines by 16-byte loads, scans the runs in registers, the lanes by shuffles,
// and stores whole lines of y: 16-bit floats as the vectors that they are; integers, whose sums are 4 or 8 times as wide,
// through a further exchange of words with the sum before each (movement/narrow.cuh).
// Against an element at a time: a quarter (2 bytes) to a sixteenth (1 byte) of the accesses to shared memory. On one H200,
// 4096 x 4096: bfloat16 24.6 us (36.9), int8 45.6 (55.3), int16 50.9 (62).
#pragma once

#include "gpubench/movement/narrow.cuh"
#include "gpubench/warp.cuh"

namespace gpubench::cumsum {

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

// 16-bit floats: all lines of the warp are scanned before the first is stored, so that their shuffles overlap.
template <class S, class T, class Out>
GPUBENCH_DEVICE void store_runs(const uint32* stage, typename S::A* carries, Out* y, long long y_across, long long start,
                                long long length, int lines) {
    using A = typename S::A;
    constexpr int K = S::runs / warp_size;
    Vector<A, S::V> sums[S::mine][K];
    GPUBENCH_UNROLL
    for (int l = 0; l < S::mine; ++l) {
        GPUBENCH_UNROLL
        for (int k = 0; k < K; ++k) {
            const uint32* const run = stage + S::place(S::first_line() + l, lane_index()) + k * (warp_size * 4);
            sums[l][k] = unpack_items<S::V, A>(load_packed<S::V>(reinterpret_cast<const T*>(run)));
            scan_items<S::V>(sums[l][k], Add{});
        }
    }
    GPUBENCH_UNROLL
    for (int l = 0; l < S::mine; ++l) {
        A upto[K];
        GPUBENCH_UNROLL
        for (int k = 0; k < K; ++k) upto[k] = scan_lanes(sums[l][k][S::V - 1], Add{});
        GPUBENCH_UNROLL
        for (int k = 0; k < K; ++k) combine_before<S::V>(sums[l][k], before_lane(upto[k], carries[l], Add{}), Add{});
    }
    const int first = lane_index() * S::V;
    const int left = length - start < S::tile ? static_cast<int>(length - start) : S::tile;
    GPUBENCH_UNROLL
    for (int l = 0; l < S::mine; ++l) {
        const int line = S::first_line() + l;
        if (line >= lines) continue;
        Out* const target = y + line * y_across + start;
        const Span span{first, warp_size * S::V, -first, left - first};
        const bool whole = is_aligned(target, 16);
        GPUBENCH_UNROLL
        for (int k = 0; k < K; ++k) {
            if (whole) {
                store_items<S::V>(target, span, k, sums[l][k]);
            } else {
                GPUBENCH_UNROLL
                for (int j = 0; j < S::V; ++j) {
                    if (j < span.to(k)) target[first + k * (warp_size * S::V) + j] = convert<Out>(sums[l][k][j]);
                }
            }
        }
    }
}

// Integers: sums since the tile's first element have 32 bits; the carry comes to them as they are stored. exchange: of the
// warp, for one line after the other.
template <class S, class T>
GPUBENCH_DEVICE void store_parts(const uint32* stage, PackedWord* exchange, typename S::A* carries, int64* y, long long y_across,
                                 long long start, long long length, int lines) {
    using Part = typename S::Part;
    static_assert(Part::run == S::V);
    const int left = length - start < S::tile ? static_cast<int>(length - start) : S::tile;
    GPUBENCH_UNROLL
    for (int l = 0; l < S::mine; ++l) {
        const int line = S::first_line() + l;
        Part part;
        GPUBENCH_UNROLL
        for (int k = 0; k < Part::runs; ++k) {
            const uint32* const run = stage + S::place(line, lane_index()) + k * (warp_size * 4);
            part.items[k] = bit_cast<typename Part::Words>(load_word(reinterpret_cast<const Word128*>(run)));
        }
        if (l > 0) warp_barrier();  // the line before is stored
        const int32 sum = part.scan(exchange);
        warp_barrier();
        if (line < lines) {
            int64* const target = y + line * y_across + start;
            if (is_aligned(target, 16)) Part::store(target, exchange, carries[l], 0, left);
            else Part::template store<1>(target, exchange, carries[l], 0, left);
        }
        carries[l] = add(carries[l], int64{sum});
    }
}

// The strip from end to end. stages: two tiles, and for integers the warps' exchanges.
template <class S, class T, class Out>
GPUBENCH_DEVICE void walk_words(const T* x, Out* y, long long x_along, long long y_across, long long length, int lines, uint32* stages) {
    typename S::A carries[S::mine] = {};
    typename S::Loads next;
    load_words<S>(next, x, x_along, 0, length, lines);
    uint32* stage = stages;
    for (long long start = 0; start < length; start += S::tile) {
        fill_runs<S>(next, stage);
        if (start + S::tile < length) load_words<S>(next, x, x_along, start + S::tile, length, lines);
        block_barrier();
        if constexpr (S::narrow) {
            PackedWord* const exchanges = reinterpret_cast<PackedWord*>(stages + 2 * S::items);
            PackedWord* const exchange = exchanges + thread_index_x() / warp_size * S::Part::entries;
            store_parts<S, T>(stage, exchange, carries, y, y_across, start, length, lines);
        } else {
            store_runs<S, T>(stage, carries, y, y_across, start, length, lines);
        }
        stage = stage == stages ? stages + S::items : stages;
    }
}

}  // namespace gpubench::cumsum
