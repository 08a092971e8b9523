// cumsum, variant `lanes_rows`: many short contiguous rows, a few lanes of a warp a row.
//
// Data: each lane holds one 16-byte vector of the row, loaded and stored in one access; `Lanes` neighbours (a power of
// two) hold a row, or a whole warp with two vectors a lane. Sums run through the vector in registers, then over the lanes by
// shuffles (Hillis and Steele 1986); no shared memory, no barrier, no word between rows. One vector a thread and 64 warps
// an SM keep enough in flight.
// Against `naive`: neighbouring lanes touch neighbouring memory. On one H200, float32, 1048576 x 128: 5040 us by one
// thread a row (CuPy), 252 us here, 1.01 of a device copy; more vectors a thread and cache hints measured slower (258).
// Rows at any alignment work (see movement/span.cuh); those that are not a whole number of vectors idle some lanes.
// `lanes_rows_at_once`: rows of whole vectors, which take half of the code; small launches wait for that. Of integers whose sums
// are wider a lane loads 2 to 8 bytes for the 16 that it stores: what one vector a thread has under way is little then, so that
// lanes hold several rows at once.
#include "gpubench/arithmetic.cuh"
#include "gpubench/grid.cuh"
#include "gpubench/movement/row_vectors.cuh"
#include "gpubench/movement/shifted.cuh"
#include "gpubench/sides.cuh"
#include "gpubench/strided.cuh"
#include "gpubench/warp.cuh"

namespace gpubench::cumsum {

constexpr int lanes_rows_threads = 256;

// Blocks an SM to leave registers for: one vector a thread needs all warps to keep enough under way.
template <class T, class Out>
GPUBENCH_DEVICE constexpr int lanes_rows_resident(int vectors, bool aligned) {
    return aligned ? 1 : vectors * vector_items<T, Out> >= 16 ? 6 : 8;
}

// A lane's items come behind those of the lanes before it, of `Lanes` that hold a row.
template <int Lanes, int N, class A>
GPUBENCH_DEVICE void scan_over_lanes(Vector<A, N>& items, int lane) {
    scan_items<N>(items, Add{});
    if constexpr (Lanes > 1) {
        const A before = shuffle_up(full_mask, scan_lanes(items[N - 1], Add{}, Lanes), 1, Lanes);
        if (opaque(lane) > 0) combine_before<N>(items, before, Add{});
    }
}

// x_rows: where rows of x start; their elements are x_step apart. y is contiguous. A lane holds `Vectors` vectors, Lanes apart.
// Aligned: in every row x stands on the grid of y's vectors, its elements side by side. Side: so many sums stand side by
// side in a row, a power of two; y begins on as many elements.
template <class T, class Out, int Lanes, int Vectors, bool Aligned, int Side = 1>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(lanes_rows_threads, lanes_rows_resident<T, Out>(Vectors, Aligned))
    lanes_rows(const T* x, Out* y, long long rows, int length, RowPlaces x_rows, long long x_step) {
    using Part = tile_accumulator_t<T, accumulator_t<Out>>;
    using A = sides_t<Part, Side>;
    constexpr int V = vector_items<T, Out>, N = V / Side;
    const long long row = grid_thread() / Lanes;
    const int lane = thread_index_x() % Lanes;
    const bool here = row < rows;
    const int shift = here ? empty_slots<V>(y, row * length) : 0;
    const int first = lane * V - shift;  // of this lane's first vector, in the row
    const Span span{first, Lanes * V, first < 0 ? shift : 0, here ? length - first : -V};
    const T* const source = x + x_rows.offset(row);
    Packed<T, V> raw[Vectors];
    if constexpr (Aligned) {
        load_aligned_span<V, Vectors>(raw, source, span);
    } else {
        const bool whole = x_step == 1 && is_aligned(source + first, V * sizeof(T));
        if (Lanes == 1 || x_step != 1) load_span<V, Vectors>(raw, source, span, whole, x_step);
        else load_lanes_span<V, Vectors, Lanes>(raw, source, span, empty_slots<V>(source, -shift));
    }
    A run{};
    GPUBENCH_UNROLL
    for (int k = 0; k < Vectors; ++k) {
        Vector<A, N> items = unpack_sides<Part, Side>(raw[k]);
        if constexpr (Vectors > 1) {  // then a row has the whole warp
            scan_items<N>(items, Add{});
            combine_before<N>(items, before_lane(scan_lanes(items[N - 1], Add{}), run, Add{}), Add{});
        } else {
            scan_over_lanes<Lanes>(items, lane);
        }
        store_items<V>(y + row * length, span, k, in_elements(items));
    }
}

// Rows without gaps, of whole vectors, in x and y; all rows of a lane are asked for before the first is added up.
template <class T, class Out, int Lanes, int Rows>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(lanes_rows_threads)
    lanes_rows_at_once(const T* x, Out* y, uint32 rows, uint32 length) {
    using A = tile_accumulator_t<T, accumulator_t<Out>>;
    constexpr int V = vector_items<T, Out>;
    constexpr uint32 apart = lanes_rows_threads / Lanes;
    const int lane = thread_index_x() % Lanes;
    const uint32 first = block_index_x() * (apart * Rows) + thread_index_x() / Lanes, place = lane * V;
    const auto exists = [&](int r) { return first + r * apart < rows && place < length; };
    const auto offset = [&](int r) { return int64{first + r * apart} * length + place; };
    Packed<T, V> raw[Rows];
    GPUBENCH_UNROLL
    for (int r = 0; r < Rows; ++r) raw[r] = vector_if<V>(x + offset(r), exists(r));
    GPUBENCH_UNROLL
    for (int r = 0; r < Rows; ++r) {
        Vector<A, V> items = unpack_items<V, A>(raw[r]);
        scan_over_lanes<Lanes>(items, lane);
        if (exists(r)) store_packed(y + offset(r), pack_items<V, Out>(items));
    }
}

}  // namespace gpubench::cumsum
