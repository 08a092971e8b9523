// index_add, variant `oneflow`: OneFlow's design, one kernel whatever the number of indices.
//
// Data: the tensors are seen as (outer, dim, inner); threads stride over the source as it lies in memory, 256 a block, and
// as many blocks as the GPU holds at the same time. Each number is taken apart by 64-bit divisions into outer, index and
// inner; what is added to it to reach the destination follows from the difference between the two dims. Atomics in the
// dtype.
//
// Source: OneFlow, oneflow/user/kernels/index_add_kernel.cu (launched with one wave of blocks: core/device/cuda_util.h,
// core/ep/cuda/cuda_stream.h), which the text on index_add names and does not quote; written anew.
// Known weak spots, kept: two 64-bit divisions an element, an index read for every element, equal indices meet in one
// atomic, float additions in any order.
// Differences: it adds in place, as the others do, where the original first copies the destination by a launch of its
// own; numbers have 64 bits throughout (the original's loop counts in 32, so it ends before 2^31 elements); every dtype,
// where the original has half, float and double. Flat arrays only, so contiguous tensors, as there. An index outside the
// dim is left out.
#include "gpubench/atomics.cuh"
#include "gpubench/grid.cuh"
#include "index_add/scaled.cuh"

namespace gpubench::index_add {

// total: elements of the source; inner: elements behind the indexed dim; indices, size: the dim in source, destination.
template <class T, class Index>
GPUBENCH_KERNEL void oneflow(T* destination, const T* source, const Index* index, long long total, long long inner,
                             long long indices, long long size, double alpha) {
    const int64 slab = inner * indices;
    for (int64 i = grid_thread(); i < total; i += grid_threads()) {
        const int64 outer = i / slab;
        const int64 number = (i - outer * slab) / inner;
        const int64 row = static_cast<int64>(index[number]);
        if (row < 0 || row >= size) continue;
        const int64 place = i + (outer * (size - indices) + row - number) * inner;
        atomic_add(destination + place, scaled(source[i], alpha));
    }
}

}  // namespace gpubench::index_add
