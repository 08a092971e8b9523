// Transposed by elements: a strip of lines from and to shared memory, along the lines by vectors and across them coalesced.
//
// Places in shared memory are swizzled by an exclusive or of the lane (or line) number and of an element's place in its
// vector, so that neither way through a tile meets a bank twice. Across the lines a lane takes several of them at once
// where alignment allows it: 16 bytes of y, 4 of narrow x.
#pragma once

#include "gpubench/movement/span.cuh"
#include "gpubench/strided.cuh"

namespace gpubench {

struct TransposedShape {
    long long length, across;     // elements of a line; lines side by side
    long long x_along, x_across;  // distances in x
    long long y_along, y_across;  // distances in y
    long long strips;             // of as many lines as a block walks
};
GPUBENCH_LAYOUT(TransposedShape, 56, strips, 48);

// The numbers of one instance, and a block's place. x and y: the first element of the strip.
template <class T, class Out, bool XAlong, int L, int W, int K>
struct TransposedStrip {
    using A = accumulator_t<Out>;
    using Local = tile_accumulator_t<T, A>;                // of narrow integers, sums since the tile's first element
    using Item = conditional_t<XAlong, Local, T>;  // what stands in shared memory: sums, or elements of x
    static constexpr bool narrow = is_narrow<T, A>;
    static constexpr int V = narrow ? 4 : vector_items<T, Out>;  // of a lane, side by side
    static constexpr int pack = XAlong && sizeof(Out) < 16 ? 16 / static_cast<int>(sizeof(Out)) : 1;  // lines of one access
    static constexpr int vectors = warp_size * K;  // of a line in a tile
    static constexpr int tile = vectors * V;
    static constexpr int items = tile * L;
    static constexpr int width = L, mine = L / W;  // lines of the strip, of a warp
    static constexpr int threads = W * warp_size;
    static constexpr int rows = threads * pack / L;  // elements of each line in one access of the block across the lines
    static constexpr int accesses = tile / rows;     // of a thread
    static_assert(rows % V == 0 && L == warp_size);

    const T* x;
    Out* y;
    TransposedShape shape;
    int lines;  // that exist

