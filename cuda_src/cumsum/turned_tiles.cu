// cumsum, variant `turned_tiles`: x and y disagree on their fastest dim, and one of the two is the summed one.
//
// Data: a block walks a strip of Lines neighbouring lines from end to end in tiles. XAlong: x lies along the lines, y across
// them. A warp loads its lines of the tile by 16-byte vectors, scans each by shuffles with the line's carry in a
// register, and puts the sums into shared memory; then the block stores the tile across the lines, coalesced. Otherwise x
// lies across the lines and y along them: the block loads the tile across the lines, coalesced, puts it into shared
// memory, and each warp scans its lines from there and stores them by vectors. The next tile is on its way into
// registers meanwhile; there are two tiles of shared memory, so a block waits once a tile.
// Places in shared memory are turned by an exclusive or of the lane (or line) number, so that neither way through a tile
// meets a bank twice. Against `naive`: every access of x and y is coalesced; a thread a line touches a line of 128 bytes
// for each element of x or of y. Predicted for one H200, 4096 x 4096 float32: 45 us (0.8 of a copy; naive 624 us).
#include "gpubench/strided.cuh"
#include "cumsum/items.cuh"

namespace gpubench::cumsum {

struct TurnedShape {
    long long length, across;      // elements of a line; lines side by side
    long long x_along, x_across;   // distances in x
    long long y_along, y_across;   // distances in y
    long long strips;              // of Lines lines
};

// What stands in shared memory: sums, or elements of x in at least 32 bits, so that neighbours never share a bank.
template <class T, class A, bool XAlong>
struct TileItem {
    using type = A;
};
template <class T, class A>
struct TileItem<T, A, false> {
    using type = T;
};
template <Half T, class A>
struct TileItem<T, A, false> {
    using type = float;
};
template <Integer T, class A>
    requires(sizeof(T) < 4)
struct TileItem<T, A, false> {
    using type = int32;
};

// The numbers of one instance, and a block's place. x and y: the first element of the strip.
template <class T, class Out, bool XAlong, int L, int W, int K>
struct TurnedStrip {
    using A = accumulator_t<Out>;
    using Item = typename TileItem<T, A, XAlong>::type;
    static constexpr int V = vector_items<T, Out>;
    static constexpr int vectors = warp_size * K;  // of a line in a tile
    static constexpr int tile = vectors * V;
    static constexpr int items = tile * L;
    static constexpr int width = L, mine = L / W;  // lines of the strip, of a warp
    static constexpr int threads = W * warp_size;
    static constexpr int loads = items / threads;  // elements of a thread that loads across

    const T* x;
    Out* y;
    TurnedShape shape;
    int lines;  // that exist

