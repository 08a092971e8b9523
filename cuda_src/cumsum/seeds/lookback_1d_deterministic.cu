// cumsum, variant `lookback_1d_deterministic`: two passes over a one-dimensional array of floats, the same bits each
// run.
//
// Data: every block owns a run of neighbouring tiles, as many blocks as the GPU has SMs at most. `block_sums` reads
// them and writes one sum a block. `scan_after_sums` adds up the sums of the blocks before (at most two a thread,
// always in the same order), then reads its tiles again, scans each and carries the total to the next. No block waits
// for another.
//
// Origin: PyTorch's inclusive_deterministic_scan (cub.cuh), taken when deterministic algorithms are asked for; 512, 256
// or 128 threads by the element's size, 16 items each.
// Weak spots kept: the input is read twice, so at most two thirds of the single pass's rate on arrays beyond L2; one
// block an SM, which walks its tiles one after the other with barriers between load and store; the bits depend on the
// number of SMs, so two kinds of GPU differ.
// Differences: 16-bit floats are summed in float, and the sums of blocks stay in float (the original adds in the dtype
// itself); threads, warps and blocks are added in the order of this project's scan, not in CUB's.
#include "cumsum/seeds/warp_tiles.cuh"

namespace gpubench::cumsum {

template <class T, int Threads, int N>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(Threads)
    block_sums(const T* x, accumulator_t<T>* sums, long long n, long long tiles_per_block) {
    using A = accumulator_t<T>;
    GPUBENCH_SHARED(T, slices, Threads / warp_size * slice_places<N>);
    GPUBENCH_SHARED(A, warp_totals, Threads / warp_size);
    const int warp = thread_index_x() / warp_size;
    T* const slice = slices + warp * slice_places<N>;
    A sum{};
    long long first = block_index_x() * tiles_per_block * (Threads * N);
    for (long long k = 0; k < tiles_per_block && first < n; ++k, first += Threads * N) {
        const int share = warp_share<N>(n - first, warp);
        const T* const part = share > 0 ? x + first + warp * (warp_size * N) : x;
        const A own = total_of<A>(load_warp<N>(part, share, slice));
        sum = add(sum, block_scan<Threads / warp_size>(own, warp_totals, A{}, Add{}).total);
        block_barrier();
    }
    if (thread_index_x() == 0) sums[block_index_x()] = sum;
}

// The grid of block_sums; it has at most 2 * Threads blocks.
template <class T, int Threads, int N>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(Threads)
    scan_after_sums(const T* x, T* y, const accumulator_t<T>* sums, long long n, long long tiles_per_block) {
    using A = accumulator_t<T>;
    GPUBENCH_SHARED(T, slices, Threads / warp_size * slice_places<N>);
    GPUBENCH_SHARED(A, warp_totals, Threads / warp_size);
    const int warp = thread_index_x() / warp_size;
    T* const slice = slices + warp * slice_places<N>;
    A of_others{};
    for (int block = thread_index_x(); block < block_index_x(); block += Threads) {
        of_others = add(of_others, sums[block]);
    }
    A before = block_scan<Threads / warp_size>(of_others, warp_totals, A{}, Add{}).total;
    block_barrier();
    long long first = block_index_x() * tiles_per_block * (Threads * N);
    for (long long k = 0; k < tiles_per_block && first < n; ++k, first += Threads * N) {
        const int share = warp_share<N>(n - first, warp);
        const long long start = share > 0 ? first + warp * (warp_size * N) : 0;
        TileItems<T, N> items = load_warp<N>(x + start, share, slice);
        const BlockPlace<A> place = block_scan<Threads / warp_size>(total_of<A>(items), warp_totals, A{}, Add{});
        run_sums(items, add(before, place.before));
        store_warp(y + start, share, items, slice);
        before = add(before, place.total);
        block_barrier();
    }
}

}  // namespace gpubench::cumsum
