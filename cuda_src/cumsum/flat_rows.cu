// cumsum, variant `flat_rows`: short contiguous rows of any length, or a few short columns side by side, seen as one flat
// array cut into equal tiles.
//
// Data: a warp takes Vectors x 32 vectors of 16 bytes, wherever rows begin in them: every lane works and every access is
// a whole aligned vector, whatever the rows' length. Inside the tile: segmented scan by shuffles (Sengupta
// and others 2007). Sums are selected, never multiplied by zero, so NaN and infinity stay in their row.
// The row that began before the tile: the warp reads that row's earlier elements once more and sums them, while its own
// vectors are under way; another warp, most often of the same block, has just brought them into a cache.
// Side: so many columns lie side by side, each summed by itself; an item is an element of each.
// Against `lanes_rows`: no lane idles because a row is no power of two of vectors, and no access is split because rows
// begin anywhere. Against warps that take whole rows only: no lane idles because these do not fill it. On one H200: 262144
// x 33 float32 22.0 us (0.95 of the ceiling; 27.4 by lanes_rows), 16777216 x 7 float16 118.5 us (166.9 by whole rows).
#include "gpubench/arithmetic.cuh"
#include "gpubench/grid.cuh"
#include "gpubench/integer_divider.cuh"
#include "gpubench/movement/shifted.cuh"
#include "gpubench/sides.cuh"
#include "gpubench/warp.cuh"

namespace gpubench::cumsum {

constexpr int flat_rows_threads = 256;

// A lane's vector: running sums since the last row began in it, or since its first item. `position`: the place in its row of
// its first element, of which an item has Side. first_head: the first item that begins a row; N when none does.
template <int Side, int N, class A>
GPUBENCH_DEVICE int scan_rows_in_vector(Vector<A, N>& items, int position, int length) {
    int first_head = position == 0 ? 0 : N;
    GPUBENCH_UNROLL
    for (int j = 1; j < N; ++j) {
        position = position + Side == length ? 0 : position + Side;
        if (position != 0) items[j] = add(items[j - 1], items[j]);
        else if (first_head == N) first_head = j;
    }
    return first_head;
}

// What comes before this lane's vector in the row that it begins in. carry: what comes before the first lane's; moved on
// behind the last lane's.
template <class A>
GPUBENCH_DEVICE A before_in_row(A sum, bool has_head, A& carry) {
    const int lane = lane_index();
    const uint32 heads = ballot(full_mask, has_head);
    const uint32 upto = heads & lanes_through();
    const int nearest = upto != 0 ? warp_size - 1 - count_leading_zeros(upto) : 0;
    GPUBENCH_UNROLL
    for (int delta = 1; delta < warp_size; delta *= 2) {
        const A other = shuffle_up(full_mask, sum, delta);
        if (opaque(lane) - delta >= nearest) sum = add(other, sum);
    }
    const A left = shuffle_up(full_mask, sum, 1);
    const A last = shuffle(full_mask, sum, warp_size - 1);
    A before = left;
    if (opaque(lane) == 0) before = carry;
    else if ((heads & lanes_before()) == 0) before = add(carry, left);
    carry = heads == 0 ? add(carry, last) : last;
    return before;
}

// elements: all of x. y stands on 16 bytes. rows: the length of a row times Side, under 2^30; V is a multiple of Side.
template <class T, class Out, int Vectors, int Side>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(flat_rows_threads)
    flat_rows(const T* x, Out* y, long long elements, IntegerDivider rows) {
    using Part = tile_accumulator_t<T, accumulator_t<Out>>;
    using A = sides_t<Part, Side>;
    constexpr int V = vector_items<T, Out>, N = V / Side;
    constexpr int tile = warp_size * V * Vectors;
    const int length = static_cast<int>(rows.divisor);
    const long long start = grid_thread() / warp_size * tile;
    if (start >= elements) return;
    const int before_tile = static_cast<int>(start % length);  // elements of the first row that lie before the tile
    const long long left = elements - start;
    const int place = lane_index() * V;
    const Span span{place, warp_size * V, -place, static_cast<int>(left < tile ? left : tile) - place};
    Packed<T, V> raw[Vectors];
    if (is_aligned(x, V * sizeof(T))) load_span<V, Vectors>(raw, x + start, span, true);
    else load_flat_span<V, Vectors>(raw, x, start, tile, elements);
    Part mine{};  // a lane's are all of one column, for Side divides the warp
    for (int at = lane_index(); at < before_tile; at += warp_size) {
        mine = add(mine, convert<Part>(x[start - before_tile + at]));
    }
    warp_barrier();  // lanes with less to add rejoin the others
    Vector<Part, Side> sums;
    GPUBENCH_UNROLL
    for (int s = 0; s < Side; ++s) sums[s] = combine_lanes(lane_index() % Side == s ? mine : Part{}, Add{});
    A carry = bit_cast<A>(sums);
    GPUBENCH_UNROLL
    for (int k = 0; k < Vectors; ++k) {
        const int position = static_cast<int>(rows.divide(static_cast<uint32>(before_tile + place + k * span.apart)).remainder);
        Vector<A, N> items = unpack_sides<Part, Side>(raw[k]);
        const int first_head = scan_rows_in_vector<Side, N>(items, position, length);
        const A before = before_in_row(items[N - 1], first_head < N, carry);
        GPUBENCH_UNROLL
        for (int j = 0; j < N; ++j) {
            if (j < first_head) items[j] = add(before, items[j]);
        }
        store_items<V>(y + start, span, k, in_elements(items));
    }
}

}  // namespace gpubench::cumsum