    // Where element i of a line stands in its tile.
    static GPUBENCH_DEVICE int place(int i, int line) {
        if constexpr (XAlong) return i * L + (line ^ (i / V % L));
        else return line * tile + i % V * vectors + (i / V ^ line);
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
struct TurnedLoads {
    Vector<T, S::V> vectors[S::mine][S::vectors / warp_size];
};
template <class S, class T>
struct TurnedLoads<S, T, false> {
    T items[S::loads];
};

template <class S, class T>
GPUBENCH_DEVICE void load_tile(const S& strip, long long start, TurnedLoads<S, T, true>& next) {
    GPUBENCH_UNROLL
    for (int l = 0; l < S::mine; ++l) {
        const int line = strip.first_line() + l;
        const T* const source = strip.x + line * strip.shape.x_across;
        const Span span = strip.span(start, line);
        load_span<S::V, S::vectors / warp_size>(next.vectors[l], source, span, is_aligned(source + start, S::V * sizeof(T)));
    }
}
template <class S, class T>
GPUBENCH_DEVICE void load_tile(const S& strip, long long start, TurnedLoads<S, T, false>& next) {
    const int line = thread_index_x() % S::width;
    GPUBENCH_UNROLL
    for (int n = 0; n < S::loads; ++n) {
        const long long i = start + n * (S::threads / S::width) + thread_index_x() / S::width;
        next.items[n] = T{};
        if (line < strip.lines && i < strip.shape.length) next.items[n] = strip.x[i * strip.shape.x_along + line];
    }
}

// Running sums of one vector of a line, with and behind what comes before it.
template <class S>
GPUBENCH_DEVICE void scan_vector(Vector<typename S::A, S::V>& items, typename S::A& carry) {
    scan_items<S::V>(items);
    add_to_items<S::V>(items, before_lane(scan_lanes(items[S::V - 1]), carry));
}

// XAlong: scan what was loaded into shared memory; then store the tile across the lines.
template <class S, class T>
GPUBENCH_DEVICE void fill_tile(const S& strip, const TurnedLoads<S, T, true>& next, typename S::A* carries, typename S::Item* stage) {
    GPUBENCH_UNROLL
    for (int l = 0; l < S::mine; ++l) {
        const int line = strip.first_line() + l;
        if (line >= strip.lines) continue;
        GPUBENCH_UNROLL
        for (int k = 0; k < S::vectors / warp_size; ++k) {
            auto items = convert_items<S::V, typename S::A>(next.vectors[l][k]);
            scan_vector<S>(items, carries[l]);
            GPUBENCH_UNROLL
            for (int j = 0; j < S::V; ++j) stage[S::place((k * warp_size + lane_index()) * S::V + j, line)] = items[j];
        }
    }
}
template <class S, class Out>
GPUBENCH_DEVICE void store_across(const S& strip, long long start, const typename S::Item* stage, Out* y) {
    constexpr int pack = sizeof(Out) < 4 ? 4 / static_cast<int>(sizeof(Out)) : 1;  // lines of a thread, for whole words
    constexpr int rows = S::threads * pack / S::width;
    const int line = thread_index_x() % (S::width / pack) * pack;
    const bool whole = line + pack <= strip.lines && is_aligned(y + line, pack * sizeof(Out)) && strip.shape.y_along % pack == 0;
    GPUBENCH_UNROLL
    for (int n = 0; n < S::tile / rows; ++n) {
        const int i = n * rows + thread_index_x() / (S::width / pack);
        if (start + i >= strip.shape.length) continue;
        Out* const target = y + (start + i) * strip.shape.y_along + line;
        Vector<Out, pack> sums;
        GPUBENCH_UNROLL
        for (int p = 0; p < pack; ++p) {
            if (line + p < strip.lines) sums[p] = convert<Out>(stage[S::place(i, line + p)]);
        }
        if (whole) {
            store_vector(target, sums);
        } else {
            GPUBENCH_UNROLL
            for (int p = 0; p < pack; ++p) {
                if (line + p < strip.lines) target[p] = sums[p];
            }
        }
    }
}

// Otherwise: put what was loaded into shared memory; then scan the lines from there and store them.
template <class S, class T>
GPUBENCH_DEVICE void fill_tile(const S&, const TurnedLoads<S, T, false>& next, typename S::A*, typename S::Item* stage) {
    GPUBENCH_UNROLL
    for (int n = 0; n < S::loads; ++n) {
        const int i = n * (S::threads / S::width) + thread_index_x() / S::width;
        stage[S::place(i, thread_index_x() % S::width)] = convert<typename S::Item>(next.items[n]);
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
            Vector<typename S::A, S::V> items;
            GPUBENCH_UNROLL
            for (int j = 0; j < S::V; ++j) {
                items[j] = convert<typename S::A>(stage[S::place((k * warp_size + lane_index()) * S::V + j, line)]);
            }
            scan_vector<S>(items, carries[l]);
            if (whole) {
                store_items<S::V>(target, span, k, items);
            } else {
                GPUBENCH_UNROLL
                for (int j = 0; j < S::V; ++j) {
                    if (j < span.to(k)) target[span.first + k * span.apart + j] = convert<Out>(items[j]);
                }
            }
        }
    }
}

// x_batch, y_batch: the dims that are neither summed nor across, both with the same sizes. The grid: a block a strip.
template <class T, class Out, bool XAlong, int Lines, int Warps, int Vectors>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(Warps* warp_size)
    turned_tiles(const T* x, Out* y, TurnedShape shape, Strided x_batch, Strided y_batch) {
    using S = TurnedStrip<T, Out, XAlong, Lines, Warps, Vectors>;
    GPUBENCH_DYNAMIC_SHARED(typename S::Item, stages);
    const long long batch = block_index_x() / shape.strips;
    const long long first = (block_index_x() - batch * shape.strips) * Lines;
    const int lines = shape.across - first < Lines ? static_cast<int>(shape.across - first) : Lines;
    const S strip{x + x_batch.offset(batch) + first * shape.x_across, y + y_batch.offset(batch) + first * shape.y_across, shape, lines};
    typename S::A carries[S::mine] = {};
    TurnedLoads<S, T, XAlong> next;
    load_tile(strip, 0, next);
    typename S::Item* stage = stages;
    for (long long start = 0; start < shape.length; start += S::tile) {
        fill_tile(strip, next, carries, stage);
        if (start + S::tile < shape.length) load_tile(strip, start + S::tile, next);
        block_barrier();
        if constexpr (XAlong) store_across(strip, start, stage, strip.y);
        else store_along(strip, start, stage, carries, strip.y);
        stage = stage == stages ? stages + S::items : stages;
    }
}

}  // namespace gpubench::cumsum
