// cumsum, variant `lookback_1d`: a chained scan in one pass over an array, with decoupled look-back between tiles.
//
// Data: a block takes the next tile of Threads * N elements by a ticket, holds it in registers (each warp's part goes
// through shared memory once, to turn neighbouring lanes into neighbouring items), sums it, publishes the sum, and adds
// up the sums of the tiles before it, 32 at a time, until it meets one that already knows its own running total. Then
// it publishes its running total and writes its elements: every element is read once and written once.
//
// Origin: CUB's DeviceScan, which PyTorch's cumsum calls for one dim (cub.cuh, ScanUtils.cuh); the design is Merrill's
// and Garland's (NVR-2016-002). Threads, N and waits are CUB's defaults: its tuned ones for compute capability 9.0 are
// for its own sum operator, and PyTorch hands in another (lookback.py).
// Weak spots kept: the order of the additions depends on which tiles were ready, so floats differ in their last bits
// from run to run; scalar loads; small tiles; for the types that CUB does not know (16-bit floats, complex) status and
// value lie apart, with an order to keep between their accesses; the tile states must be cleared before each launch.
// On an H200, 2^26 elements, against the original: int64 397 us (383), float64 379 (387), half 201 (250), complex64 582
// (780), complex128 1325 (1808); with CUB's tuned 24 items 2^28 floats took 0.82 of the original's time.
// Differences: tiles are numbered by a ticket where CUB trusts that blocks start in order, so that progress does not
// depend on it; the clearing is a memset of the workspace where CUB launches a kernel of its own; 16-bit floats are
// summed in float (the original adds in the dtype itself); arrays are cut into chunks of 2^30 elements as there, whose
// running total is carried in the accumulator's type in the workspace, where the original takes it from the output.
#include "cumsum/seeds/warp_tiles.cuh"
#include "gpubench/grid/lookback.cuh"

namespace gpubench::cumsum {

// n: elements of this chunk. ticket and states: cleared before. carry_in: the sum of all chunks before, or null;
// carry_out: where the sum through this chunk goes.
template <class T, int Threads, int N>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(Threads)
    lookback_1d(const T* x, T* y, long long n, unsigned int* ticket, void* states, const accumulator_t<T>* carry_in,
                accumulator_t<T>* carry_out) {
    using A = accumulator_t<T>;
    GPUBENCH_SHARED(T, slices, Threads / warp_size * slice_places<N>);
    GPUBENCH_SHARED(A, warp_totals, Threads / warp_size);
    GPUBENCH_SHARED(A, sum_before, 1);
    GPUBENCH_SHARED(uint32, number, 1);
    const int warp = thread_index_x() / warp_size;
    if (thread_index_x() == 0) number[0] = fetch_add(ticket, 1u);
    block_barrier();
    const long long tile = number[0];
    const long long start = tile * (Threads * N) + warp * (warp_size * N);
    const int share = warp_share<N>(n - tile * (Threads * N), warp);
    T* const slice = slices + warp * slice_places<N>;

    TileItems<T, N> items = load_warp<N>(share > 0 ? x + start : x, share, slice);
    const BlockPlace<A> place = block_scan<Threads / warp_size>(total_of<A>(items), warp_totals, A{}, Add{});
    if (warp == 0) {
        const TileStates<A, is_integer<T> || is_float<T>> all(states, grid_size_x());  // packed where CUB packs
        A before{};
        if (tile == 0) {
            if (carry_in != nullptr) before = *carry_in;
        } else {
            if (lane_index() == 0) all.publish(tile, TileStatus::aggregate, place.total);
            before = look_back(all, tile, A{}, Add{});
        }
        if (lane_index() == 0) {
            const A through = add(before, place.total);
            all.publish(tile, TileStatus::inclusive, through);
            if (tile == grid_size_x() - 1) *carry_out = through;
            sum_before[0] = before;
        }
    }
    block_barrier();
    run_sums(items, add(sum_before[0], place.before));
    store_warp(share > 0 ? y + start : y, share, items, slice);
}

}  // namespace gpubench::cumsum