    // Where item j of vector 32 k + lane of a line stands in its tile. Lanes side by side have neighbouring vectors on one
    // way through the tile; on the other, `pack` neighbouring elements and each pack-th line.
    static GPUBENCH_DEVICE int place(uint32 k, uint32 lane, uint32 j, uint32 line) {
        if constexpr (XAlong) return static_cast<int>(((k * warp_size + lane) * V + j) * L + (line ^ ((lane ^ j % pack) % L)));
        return static_cast<int>(line * tile + j * vectors + k * warp_size + (lane ^ ((line ^ j) % warp_size)));
    }
    // The same for element `row` of it, after `skipped` ones, a multiple of V.
    static GPUBENCH_DEVICE int place_of_row(uint32 skipped, uint32 row, uint32 line) {
        const uint32 vector = skipped / V + row / V;
        return place(vector / warp_size, vector % warp_size, row % V, line);
    }
    // The first line, and the first element, of a thread that goes across the lines.
    static GPUBENCH_DEVICE int line_across() { return thread_index_x() % (L / pack) * pack; }
    static GPUBENCH_DEVICE int row_across() { return thread_index_x() / (L / pack); }
    template <class X>
    GPUBENCH_DEVICE bool whole_across(const X* first, long long step) const {
        return lines == L && is_aligned(first, pack * sizeof(X)) && step % pack == 0;
    }
    GPUBENCH_DEVICE int first_line() const { return thread_index_x() / warp_size * mine; }
    // The vectors of a lane, on a line from `start` on.
    GPUBENCH_DEVICE Span span(long long start, int line) const {
        const long long first = start + lane_index() * V;
        const long long left = line < lines ? shape.length - first : 0;
        const int before = first < tile ? static_cast<int>(first) : tile;  // only whether there is a vector before matters
        return {first, warp_size * V, -before, static_cast<int>(left < tile ? left : tile)};
    }
};

// What a thread holds of the next tile.
template <class S, class T, bool XAlong>
struct TransposedLoads {
    Packed<T, S::V> vectors[S::mine][S::vectors / warp_size];
};
template <class S, class T>
struct TransposedLoads<S, T, false> {
    Vector<T, S::pack> items[S::accesses];
};

template <class S, class T>
GPUBENCH_DEVICE void load_tile(const S& strip, long long start, TransposedLoads<S, T, true>& next) {
    GPUBENCH_UNROLL
    for (int l = 0; l < S::mine; ++l) {
        const int line = strip.first_line() + l;
        const T* const source = strip.x + line * strip.shape.x_across;
        const Span span = strip.span(start, line);
        load_span<S::V, S::vectors / warp_size>(next.vectors[l], source, span, is_aligned(source + start, S::V * sizeof(T)));
    }
}
template <class S, class T>
GPUBENCH_DEVICE void load_tile(const S& strip, long long start, TransposedLoads<S, T, false>& next) {
    const int line = S::line_across(), row = S::row_across();
    const T* source = strip.x + (start + row) * strip.shape.x_along + line;
    const long long step = S::rows * strip.shape.x_along;
    const long long left = strip.shape.length - start;
    if (left >= S::tile && strip.whole_across(strip.x, strip.shape.x_along)) {
        GPUBENCH_UNROLL
        for (int n = 0; n < S::accesses; ++n, source += step) next.items[n] = load_vector<S::pack>(source);
        return;
    }
    GPUBENCH_UNROLL
    for (int n = 0; n < S::accesses; ++n, source += step) {
        next.items[n] = {};
        GPUBENCH_UNROLL
        for (int p = 0; p < S::pack; ++p) {
            if (line + p < strip.lines && row + n * S::rows < left) next.items[n][p] = source[p];
        }
    }
}

// Put what was loaded across the lines into shared memory.
template <class S, class T>
GPUBENCH_DEVICE void fill_tile(const TransposedLoads<S, T, false>& next, typename S::Item* stage) {
    GPUBENCH_UNROLL
    for (int n = 0; n < S::accesses; ++n) {
        GPUBENCH_UNROLL
        for (int p = 0; p < S::pack; ++p) {
            stage[S::place_of_row(n * S::rows, S::row_across(), S::line_across() + p)] = convert<typename S::Item>(next.items[n][p]);
        }
    }
}
// Elements row, row + Rows ... of P lines from `line` on. y: their first; All of them exist, or those before `left`.
template <class S, int P, int Rows, bool All, class Out, class Combine>
GPUBENCH_DEVICE void store_rows(const typename S::Item* stage, const typename S::A* before, int row, int line, long long left, Out* y,
                                long long step, Combine combine) {
    Vector<typename S::A, P> carries{};
    if constexpr (S::narrow) carries = load_vector<P>(before + line);
    GPUBENCH_UNROLL
    for (int n = 0; n < S::tile / Rows; ++n, y += step) {
        Vector<typename S::A, P> sums;
        GPUBENCH_UNROLL
        for (int p = 0; p < P; ++p) {
            sums[p] = convert<typename S::A>(stage[S::place_of_row(n * Rows, row, line + p)]);
            if constexpr (S::narrow) sums[p] = combine(carries[p], sums[p]);
        }
        if (All || row + n * Rows < left) store_vector(y, convert_items<P, Out>(sums));
    }
}
// Store a tile that stands in shared memory across the lines. before: what comes before the tile in each line, where the items
// do without.
template <class S, class Out, class Combine>
GPUBENCH_DEVICE void store_tile_across(const S& strip, long long start, const typename S::Item* stage, const typename S::A* before, Out* y,
                                       Combine combine) {
    const long long left = strip.shape.length - start, apart = strip.shape.y_along;
    if (strip.whole_across(y, apart)) {
        const int line = S::line_across(), row = S::row_across();
        Out* const target = y + (start + row) * apart + line;
        if (left >= S::tile) store_rows<S, S::pack, S::rows, true>(stage, before, row, line, left, target, S::rows * apart, combine);
        else store_rows<S, S::pack, S::rows, false>(stage, before, row, line, left, target, S::rows * apart, combine);
    } else {  // a lane a line
        constexpr int rows = S::threads / S::width;
        const int line = thread_index_x() % S::width, row = thread_index_x() / S::width;
        Out* const target = y + (start + row) * apart + line;
        if (line < strip.lines) store_rows<S, 1, rows, false>(stage, before, row, line, left, target, rows * apart, combine);
    }
}

}  // namespace gpubench
