// Reductions and scans over a block, and over blocks, by the headers that kernels share. For tests only.
#include "gpubench/arithmetic.cuh"
#include "gpubench/block/reduce.cuh"
#include "gpubench/block/scan.cuh"
#include "gpubench/grid/gather.cuh"
#include "gpubench/grid/last_arriver.cuh"

namespace gpubench::planted {

struct Larger {
    template <class A>
    GPUBENCH_DEVICE A operator()(A a, A b) const {
        return a < b ? b : a;
    }
};

// totals, befores: a value a thread.
template <class A, int Warps>
GPUBENCH_KERNEL void over_block(const A* x, A* totals, A* befores, A* largest) {
    GPUBENCH_SHARED(A, of_warps, Warps);
    const int thread = thread_index_x();
    const BlockPlace<A> place = block_scan<Warps>(x[thread], of_warps, A{}, Add{});
    befores[thread] = place.before;
    block_barrier();
    totals[thread] = block_reduce<Warps>(x[thread], of_warps, Add{});
    block_barrier();
    largest[thread] = block_reduce<Warps>(x[thread], of_warps, Larger{});
}

// The largest element of all blocks, one element a thread, found by the last block. parts: one a block.
template <class A, int Warps>
GPUBENCH_KERNEL void largest_by_last(const A* x, A* y, A* parts, uint32* counter, A lowest) {
    GPUBENCH_SHARED(A, of_warps, Warps);
    A value = block_reduce<Warps>(x[block_index_x() * block_size_x() + thread_index_x()], of_warps, Larger{});
    block_barrier();
    if (!combine_by_last<Warps>(value, parts, block_index_x(), counter, grid_size_x(), of_warps, lowest, Larger{})) return;
    y[thread_index_x()] = value;
}

// Each block publishes its number plus one; y: what the blocks before it published, by each thread.
template <class A, int Warps>
GPUBENCH_KERNEL void before_each_block(A* y, uint64* launches, char* words) {
    GPUBENCH_SHARED(uint32, launch, 1);
    const int block = block_index_x();
    if (thread_index_x() == 0) launch[0] = launch_number(take_ticket(launches));
    block_barrier();
    if (thread_index_x() == 0) publish(published_at<A>(words, block), launch[0], static_cast<A>(block + 1));
    y[block * block_size_x() + thread_index_x()] = gather_before<Warps>(launch[0], words, 0, block, A{}, Add{});
}

}  // namespace gpubench::planted
