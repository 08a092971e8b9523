// index_add, variant `oneflow`: OneFlow's design, one kernel whatever the number of indices.
//
// Data: the tensors are seen as (outer, dim, inner); threads stride over the source as it lies in memory, 512 a block and
// at most 8192 blocks. Each number is taken apart by 64-bit divisions into outer, index and inner; what is added to it
// to reach the destination follows from the difference between the two dims. Atomics in the dtype.
//
// Source: OneFlow, oneflow/user/kernels/index_add_kernel.cu. The text on index_add tells that there is one kernel without
// a choice by the number of indices, and that dims are merged; it quotes no code. Assumed here: three merged dims, 64-bit
// numbers throughout, and the launch of that code base's loops (512 threads, as many blocks as the elements need up to
// 8192). It adds in place, as the others do; flat arrays only, so contiguous tensors.
// Known weak spots, kept: three 64-bit divisions an element, an index read for every element, equal indices meet in one
// atomic, float additions in any order.
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
        const int64 number = i % slab / inner;
        const int64 row = static_cast<int64>(index[number]);
        if (row < 0 || row >= size) continue;
        const int64 place = i + (outer * (size - indices) + row - number) * inner;
        atomic_add(destination + place, scaled(source[i], alpha));
    }
}

}  // namespace gpubench::index_add
