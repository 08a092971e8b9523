// How blocks that share a row tell each other the sums of their tiles: one hop, whatever their number.
#pragma once

#include "cumsum/items.cuh"

namespace gpubench::cumsum {

// The sum of the tiles `first` to `block` - 1, which their blocks publish, for all threads: each thread reads those of
// its own, all at once.
template <class A, int Warps>
GPUBENCH_DEVICE A sum_of_tiles(uint32 launch, void* sums, int first, int block) {
    GPUBENCH_SHARED(A, parts, Warps);
    const int thread = thread_index_x();
    A before{};
    for (int other = first + thread; other < block; other += Warps * warp_size) {
        A sum;
        while (!read_published(published_at<A>(sums, other), launch, sum)) {
        }
        before = add(before, sum);
    }
    warp_barrier();  // lanes that had to wait longer rejoin the others
    before = sum_lanes(before);
    if (lane_index() == 0) parts[thread / warp_size] = before;
    block_barrier();
    A all = parts[0];
    GPUBENCH_UNROLL
    for (int warp = 1; warp < Warps; ++warp) all = add(all, parts[warp]);
    return all;
}

// The sum of everything before this tile in its row, for all threads, once this tile's own is published. `first` and
// `block`: numbers of the row's first tile and of this one.
template <class A, int Warps>
GPUBENCH_DEVICE A link(uint32 launch, void* sums, A total, int first, int block) {
    if (thread_index_x() == 0) publish(published_at<A>(sums, block), launch, total);
    return sum_of_tiles<A, Warps>(launch, sums, first, block);
}

}  // namespace gpubench::cumsum
