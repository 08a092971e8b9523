// index_add, variants `small_index_multiplied`, `large_index_multiplied` and `small_index_spread`: what the text that
// describes PyTorch's two kernels proposes at its end, each beside the kernel that it would improve.
//
// Data: as in small_index.cu and large_index.cu. The first two differ only in how a remainder is found. `spread` reads
// each index once too, but hands the indices out over the rows of blocks and of the grid: block x strides over a slice,
// block y and grid y over the indices.
//
// Source: the text's summary (a multiplication and a subtraction in place of the remainder; better shapes of grid and
// block). It gives no shapes; those of `spread` are ours.
// Known weak spots, kept: divisions by numbers that only the host knows; equal indices meet in one atomic; float
// additions happen in any order. An index outside the dim is left out.
#include "index_add/seeds/slices.cuh"

namespace gpubench::index_add {

template <class T, class Index, int Dims>
GPUBENCH_KERNEL void small_index_multiplied(T* destination, const T* source, const Index* index,
                                            TensorInfo<uint32> to, TensorInfo<uint32> from, uint32 indices,
                                            uint32 slice, long long size, double alpha) {
    add_index_by_index<Dims, true>(destination, source, index, to, from, indices, slice, size, alpha);
}

template <class T, class Index, class Offset, int Dims>
GPUBENCH_KERNEL void large_index_multiplied(T* destination, const T* source, const Index* index,
                                            TensorInfo<Offset> to, TensorInfo<Offset> from, Offset indices,
                                            Offset slice, int index_major, long long size, double alpha) {
    add_all<Dims, true>(destination, source, index, to, from, indices, slice, index_major != 0, size, alpha);
}

// Block y and grid y cover the indices, at most one a thread; block x and grid x stride over the slice.
template <class T, class Index, int Dims>
GPUBENCH_KERNEL void small_index_spread(T* destination, const T* source, const Index* index, TensorInfo<uint32> to,
                                        TensorInfo<uint32> from, uint32 indices, uint32 slice, long long size,
                                        double alpha) {
    const uint32 number = block_index_y() * block_size_y() + thread_index_y();
    if (number >= indices) return;
    const int64 row = static_cast<int64>(index[number]);
    if (row < 0 || row >= size) return;
    T* const start = destination + static_cast<uint32>(row) * to.step;
    const T* const values = source + number * from.step;
    for (uint32 i = static_cast<uint32>(grid_thread()); i < slice; i += static_cast<uint32>(grid_threads())) {
        atomic_add(start + to.template offset<Dims>(i), scaled(values[from.template offset<Dims>(i)], alpha));
    }
}

}  // namespace gpubench::index_add
