// reverse, variant `naive`: one thread moves one element.
//
// Data: each element is read once and written once; a warp's accesses are contiguous on both sides.
#include "gpubench/grid.cuh"

namespace gpubench::reverse {

template <class T>
GPUBENCH_KERNEL void naive(const T* x, T* y, long long n) {
    for (long long i = grid_thread(); i < n; i += grid_threads()) y[n - 1 - i] = x[i];
}

}  // namespace gpubench::reverse
