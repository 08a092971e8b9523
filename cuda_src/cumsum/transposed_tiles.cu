// cumsum, variant `transposed_tiles`: x and y disagree on their fastest dim, and one of the two is the summed one.
//
// Data: a block walks a strip of Lines neighbouring lines from end to end in tiles. XAlong: x lies along the lines, y across
// them. A warp loads its lines of the tile by 16-byte vectors, scans each by shuffles with the line's carry in a
// register, and puts the sums into shared memory; then the block stores the tile across the lines, coalesced. Otherwise x
// lies across the lines and y along them: the block loads the tile across the lines, coalesced, puts it into shared
// memory, and each warp scans its lines from there and stores them by vectors; of 1 and 2 bytes an element, words of several
// go that way (transposed_words.cuh). The next tile is on its way into registers meanwhile; there are two tiles of shared
// memory, so a block waits once a tile.
// Across the lines a lane takes several of them at once where alignment allows it: 16 bytes of y, 4 of narrow x.
// Places in shared memory are swizzled by an exclusive or of the lane (or line) number and of an element's place in its
// vector, so that neither way through a tile meets a bank twice. Against `naive`: every access of x and y is coalesced; a
// thread a line touches a line of 128 bytes for each element of x or of y. On one H200, 4096 x 4096 float32: 40.1 us with
// x along the lines, 40.8 across them, 0.87 to 0.89 of the ceiling (naive 624 us, the best library 277 and 136).
#include "gpubench/movement/span.cuh"
#include "cumsum/transposed_shape.cuh"
#include "cumsum/transposed_words.cuh"

