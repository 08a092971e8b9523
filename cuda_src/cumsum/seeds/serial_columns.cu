// cumsum, variant `serial_columns`: any dim but the last; one thread walks one column from top to bottom.
//
// Data: the contiguous tensor is seen as outer x length x inner. The threads of a block (at most 512) take neighbouring
// columns, so that every row of a step is read and written in one piece; the running sum stays in a register. Blocks
// along x are the outer places, along y the columns beyond the first 512.
//
// Origin: PyTorch's tensor_kernel_scan_outer_dim (ScanUtils.cuh).
// Weak spots kept: no parallelism inside a column, one load at a time in flight for each thread, so few columns leave
// the GPU waiting; a narrow inner part makes blocks of a few threads.
// Differences: 16-bit floats are summed in float and rounded at each store (the original adds in the dtype itself, and
// loses small terms of long columns); places are counted in 64 bits (an original of 2024 multiplied the place of a
// column in 32 bits, which is wrong beyond 2^32 elements).
#include "gpubench/arithmetic.cuh"

namespace gpubench::cumsum {

template <class T>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(512)
    serial_columns(const T* x, T* y, long long outer, long long length, long long inner) {
    using A = accumulator_t<T>;
    for (long long place = block_index_x(); place < outer; place += grid_size_x()) {
        long long column = static_cast<long long>(block_index_y()) * block_size_x() + thread_index_x();
        for (; column < inner; column += static_cast<long long>(grid_size_y()) * block_size_x()) {
            const T* source = x + place * length * inner + column;
            T* target = y + place * length * inner + column;
            A sum{};
            for (long long row = 0; row < length; ++row) {
                sum = add(sum, convert<A>(*source));
                *target = convert<T>(sum);
                source += inner;
                target += inner;
            }
        }
    }
}

}  // namespace gpubench::cumsum
