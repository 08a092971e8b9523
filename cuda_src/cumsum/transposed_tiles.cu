// cumsum, variant `transposed_tiles`: x and y disagree on their fastest dim, and one of the two is the summed one.
//
// Data: a block walks a strip of Lines neighbouring lines from end to end in tiles. XAlong: x lies along the lines, y across
// them. A warp loads its lines of the tile by 16-byte vectors, scans each by shuffles with the line's carry in a
// register, and puts the sums into shared memory; then the block stores the tile across the lines, coalesced. Otherwise x
// lies across the lines and y along them: the block loads the tile across the lines, coalesced, puts it into shared
// memory, and each warp scans its lines from there and stores them by vectors; of 1 and 2 bytes an element, words of several
// go that way (movement/transpose_words.cuh). The next tile is on its way into registers meanwhile; there are two tiles of shared
// memory, so a block waits once a tile.
// Few long lines would leave most SMs idle. They are cut into chunks, a block each, and there are two launches: the first
// goes through the tiles without storing, and leaves each chunk's sum; the second begins with the sums of the chunks before.
// Across the lines a lane takes several of them at once where alignment allows it: 16 bytes of y, 4 of narrow x.
// Places in shared memory are swizzled by an exclusive or of the lane (or line) number and of an element's place in its
// vector, so that neither way through a tile meets a bank twice. Against `naive`: every access of x and y is coalesced; a
// thread a line touches a line of 128 bytes for each element of x or of y. On one H200, 4096 x 4096 float32: 40.1 us with
// x along the lines, 40.8 across them, 0.87 to 0.89 of the ceiling (naive 624 us, the best library 277 and 136).
#include "gpubench/arithmetic.cuh"
#include "gpubench/movement/stages.cuh"
#include "gpubench/movement/transpose.cuh"
#include "gpubench/movement/transpose_words.cuh"
#include "gpubench/warp.cuh"

namespace gpubench::cumsum {

// What a launch does: lines from end to end, or chunks of them.
constexpr int whole_lines = 0, sums_of_chunks = 1, behind_sums = 2;

// A block's chunk. sums: of each line of the strip, those of all chunks side by side.
template <class A>
struct Chunk {
    A* sums;
    int chunks, number;

    // Begin the lines of a warp with what the chunks before hold.
    template <int N>
    GPUBENCH_DEVICE void begin(A (&carries)[N], int first_line) const {
        GPUBENCH_UNROLL
        for (int l = 0; l < N; ++l) {
            A before{};
            for (int one = lane_index(); one < number; one += warp_size) before = add(before, sums[(first_line + l) * chunks + one]);
            carries[l] = combine_lanes(before, Add{});
        }
    }
    template <int N>
    GPUBENCH_DEVICE void leave(const A (&carries)[N], int first_line) const {
        GPUBENCH_UNROLL
        for (int l = 0; l < N; ++l) {
            if (lane_index() == 0) sums[(first_line + l) * chunks + number] = carries[l];
        }
    }
};

// Running sums of one vector of a line, with and behind what comes before it.
template <class S>
GPUBENCH_DEVICE void scan_vector(Vector<typename S::Local, S::V>& items, typename S::Local& carry) {
    scan_items<S::V>(items, Add{});
    combine_before<S::V>(items, before_lane(scan_lanes(items[S::V - 1], Add{}), carry, Add{}), Add{});
}

// XAlong: scan what was loaded into shared memory; then store the tile across the lines. before: of each line, the sum
// before the tile, where the sums in shared memory do without.
template <class S, bool Stores, class T>
GPUBENCH_DEVICE void scan_tile(const S& strip, const TransposedLoads<S, T, true>& next, typename S::A* carries, typename S::Item* stage,
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
            for (int j = 0; Stores && j < S::V; ++j) stage[S::place(k, lane_index(), j, line)] = items[j];
        }
        if constexpr (S::narrow) {
            if (lane_index() == 0) before[line] = carries[l];
            carries[l] = add(carries[l], typename S::A{run});
        } else {
            carries[l] = run;
        }
    }
}

template <class S, bool Stores, class Out>
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
            if constexpr (!Stores) continue;
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
template <class S, bool XAlong, int Pass, class T, class Out>
GPUBENCH_DEVICE void walk_strip(const S& strip, typename S::Item* stages, typename S::A* befores, const Chunk<typename S::A>& chunk) {
    constexpr bool stores = Pass != sums_of_chunks;
    typename S::A carries[S::mine] = {};
    if constexpr (Pass == behind_sums) chunk.begin(carries, strip.first_line());
    TransposedLoads<S, T, XAlong> next;
    const auto load = [&](long long start) { load_tile(strip, start, next); };
    const auto before_of = [&](const typename S::Item* stage) { return befores + (stage == stages ? 0 : S::width); };
    if constexpr (XAlong) {
        const auto fill = [&](typename S::Item* stage) { scan_tile<S, stores>(strip, next, carries, stage, before_of(stage)); };
        walk_two_stages(strip.shape.length, S::tile, stages, S::items, load, fill, [&](long long start, const typename S::Item* stage) {
            if constexpr (stores) store_tile_across(strip, start, stage, before_of(stage), strip.y, Add{});
        });
    } else {
        const auto fill = [&](typename S::Item* stage) { fill_tile<S>(next, stage); };
        walk_two_stages(strip.shape.length, S::tile, stages, S::items, load, fill, [&](long long start, const typename S::Item* stage) {
            store_along<S, stores>(strip, start, stage, carries, strip.y);
        });
    }
    if constexpr (!stores) chunk.leave(carries, strip.first_line());
}

