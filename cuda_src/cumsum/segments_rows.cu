// cumsum, variant `segments_rows`: very many tiny contiguous rows, several in a vector or lying across vectors.
//
// Data: a warp takes a whole number of rows that fill its 32 vectors of 16 bytes as far as they go, and that start on a
// vector boundary again: contiguous memory, one 16-byte load and one store a lane. A row may begin at any place of any
// lane's vector. Segmented scan by shuffles (Sengupta and others 2007): a ballot tells each lane the nearest lane before
// it in which a row begins; step d of the scan adds only what lies at or behind that lane. Sums are selected, never
// multiplied by zero, so NaN and infinity stay in their row.
// Against `lanes_rows`: no lane idles because a row is shorter than, or no multiple of, a vector. Needs y on a 16-byte
// boundary.
#include "gpubench/arithmetic.cuh"
#include "gpubench/grid.cuh"
#include "gpubench/movement/shifted.cuh"
#include "gpubench/warp.cuh"

namespace gpubench::cumsum {

constexpr int segments_rows_threads = 256;

// elements: all of x. elements_per_warp: a whole number of rows and of vectors, at most 32 vectors.
template <class T, class Out>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(segments_rows_threads)
    segments_rows(const T* x, Out* y, long long elements, int length, int elements_per_warp) {
    using A = accumulator_t<Out>;
    constexpr int V = vector_items<T, Out>;
    const int lane = lane_index();
    const long long start = grid_thread() / warp_size * elements_per_warp;
    const long long left = elements - start;
    const int place = lane * V;
    const Span span{place, 0, -place, static_cast<int>(left < elements_per_warp ? left : elements_per_warp) - place};
    Packed<T, V> raw[1];
    if (is_aligned(x, V * sizeof(T))) load_span<V, 1>(raw, x + start, span, true);
    else load_flat_span<V, 1>(raw, x, start, elements_per_warp, elements);
    Vector<A, V> items = unpack_items<V, A>(raw[0]);
    int position = place % length;
    int first_head = position == 0 ? 0 : V;  // the first element of the vector with which a row begins
    GPUBENCH_UNROLL
    for (int j = 1; j < V; ++j) {
        position = position + 1 == length ? 0 : position + 1;
        if (position != 0) items[j] = add(items[j - 1], items[j]);
        else if (first_head == V) first_head = j;
    }
    const uint32 heads = ballot(full_mask, first_head < V);
    const uint32 upto = heads & lanes_through();
    const int nearest = upto != 0 ? warp_size - 1 - count_leading_zeros(upto) : 0;
    A sum = items[V - 1];
    GPUBENCH_UNROLL
    for (int delta = 1; delta < warp_size; delta *= 2) {
        const A other = shuffle_up(full_mask, sum, delta);
        if (opaque(lane) - delta >= nearest) sum = add(other, sum);
    }
    const A before = shuffle_up(full_mask, sum, 1);
    GPUBENCH_UNROLL
    for (int j = 0; j < V; ++j) {
        if (lane > 0 && j < first_head) items[j] = add(before, items[j]);
    }
    store_items<V>(y + start, span, 0, items);
}

}  // namespace gpubench::cumsum
