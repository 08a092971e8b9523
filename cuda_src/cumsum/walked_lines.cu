// cumsum, variant `walked_lines`: a thread walks a few neighbouring lines from start to end, several rows on their way at a
// time; of little data, lanes or a block share a line.
//
// Data: lines are counted in the order of y, over all its dims but the summed one, so that no thread idles where the
// innermost dim is no multiple of a warp. Items of them side by side are one vector of y; each thread finds its place by
// division, once, and then only steps: Rows vectors of x are asked for before the first is used, added up in registers, and
// stored. Any layout of x will do; Items is 1 where its neighbours do not lie side by side, on whole vectors.
// Tiled: lines that are neighbours in x are none in y. A block takes a tile of both dims, so that what it reads and what it
// writes are whole sectors, which the L1 cache brings together. Items are then side by side in x, and their sums go apart,
// each beside those of other lanes: a warp that asks for single elements is bound by the lines of the cache that it touches.
// So each half of a warp has a place of x's dim, and reads the other half of its sectors, where both write whole sectors, or single
// elements: 131072 x 16 x 32 float64 298 us (382 with a place a warp), 65 x 64 x 1000 bfloat16 24.8 (30.8).
// Where a line is contiguous in x a thread loads vectors of it, where it is so in y it stores them. Of lines of a sector and
// more, two lanes load and add up the same: each stores its half of every sector, so that none goes to the L2 cache in part,
// nor leaves it so. Lines of less than a vector of y go together with their neighbours.
// The next turn is asked for before this one is stored. What a small launch waits for is its own code, which comes from
// memory, too: so the first turn and the last are one piece of code each, and short columns need no more.
// `shared_lines`: neighbouring lanes hold neighbouring vectors of a line, all loaded at once; sums run through a vector, over
// the lanes by shuffles, over warps through shared memory. What lies apart in x or y touches a sector for each element, which
// the caches join while there is little of it; in return a line is one trip to memory, not a turn after another.
// Against `naive`, whose loads wait for one another, for the stores before them may be to the same place. Against
// `columns`, whose blocks have a strip each: a short column leaves most of a block idle, and many of them are many blocks.
#include "gpubench/arithmetic.cuh"
#include "gpubench/block/launched_scan.cuh"
#include "gpubench/grid.cuh"
#include "gpubench/movement/pieces.cuh"
#include "gpubench/movement/span.cuh"
#include "gpubench/movement/walk.cuh"
#include "gpubench/warp.cuh"

