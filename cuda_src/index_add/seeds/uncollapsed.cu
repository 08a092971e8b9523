// index_add, variant `uncollapsed`: PyTorch's two kernels, given every dim as the tensor has it.
//
// Data: as `small_index` (up to 16 indices) and `large_index`, but no dims are merged: a contiguous (32, 1024, 1024) keeps
// its three, and every element pays one remainder and one division for each. It exists to measure what merging is worth.
//
// Source: the text on index_add, which gives the time with and without merging ("300+" and "180+" us on its GPU) but not
// the code without; here it is the same code with the same choice of instance by the number of dims.
// Known weak spots, kept: those of `small_index` and `large_index` (the one thread of a destination of one dim with few
// indices among them), and the coordinates of dims that could be one; from four dims on the loop over them is not unrolled.
#include "index_add/seeds/slices.cuh"

namespace gpubench::index_add {

template <class T, class Index, int Dims>
GPUBENCH_KERNEL void uncollapsed_small(T* destination, const T* source, const Index* index, TensorInfo<uint32> to,
                                       TensorInfo<uint32> from, uint32 indices, uint32 slice, long long size,
                                       double alpha) {
    add_index_by_index<Dims>(destination, source, index, to, from, indices, slice, size, alpha);
}

template <class T, class Index, class Offset, int Dims>
GPUBENCH_KERNEL void uncollapsed_large(T* destination, const T* source, const Index* index, TensorInfo<Offset> to,
                                       TensorInfo<Offset> from, Offset indices, Offset slice, int index_major,
                                       long long size, double alpha) {
    add_all<Dims>(destination, source, index, to, from, indices, slice, index_major != 0, size, alpha);
}

}  // namespace gpubench::index_add