// 16-bit floats: all lines of the warp are scanned before the first is stored, so that their shuffles overlap.
template <class S, bool Stores, class T, class Out>
GPUBENCH_DEVICE void store_runs(const uint32* stage, typename S::A* carries, Out* y, long long y_across, long long start,
                                long long length, int lines) {
    using A = typename S::A;
    constexpr int K = S::runs / warp_size;
    Vector<A, S::V> sums[S::mine][K];
    GPUBENCH_UNROLL
    for (int l = 0; l < S::mine; ++l) {
        GPUBENCH_UNROLL
        for (int k = 0; k < K; ++k) {
            sums[l][k] = unpack_items<S::V, A>(load_run<S, T>(stage, S::first_line() + l, k));
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
    if constexpr (!Stores) return;
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
template <class S, bool Stores, class T>
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
        for (int k = 0; k < Part::runs; ++k) part.items[k] = bit_cast<typename Part::Words>(load_run<S, T>(stage, line, k));
        if (l > 0) warp_barrier();  // the line before is stored
        const int32 sum = part.scan(exchange);
        warp_barrier();
        if (Stores && line < lines) {
            int64* const target = y + line * y_across + start;
            if (is_aligned(target, 16)) Part::store(target, exchange, carries[l], 0, left);
            else Part::template store<1>(target, exchange, carries[l], 0, left);
        }
        carries[l] = add(carries[l], int64{sum});
    }
}

// The strip from end to end. stages: two tiles, and for integers the warps' exchanges.
template <class S, int Pass, class T, class Out>
GPUBENCH_DEVICE void walk_words(const T* x, Out* y, long long x_along, long long y_across, long long length, int lines, uint32* stages,
                                const Chunk<typename S::A>& chunk) {
    constexpr bool stores = Pass != sums_of_chunks;
    typename S::A carries[S::mine] = {};
    if constexpr (Pass == behind_sums) chunk.begin(carries, S::first_line());
    typename S::Loads next;
    const auto load = [&](long long start) { load_words<S>(next, x, x_along, start, length, lines); };
    const auto fill = [&](uint32* stage) { fill_runs<S>(next, stage); };
    walk_two_stages(length, S::tile, stages, S::items, load, fill, [&](long long start, const uint32* stage) {
        if constexpr (S::narrow) {
            PackedWord* const exchanges = reinterpret_cast<PackedWord*>(stages + 2 * S::items);
            PackedWord* const exchange = exchanges + thread_index_x() / warp_size * S::Part::entries;
            store_parts<S, stores, T>(stage, exchange, carries, y, y_across, start, length, lines);
        } else {
            store_runs<S, stores, T>(stage, carries, y, y_across, start, length, lines);
        }
    });
    if constexpr (!stores) chunk.leave(carries, S::first_line());
}

// Blocks of an SM, at least.
template <class T, class Out, bool XAlong, int Lines, int Warps, int Vectors>
GPUBENCH_DEVICE constexpr int least_blocks() {
    if constexpr (transposes_words<T, Out, XAlong>) return TransposedRuns<T, Out, Lines, Warps, Vectors>::blocks;
    else return 32 / Warps;
}

// x_batch, y_batch: the dims that are neither summed nor across, both with the same sizes. The grid: a block a chunk, those of
// a strip side by side; sums: workspace, for each strip Lines x chunks.
template <class T, class Out, bool XAlong, int Lines, int Warps, int Vectors, int Pass>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(Warps* warp_size, (least_blocks<T, Out, XAlong, Lines, Warps, Vectors>()))
    transposed_tiles(const T* x, Out* y, TransposedShape shape, Strided x_batch, Strided y_batch, int chunks, long long chunk_length, void* sums) {
    using A = accumulator_t<Out>;
    const long long strip = Pass == whole_lines ? block_index_x() : block_index_x() / chunks;
    const int number = Pass == whole_lines ? 0 : static_cast<int>(block_index_x() - strip * chunks);
    const Chunk<A> chunk{static_cast<A*>(sums) + strip * Lines * chunks, chunks, number};
    const long long batch = strip / shape.strips;
    const long long first = (strip - batch * shape.strips) * Lines;
    const int lines = shape.across - first < Lines ? static_cast<int>(shape.across - first) : Lines;
    const T* source = x + x_batch.offset(batch) + first * shape.x_across;
    Out* target = y + y_batch.offset(batch) + first * shape.y_across;
    if constexpr (Pass != whole_lines) {
        const long long start = number * chunk_length;
        source += start * shape.x_along;
        target += start * shape.y_along;
        shape.length = shape.length - start < chunk_length ? shape.length - start : chunk_length;
    }
    if constexpr (transposes_words<T, Out, XAlong>) {
        GPUBENCH_DYNAMIC_SHARED(uint32, stages);
        using S = TransposedRuns<T, Out, Lines, Warps, Vectors>;
        walk_words<S, Pass>(source, target, shape.x_along, shape.y_across, shape.length, lines, stages, chunk);
    } else {
        using S = TransposedStrip<T, Out, XAlong, Lines, Warps, Vectors>;
        GPUBENCH_DYNAMIC_SHARED(typename S::Item, stages);
        GPUBENCH_SHARED(A, befores, 2 * Lines);
        walk_strip<S, XAlong, Pass, T, Out>(S{source, target, shape, lines}, stages, befores, chunk);
    }
}

}  // namespace gpubench::cumsum