namespace gpubench::cumsum {

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

// Running sums of one vector of a line, with and behind what comes before it.
template <class S>
GPUBENCH_DEVICE void scan_vector(Vector<typename S::Local, S::V>& items, typename S::Local& carry) {
    scan_items<S::V>(items, Add{});
    combine_before<S::V>(items, before_lane(scan_lanes(items[S::V - 1], Add{}), carry, Add{}), Add{});
}

// XAlong: scan what was loaded into shared memory; then store the tile across the lines. before: of each line, the sum
// before the tile, where the sums in shared memory do without.
template <class S, class T>
GPUBENCH_DEVICE void fill_tile(const S& strip, const TransposedLoads<S, T, true>& next, typename S::A* carries, typename S::Item* stage,
                               typename S::A* before) {
    GPUBENCH_UNROLL
    for (int l = 0; l < S::mine; ++l) {
        const int line = strip.first_line() + l;
        typename S::Local run{};
        if constexpr (!S::narrow) run = carries[l];
        GPUBENCH_UNROLL
        for (int k = 0; k < S::vectors / warp_size; ++k) {
            auto items = unpack_items<S::V, typename S::Local>(next.vectors[l][k]);
            scan_vector<S>(items, run);
            GPUBENCH_UNROLL
            for (int j = 0; j < S::V; ++j) stage[S::place(k, lane_index(), j, line)] = items[j];
        }
        if constexpr (S::narrow) {
            if (lane_index() == 0) before[line] = carries[l];
            carries[l] = add(carries[l], typename S::A{run});
        } else {
            carries[l] = run;
        }
    }
}

// Elements row, row + Rows ... of P lines from `line` on. y: their first; All of them exist, or those before `left`.
template <class S, int P, int Rows, bool All, class Out>
GPUBENCH_DEVICE void store_lines(const typename S::Item* stage, const typename S::A* before, int row, int line, long long left, Out* y,
                                 long long step) {
    Vector<typename S::A, P> carries{};
    if constexpr (S::narrow) carries = load_vector<P>(before + line);
    GPUBENCH_UNROLL
    for (int n = 0; n < S::tile / Rows; ++n, y += step) {
        Vector<typename S::A, P> sums;
        GPUBENCH_UNROLL
        for (int p = 0; p < P; ++p) {
            sums[p] = convert<typename S::A>(stage[S::place_of_row(n * Rows, row, line + p)]);
            if constexpr (S::narrow) sums[p] = add(carries[p], sums[p]);
        }
        if (All || row + n * Rows < left) store_vector(y, convert_items<P, Out>(sums));
    }
}
template <class S, class Out>
GPUBENCH_DEVICE void store_across(const S& strip, long long start, const typename S::Item* stage, const typename S::A* before, Out* y) {
    const long long left = strip.shape.length - start, apart = strip.shape.y_along;
    if (strip.whole_across(y, apart)) {
        const int line = S::line_across(), row = S::row_across();
        Out* const target = y + (start + row) * apart + line;
        if (left >= S::tile) store_lines<S, S::pack, S::rows, true>(stage, before, row, line, left, target, S::rows * apart);
        else store_lines<S, S::pack, S::rows, false>(stage, before, row, line, left, target, S::rows * apart);
    } else {  // a lane a line
        constexpr int rows = S::threads / S::width;
        const int line = thread_index_x() % S::width, row = thread_index_x() / S::width;
        Out* const target = y + (start + row) * apart + line;
        if (line < strip.lines) store_lines<S, 1, rows, false>(stage, before, row, line, left, target, rows * apart);
    }
}

// Otherwise: put what was loaded into shared memory; then scan the lines from there and store them.
template <class S, class T>
GPUBENCH_DEVICE void fill_tile(const S&, const TransposedLoads<S, T, false>& next, typename S::A*, typename S::Item* stage, typename S::A*) {
    GPUBENCH_UNROLL
    for (int n = 0; n < S::accesses; ++n) {
        GPUBENCH_UNROLL
        for (int p = 0; p < S::pack; ++p) {
            stage[S::place_of_row(n * S::rows, S::row_across(), S::line_across() + p)] = convert<typename S::Item>(next.items[n][p]);
        }
    }
}
template <class S, class Out>
GPUBENCH_DEVICE void store_along(const S& strip, long long start, const typename S::Item* stage, typename S::A* carries, Out* y) {
    GPUBENCH_UNROLL
    for (int l = 0; l < S::mine; ++l) {
        const int line = strip.first_line() + l;
        if (line >= strip.lines) continue;
        Out* const target = y + line * strip.shape.y_across;
        const Span span = strip.span(start, line);
        const bool whole = is_aligned(target + start, S::V * sizeof(Out));
        GPUBENCH_UNROLL
        for (int k = 0; k < S::vectors / warp_size; ++k) {
            Vector<typename S::Local, S::V> items;
            GPUBENCH_UNROLL
            for (int j = 0; j < S::V; ++j) {
                items[j] = convert<typename S::Local>(stage[S::place(k, lane_index(), j, line)]);
            }
            scan_vector<S>(items, carries[l]);
            const Vector<typename S::A, S::V> sums = convert_items<S::V, typename S::A>(items);
            if (whole) {
                store_items<S::V>(target, span, k, sums);
            } else {
                GPUBENCH_UNROLL
                for (int j = 0; j < S::V; ++j) {
                    if (j < span.to(k)) target[span.first + k * span.apart + j] = convert<Out>(sums[j]);
                }
            }
        }
    }
}

// The strip by elements, whose tiles of accumulators or elements are in `stages`.
template <class S, bool XAlong, class T, class Out>
GPUBENCH_DEVICE void walk_strip(const S& strip, typename S::Item* stages, typename S::A* befores) {
    typename S::A carries[S::mine] = {};
    TransposedLoads<S, T, XAlong> next;
    load_tile(strip, 0, next);
    typename S::Item* stage = stages;
    for (long long start = 0; start < strip.shape.length; start += S::tile) {
        typename S::A* const before = befores + (stage == stages ? 0 : S::width);
        fill_tile(strip, next, carries, stage, before);
        if (start + S::tile < strip.shape.length) load_tile(strip, start + S::tile, next);
        block_barrier();
        if constexpr (XAlong) store_across(strip, start, stage, before, strip.y);
        else store_along(strip, start, stage, carries, strip.y);
        stage = stage == stages ? stages + S::items : stages;
    }
}

// Blocks of an SM, at least.
template <class T, class Out, bool XAlong, int Lines, int Warps, int Vectors>
GPUBENCH_DEVICE constexpr int least_blocks() {
    if constexpr (transposes_words<T, Out, XAlong>) return TransposedRuns<T, Out, Lines, Warps, Vectors>::blocks;
    else return 32 / Warps;
}

// x_batch, y_batch: the dims that are neither summed nor across, both with the same sizes. The grid: a block a strip.
template <class T, class Out, bool XAlong, int Lines, int Warps, int Vectors>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(Warps* warp_size, (least_blocks<T, Out, XAlong, Lines, Warps, Vectors>()))
    transposed_tiles(const T* x, Out* y, TransposedShape shape, Strided x_batch, Strided y_batch) {
    const long long batch = block_index_x() / shape.strips;
    const long long first = (block_index_x() - batch * shape.strips) * Lines;
    const int lines = shape.across - first < Lines ? static_cast<int>(shape.across - first) : Lines;
    const T* const source = x + x_batch.offset(batch) + first * shape.x_across;
    Out* const target = y + y_batch.offset(batch) + first * shape.y_across;
    if constexpr (transposes_words<T, Out, XAlong>) {
        GPUBENCH_DYNAMIC_SHARED(uint32, stages);
        using S = TransposedRuns<T, Out, Lines, Warps, Vectors>;
        walk_words<S>(source, target, shape.x_along, shape.y_across, shape.length, lines, stages);
    } else {
        using S = TransposedStrip<T, Out, XAlong, Lines, Warps, Vectors>;
        GPUBENCH_DYNAMIC_SHARED(typename S::Item, stages);
        GPUBENCH_SHARED(typename S::A, befores, 2 * Lines);
        walk_strip<S, XAlong, T, Out>(S{source, target, shape, lines}, stages, befores);
    }
}

}  // namespace gpubench::cumsum
