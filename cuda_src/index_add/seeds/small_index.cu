// index_add, variant `small_index`: PyTorch's kernel for up to 16 indices.
//
// Data: every thread walks the indices, reads each once, and strides over the elements of its slice: reads the source,
// scales it by alpha, adds it to the destination by an atomic in the dtype (16-bit floats as a pair padded with -0). The
// grid covers one slice, at most 8 blocks of 128 threads an SM.
//
// Source: PyTorch, aten/src/ATen/native/cuda/Indexing.cu (indexFuncSmallIndex), as the text on index_add quotes it;
// written anew. Only the 32-bit form exists there: tensors beyond it go to `large_index`.
// Known weak spots, kept: the grid covers one slice only, so a small slice leaves the GPU idle, and a destination of one
// dim is worked on by ONE THREAD OF ONE BLOCK, index after index; coordinates come from remainders and divisions;
// float additions happen in any order, so the last bits differ from run to run. An index outside the dim stops the
// original with an assertion; here it is left out.
#include "index_add/seeds/slices.cuh"

namespace gpubench::index_add {

// Dims: of the merged slice with the indexed dim among them, 1 to 3, or 0 for any number.
template <class T, class Index, int Dims>
GPUBENCH_KERNEL void small_index(T* destination, const T* source, const Index* index, TensorInfo<uint32> to,
                                 TensorInfo<uint32> from, uint32 indices, uint32 slice, long long size, double alpha) {
    add_index_by_index<Dims>(destination, source, index, to, from, indices, slice, size, alpha);
}

}  // namespace gpubench::index_add
