// cumsum, variant `sklansky_rows` (and `sklansky_rows_unsigned`, the same kernel under another thread rule): the last
// dim; a few threads walk a row by steps of two values each.
//
// Data: the 512 threads of a block stand as X by Y; each of the Y rows of threads works on one row of the tensor, 2 X
// values at a step. A step brings the values into shared memory, adds the running total to the first, sweeps (1 + log2
// X times: in sweep m the threads of each half group of 2^m add the last value of the group before them, after Sklansky
// 1960), writes the values back and keeps the last as the running total. Rows beyond the grid come by stride.
//
// Origin: PyTorch's tensor_kernel_scan_innermost_dim (ScanUtils.cuh); the host works out X (thread_ratio.py).
// Weak spots kept: the barriers are the block's although each row of threads works alone; 3 + log2 X of them a step,
// with every value going through shared memory in each sweep (and bank conflicts in the early ones); the loads of a
// step wait for the step before; a long row has only one block.
// Differences: shared memory holds the accumulator's type, so that 16-bit floats are summed in float (the original adds
// and keeps them in the dtype itself), for twice the shared memory. Its form with 32-bit places multiplied row and
// length in 32 bits whatever the size; here Index is 64 bits wide from 2^31 elements on.
#include "gpubench/arithmetic.cuh"

namespace gpubench::cumsum {

// Index: uint32, for tensors of fewer than 2^31 elements, or uint64. Dynamic shared memory: 2 accumulators a thread.
template <class T, class Index>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(512)
    sklansky_rows(const T* x, T* y, Index rows, Index length, int log_threads) {
    using A = accumulator_t<T>;
    GPUBENCH_DYNAMIC_SHARED(A, shared);
    const int across = 1 << log_threads;
    const int thread = thread_index_x();
    A* const values = shared + 2 * across * thread_index_y();
    for (Index block_row = static_cast<Index>(block_index_x()) * block_size_y(); block_row < rows;
         block_row += static_cast<Index>(block_size_y()) * grid_size_x()) {
        const Index row = block_row + thread_index_y();
        const bool exists = row < rows;
        const T* const source = x + (exists ? row * length : 0);
        T* const target = y + (exists ? row * length : 0);
        A total{};
        for (Index start = 0; start < length; start += 2 * across) {
            const Index left = start + thread;
            const Index right = left + across;
            if (exists) {
                values[thread] = left < length ? convert<A>(source[left]) : A{};
                values[across + thread] = right < length ? convert<A>(source[right]) : A{};
                if (thread == 0) values[0] = add(values[0], total);
            }
            block_barrier();
            for (int m = 0; m <= log_threads; ++m) {
                if (exists) {
                    const int half = 1 << m;
                    const int begin = ((thread >> m) << (m + 1)) | half;  // of the upper half of this thread's group
                    A& value = values[begin + (thread & (half - 1))];
                    value = add(value, values[begin - 1]);
                }
                block_barrier();
            }
            if (exists) {
                if (left < length) target[left] = convert<T>(values[thread]);
                if (right < length) target[right] = convert<T>(values[across + thread]);
                total = values[2 * across - 1];
            }
            block_barrier();
        }
    }
}

}  // namespace gpubench::cumsum
