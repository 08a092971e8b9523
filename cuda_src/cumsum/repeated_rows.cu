// cumsum, variant `repeated_rows`: rows of y that all come from the same row of x, as of a row that was broadcast.
//
// Data: each block scans the row once, as block_rows.cu does, keeps the sums in registers in y's type, and stores them to
// every row that is its own: row b, b + grid, b + 2 grid ... The grid is a multiple of a vector's elements, so all rows of a
// block begin at the same place of a vector and one cut serves them. x is read once a block, most of it from the L2 cache.
// Against `block_rows`, which loads, scans and waits anew for each row: what is left to do is writing. On one H200, 4096
// rows of 4097: float32 21.9 us (24.4), float16 13.2 (14.8).
#include "gpubench/arithmetic.cuh"
#include "gpubench/block/scan.cuh"
#include "gpubench/movement/shifted.cuh"
#include "gpubench/warp.cuh"

namespace gpubench::cumsum {

// rows: of y, `length` elements each. The grid: at most a block a row, a multiple of a vector's elements.
// Warps: the most of a block; it has as many as are launched.
template <class T, class Out, int Warps, int Vectors>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(Warps* warp_size, 1)
    repeated_rows(const T* x, Out* y, long long length, long long rows, long long x_step) {
    using A = accumulator_t<Out>;
    constexpr int V = vector_items<T, Out>;
    GPUBENCH_SHARED(A, warp_sums, Warps);
    const int lane = lane_index(), warp = thread_index_x() / warp_size;
    const long long first_row = block_index_x();
    const int shift = empty_slots<V>(y, first_row * length);
    const long long start = warp * (warp_size * Vectors * V) + lane * V - shift;
    const Span span{start, warp_size * V, start < 0 ? shift : 0, static_cast<int>(length - start)};
    Packed<T, V> raw[Vectors];
    load_lanes_span<V, Vectors>(raw, x, span, empty_slots<V>(x, -shift), 0, x_step);
    Vector<A, V> items[Vectors];
    A run{};
    GPUBENCH_UNROLL
    for (int k = 0; k < Vectors; ++k) {
        items[k] = unpack_items<V, A>(raw[k]);
        scan_items<V>(items[k], Add{});
        combine_before<V>(items[k], before_lane(scan_lanes(items[k][V - 1], Add{}), run, Add{}), Add{});
    }
    share_warp_totals(run, warp_sums, warp, lane);
    const A carry = before_warp(warp_sums, warp, A{}, Add{});
    Packed<Out, V> sums[Vectors];
    GPUBENCH_UNROLL
    for (int k = 0; k < Vectors; ++k) {
        combine_before<V>(items[k], carry, Add{});
        sums[k] = pack_items<V, Out>(items[k]);
    }
    for (long long row = first_row; row < rows; row += grid_size_x()) {
        GPUBENCH_UNROLL
        for (int k = 0; k < Vectors; ++k) store_packed_items<V>(y + row * length, span, k, sums[k]);
    }
}

}  // namespace gpubench::cumsum
