// index_add, variant `naive`: one thread adds one element of the source into the destination, atomically.
//
// Data: a thread reads its index and its source element, scales it by alpha in registers, and sends one atomic addition
// to the destination. Threads of a warp take neighbouring elements of one slice, so the index is shared by most of them
// and a contiguous slice is read and added contiguously. Equal indices meet in the atomic unit; the order of additions,
// and so the rounding of floats, differs from run to run. The first rung of the ladder: every shape, dtype and layout.
#include "gpubench/atomics.cuh"
#include "gpubench/grid.cuh"
#include "gpubench/strided.cuh"
#include "index_add/scaled.cuh"

namespace gpubench::index_add {

// slice_destination, slice_source: the shape without the indexed dim; the steps are strides of that dim and of the
// index. An index outside 0 .. size - 1 is left out: the host reports it, and memory stays whole.
template <class T, class Index>
GPUBENCH_KERNEL void naive(T* destination, const T* source, const Index* index, Strided slice_destination,
                           Strided slice_source, long long count, long long slice, long long destination_step,
                           long long source_step, long long index_step, long long size, double alpha) {
    const long long work = count * slice;
    for (long long i = grid_thread(); i < work; i += grid_threads()) {
        const long long number = i / slice;
        const long long element = i - number * slice;
        const long long row = static_cast<long long>(index[number * index_step]);
        if (row < 0 || row >= size) continue;
        const T value = source[number * source_step + slice_source.offset(element)];
        atomic_add(destination + row * destination_step + slice_destination.offset(element), scaled(value, alpha));
    }
}

}  // namespace gpubench::index_add
