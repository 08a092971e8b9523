// index_add, variant `large_index`: PyTorch's kernel for more than 16 indices.
//
// Data: threads stride over the whole source, at most 8 blocks of 128 threads an SM. Each element is taken apart into
// its index and its place in the slice by a division, its place into coordinates by more; then read, scaled by alpha and
// added by an atomic in the dtype (16-bit floats as a pair padded with -0). Neighbouring threads work on one slice
// ("index major") where the slice is denser in memory than the indexed dim, else on neighbouring indices.
//
// Source: PyTorch, aten/src/ATen/native/cuda/Indexing.cu (indexFuncLargeIndex), which the text on index_add names;
// written anew. Offsets of 32 bits, or of 64 bits where a tensor reaches beyond 2^31 elements (then any number of dims,
// always index major, as in the original).
// Known weak spots, kept: an index is read again for every element of its slice; divisions by numbers that only the host
// knows; the grid stops at 8 blocks an SM; a destination of one dim with few indices is ONE BLOCK OF A FEW THREADS;
// equal indices meet in one atomic; float additions happen in any order. An index outside the dim stops the original
// with an assertion; here it is left out.
#include "index_add/seeds/slices.cuh"

namespace gpubench::index_add {

// Dims: of the merged slice with the indexed dim among them, 1 to 3, or 0 for any number.
template <class T, class Index, class Offset, int Dims>
GPUBENCH_KERNEL void large_index(T* destination, const T* source, const Index* index, TensorInfo<Offset> to,
                                 TensorInfo<Offset> from, Offset indices, Offset slice, int index_major, long long size,
                                 double alpha) {
    add_all<Dims>(destination, source, index, to, from, indices, slice, index_major != 0, size, alpha);
}

}  // namespace gpubench::index_add