namespace gpubench::cumsum {

constexpr int sector_bytes = 32;  // what the L1 cache brings at once

// Run, YRun: rows that lie side by side in x, in y, and move at once; they divide Rows and the line, which begins on as many.
template <class T, class Out, int Items, int Rows, bool Tiled, int Run = 1, int YRun = 1>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(256) walked_lines(const T* x, Out* y, LineWalk lines) {
    constexpr int shared = is_sector<Out, YRun> ? 1 : 0;  // by two lanes
    if constexpr (Tiled) {
        const IntegerDivider::Result near = lines.places[0].size.divide(static_cast<uint32>(block_index_x()));
        const IntegerDivider::Result far = lines.places[1].size.divide(near.quotient);
        const uint32 thread = static_cast<uint32>(thread_index_x()) >> shared, wide = 1u << lines.near_bits;
        const bool sectors = Items == 1 || (Items * sizeof(T) == 16 && lines.y_apart * sizeof(Out) % sector_bytes == 0);
        const bool halves = sectors && wide >= warp_size && static_cast<uint32>(block_size_x()) >= (2 * wide) << shared;
        const uint32 first = near.remainder * wide + (halves ? (thread & 15) | (thread >> 1 & (wide - 16)) : thread % wide);
        const uint32 own = halves ? (thread >> lines.near_bits & ~1u) | (thread >> 4 & 1) : thread >> lines.near_bits;
        const uint32 second = far.remainder * (static_cast<uint32>(block_size_x()) >> shared >> lines.near_bits) + own;
        if (first >= static_cast<uint32>(lines.near) || second >= static_cast<uint32>(lines.far)) return;
        x += first * lines.places[0].x + second * lines.places[1].x;
        y += first * lines.places[0].y + second * lines.places[1].y;
        lines.step(2, far.quotient, x, y);
    } else {
        const uint32 vector = static_cast<uint32>(grid_thread() >> shared);
        if (vector >= lines.vectors) return;
        lines.step(0, vector, x, y);
    }
    constexpr int Moves = Rows / Run;
    static_assert(Rows % Run == 0 && Rows % YRun == 0, "whole runs a turn");
    Packed<T, Items * Run> raw[Moves];
    Vector<accumulator_t<Out>, Items> sums{};
    int left = lines.length;
    load_rows<Items, Run>(raw, x, left, lines.x_row);
    GPUBENCH_NO_UNROLL
    for (; left > Rows; left -= Rows) {
        Packed<T, Items * Run> next[Moves];
        x += Rows * lines.x_row;
        load_rows<Items, Run>(next, x, left - Rows, lines.x_row);
        store_rows<true, Tiled, Run, YRun>(raw, y, Rows, lines, sums, Add{});
        y += Rows * lines.y_row;
        GPUBENCH_UNROLL
        for (int m = 0; m < Moves; ++m) raw[m] = next[m];
    }
    store_rows<false, Tiled, Run, YRun>(raw, y, left, lines, sums, Add{});
}

// Tiles whose lines are contiguous in y, each in less than a sector at once: neighbours in x are read by neighbouring
// threads, and what comes together in y is stored from shared memory, Rows of each line at a time.
template <class T, class Out, int Items, int Rows>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(256) staged_lines(const T* x, Out* y, LineWalk lines) {
    using A = accumulator_t<Out>;
    GPUBENCH_DYNAMIC_SHARED(Out, stage);
    const IntegerDivider::Result near = lines.places[0].size.divide(static_cast<uint32>(block_index_x()));
    const IntegerDivider::Result far = lines.places[1].size.divide(near.quotient);
    const uint32 thread = static_cast<uint32>(thread_index_x()), wide = 1u << lines.near_bits;
    const uint32 high = static_cast<uint32>(block_size_x()) >> lines.near_bits;
    const uint32 first = near.remainder * wide, second = far.remainder * high;  // of the tile
    const uint32 nears = static_cast<uint32>(lines.near) - first < wide ? static_cast<uint32>(lines.near) - first : wide;
    const uint32 own_far = thread & (high - 1), own_near = thread / high;
    lines.step(2, far.quotient, x, y);
    y += int64{first} * lines.places[0].y + int64{second} * lines.places[1].y;
    x += int64{first + own_near} * lines.places[0].x + int64{second + own_far} * lines.places[1].x;
    const auto row_of = [&](int run) {  // runs: the first lines of all vectors, their second ones ...
        const uint32 place = static_cast<uint32>(run) & (high - 1), line = place * Items + static_cast<uint32>(run) / high;
        return second + place < static_cast<uint32>(lines.far) ? y + int64{line} * lines.y_apart : nullptr;
    };
    const bool here = own_near < nears && second + own_far < static_cast<uint32>(lines.far);
    const int turn = lines.length < Rows ? lines.length : Rows, pitch = static_cast<int>(wide) * turn | 1;
    Packed<T, Items> raw[Rows] = {};
    Vector<A, Items> sums{};
    load_rows<Items, 1>(raw, x, here ? lines.length : 0, lines.x_row);
    GPUBENCH_NO_UNROLL
    for (int left = lines.length;; left -= Rows) {
        Packed<T, Items> next[Rows] = {};
        x += Rows * lines.x_row;
        load_rows<Items, 1>(next, x, here ? left - Rows : 0, lines.x_row);
        const int rows = left < Rows ? left : Rows;
        Out* const own = stage + static_cast<int>(own_far) * pitch + static_cast<int>(own_near) * rows;
        GPUBENCH_UNROLL
        for (int r = 0; r < Rows; ++r) {
            if (r >= rows) break;
            combine_items(sums, unpack_items<Items, A>(raw[r]), Add{});
            const auto found = bit_cast<Vector<Out, Items>>(pack_items<Items, Out>(sums));
            GPUBENCH_UNROLL
            for (int j = 0; j < Items; ++j) own[j * static_cast<int>(high) * pitch + r] = found[j];
            raw[r] = next[r];
        }
        store_pieces(stage, static_cast<int>(high) * Items, pitch, nears * rows, static_cast<uint32>(rows), lines.length, row_of);
        if (left <= Rows) return;
        y += Rows;
    }
}

// Block: a block a line, else 2^near_bits lanes. Lines of at most 32 * V * Vectors elements times the warps of either.
template <class T, class Out, int Vectors, bool Block>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(Block ? 1024 : 256) shared_lines(const T* x, Out* y, LineWalk lines) {
    using A = tile_accumulator_t<T, accumulator_t<Out>>;
    constexpr int V = vector_items<T, Out>;
    GPUBENCH_SHARED(A, warp_sums, Block ? 35 : 1);
    const int lane = lane_index(), warp = thread_index_x() / warp_size;
    const int lanes = 1 << lines.near_bits;
    const uint32 line = static_cast<uint32>(Block ? block_index_x() : grid_thread() >> lines.near_bits);
    const bool here = line < lines.vectors;
    lines.step(0, here ? line : 0, x, y);
    const int first = Block ? (warp * warp_size * Vectors + lane) * V : (lane & (lanes - 1)) * V;
    const Span span{first, warp_size * V, 0, here ? lines.length - first : -V};
    Packed<T, V> raw[Vectors];
    load_span<V, Vectors>(raw, x, span, lines.x_row == 1 && is_aligned(x, V * sizeof(T)), lines.x_row);
    Vector<A, V> items[Vectors];
    A run{};
    GPUBENCH_UNROLL
    for (int k = 0; k < Vectors; ++k) {
        items[k] = unpack_items<V, A>(raw[k]);
        scan_items<V>(items[k], Add{});
        if constexpr (Block) {
            combine_before<V>(items[k], before_lane(scan_lanes(items[k][V - 1], Add{}), run, Add{}), Add{});
        } else {
            const A before = shuffle_up(full_mask, scan_lanes(items[k][V - 1], Add{}, lanes), 1, lanes);
            if ((opaque(lane) & (lanes - 1)) > 0) combine_before<V>(items[k], before, Add{});
        }
    }
    if constexpr (Block) {
        share_launched_totals(run, warp_sums, warp, lane, static_cast<int>(block_size_x()) / warp_size);
        const A carry = before_launched_warp<32>(warp_sums, warp, A{}, Add{});
        GPUBENCH_UNROLL
        for (int k = 0; k < Vectors; ++k) combine_before<V>(items[k], carry, Add{});
    }
    const bool whole = lines.y_row == 1 && is_aligned(y, V * sizeof(Out));
    GPUBENCH_UNROLL
    for (int k = 0; k < Vectors; ++k) {
        if (whole) {
            store_items<V>(y, span, k, items[k]);
        } else {
            const Vector<Out, V> sums = bit_cast<Vector<Out, V>>(pack_items<V, Out>(items[k]));
            Out* place = y + (span.first + k * span.apart) * lines.y_row;
            GPUBENCH_UNROLL
            for (int j = 0; j < V; ++j, place += lines.y_row) {
                if (j < span.to(k)) *place = sums[j];
            }
        }
    }
}

}  // namespace gpubench::cumsum
