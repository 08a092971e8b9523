// What a block has put together in shared memory goes out, in pieces or as one run.
#pragma once

#include "gpubench/types.cuh"
#include "gpubench/vector.cuh"
#include "gpubench/warp.cuh"

namespace gpubench {

// Runs of `count` elements each, `pitch` apart in shared memory, in pieces of `rows`, each `length` behind the one before in y:
// row_of(run) is where a run begins, nullptr if it does not exist. As many lanes as a run needs take part, so that a warp stores
// several at once where they are short. The block waits for all that is put there, and before it is put there anew.
template <class Out, class Row>
GPUBENCH_DEVICE void store_pieces(const Out* stage, int runs, int pitch, uint32 count, uint32 rows, int length, const Row& row_of) {
    const uint32 threads = static_cast<uint32>(block_size_x()), thread = static_cast<uint32>(thread_index_x());
    uint32 lanes = warp_size;
    while (lanes > 1 && lanes / 2 >= count) lanes /= 2;
    const uint32 lane = thread & (lanes - 1), pieces = lanes / rows, left = lanes % rows;
    block_barrier();
    for (int run = static_cast<int>(thread / lanes); run < runs; run += static_cast<int>(threads / lanes)) {
        Out* const y = row_of(run);
        if (y == nullptr) continue;
        uint32 piece = lane / rows, row = lane % rows;
        for (uint32 at = lane; at < count; at += lanes) {
            y[int64{piece} * length + row] = stage[run * pitch + static_cast<int>(at)];
            piece += pieces + (row + left >= rows ? 1 : 0);
            row = row + left >= rows ? row + left - rows : row + left;
        }
    }
    block_barrier();
}

// `count` elements side by side, which go to y as one run: by whole vectors but at its two ends. They begin in shared memory as far
// behind 16 bytes as they do in y, `begin` elements. The block waits for all that is put there.
template <class Out>
GPUBENCH_DEVICE void store_whole_run(const Out* stage, int begin, Out* y, int count) {
    constexpr int V = 16 / static_cast<int>(sizeof(Out));
    const int thread = thread_index_x(), end = begin + count;
    const int up = (begin + V - 1) / V * V, first = up < end ? up : end, down = end / V * V, last = down > first ? down : first;
    y -= begin;
    block_barrier();
    for (int at = first + thread * V; at < last; at += block_size_x() * V) store_packed(y + at, load_packed<V>(stage + at));
    if (thread < first - begin) y[begin + thread] = stage[begin + thread];
    if (thread < end - last) y[last + thread] = stage[last + thread];
}

}  // namespace gpubench
