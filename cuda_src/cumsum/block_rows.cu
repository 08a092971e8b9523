// cumsum, variants `block_rows` and `linked_blocks`: rows that fit the registers of one block, or of a few.
//
// Data: a tile of Threads x Vectors vectors of 16 bytes is loaded at once, each warp's accesses contiguous, and stays in
// registers until it is stored; sums run through a vector, over the lanes by shuffles, over a warp's vectors in order,
// and over warps through shared memory. `block_rows`: a tile holds a row; blocks know nothing of each other.
// `linked_blocks`: a row is `tiles` blocks long; each block publishes its tile's sum and reads those of the tiles before
// it in the row, all at once: one hop, whatever the number. That needs every block resident at the same time (the host
// side sees to it), and costs one trip through the L2 cache: the way of sizes up to a few MB (staged_blocks.cu: more).
// On one H200, float32: 4096 x 4096 35.9 us, 0.987 of a device copy; 131072 x 512 0.994.
// A row may start anywhere (see movement/span.cuh and shifted.cuh), x may have a pitch and a step: 4096 x 4097 at offset 1 37.0 us.
#include "gpubench/arithmetic.cuh"
#include "gpubench/block/launched_scan.cuh"
#include "gpubench/block/scan.cuh"
#include "gpubench/grid/gather.cuh"
#include "gpubench/movement/shifted.cuh"
#include "gpubench/sides.cuh"
#include "gpubench/strided.cuh"

namespace gpubench::cumsum {

// Threads an SM to leave registers for: 64 a thread where a thread holds 32 words or more, 42 and 32 below.
template <class T, class Out>
GPUBENCH_DEVICE constexpr int block_rows_resident(int vectors) {
    const int words = vectors * vector_items<T, Out> * static_cast<int>(sizeof(accumulator_t<Out>)) / 4;
    return words >= 32 ? 1024 : words >= 16 ? 1536 : 2048;
}
// The most threads of a block. Rows that need 1024 have vectors enough that the bound on registers is the same for all.
template <class T, class Out>
GPUBENCH_DEVICE constexpr int block_rows_threads(int warps, int vectors) {
    return warps > 0 ? warps * warp_size : block_rows_resident<T, Out>(vectors) == 1024 ? 1024 : 512;
}
GPUBENCH_DEVICE constexpr int at_least_one(int value) { return value > 0 ? value : 1; }

// tiles: blocks a row, 1 unless Linked. Aligned: in every row x stands on the grid of y's vectors, its elements side by
// side; only linked blocks have code for that. launches, sums: workspace, zero before the first launch; used when Linked.
// Warps: 0 where they are the launch's, so that one instance serves rows of several lengths; that is not for Linked.
// Side: so many sums stand side by side in a row, a power of two; y begins on as many elements.
template <class T, class Out, int Warps, int Vectors, bool Aligned, bool Linked, int Side = 1>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(
    (block_rows_threads<T, Out>(Warps, Vectors)),
    (at_least_one(block_rows_resident<T, Out>(Vectors) / block_rows_threads<T, Out>(Warps, Vectors))))
    block_rows(const T* x, Out* y, long long length, long long x_step, RowPlaces x_rows, int tiles, uint64* launches,
               void* sums) {
    using Part = conditional_t<Linked, accumulator_t<Out>, tile_accumulator_t<T, accumulator_t<Out>>>;
    using A = sides_t<Part, Side>;
    constexpr int V = vector_items<T, Out>, N = V / Side;
    constexpr int most_warps = block_rows_threads<T, Out>(Warps, Vectors) / warp_size;
    static_assert(most_warps * warp_size * Vectors * V < 65536, "32 bits hold the sums of a tile of narrow integers");
    const int warps = Warps > 0 ? Warps : static_cast<int>(block_size_x()) / warp_size;
    GPUBENCH_SHARED(A, warp_sums, most_warps + (Linked ? 0 : 3));
    GPUBENCH_SHARED(uint32, launch, 1);
    uint64 ticket = 0;
    if (Linked && thread_index_x() == 0) ticket = take_ticket(launches);
    const int lane = lane_index(), warp = thread_index_x() / warp_size;
    const int block = block_index_x();
    const int row = Linked ? block / tiles : block;
    const int tile = Linked ? block - row * tiles : 0;
    Out* const target = y + row * length;
    const T* const source = x + x_rows.offset<(Vectors < 4)>(row);  // asked, 8 vectors a thread spilled registers
    const int shift = empty_slots<V>(y, row * length);
    const long long start = (static_cast<long long>(tile) * warps + warp) * (warp_size * Vectors * V) + lane * V - shift;
    const int end = static_cast<int>(length - start > 0x40000000 ? 0x40000000 : length - start);  // may be negative
    const Span span{start, warp_size * V, start < 0 ? shift : 0, end};
    Packed<T, V> raw[Vectors];
    if constexpr (Aligned) load_aligned_span<V, Vectors>(raw, source, span);
    else load_lanes_span<V, Vectors>(raw, source, span, empty_slots<V>(source, -shift), 0, x_step);
    if (Linked && thread_index_x() == 0) launch[0] = launch_number(ticket);
    Vector<A, N> items[Vectors];
    GPUBENCH_UNROLL
    for (int k = 0; k < Vectors; ++k) items[k] = unpack_sides<Part, Side>(raw[k]);
    // what comes before a vector takes as many registers as a vector of one, and half of those of two
    constexpr bool add_late = N > 2 || (N == 2 && !Linked);
    A run{};
    A before[add_late ? Vectors : 1];
    GPUBENCH_UNROLL
    for (int k = 0; k < Vectors; ++k) {
        scan_items<N>(items[k], Add{});
        const A left = before_lane(scan_lanes(items[k][N - 1], Add{}), run, Add{});
        if constexpr (add_late) before[k] = left;
        else combine_before<N>(items[k], left, Add{});
    }
    A carry;
    if constexpr (!Linked) {
        share_launched_totals(run, warp_sums, warp, lane, warps);
        constexpr int at_once = Side > 1 ? 1 : 4;  // wider totals would be spilled
        carry = before_launched_warp<most_warps, at_once>(warp_sums, warp, A{}, Add{});
    } else {
        share_warp_totals(run, warp_sums, warp, lane);
        const BlockPlace<A> place = scan_warps<Warps>(warp_sums, warp, A{}, Add{});
        carry = place.before;
        const A total = place.total;
        const uint32 number = launch[0];
        if (thread_index_x() == 0) publish(published_at<A>(sums, block), number, total);
        carry = add(gather_before<Warps>(number, sums, block - tile, block, A{}, Add{}), carry);
    }
    GPUBENCH_UNROLL
    for (int k = 0; k < Vectors; ++k) {
        combine_before<N>(items[k], add_late ? add(carry, before[add_late ? k : 0]) : carry, Add{});
        store_items<V>(target, span, k, in_elements(items[k]));
    }
}

}  // namespace gpubench::cumsum
