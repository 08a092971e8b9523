// cumsum, variant `two_lines`: one thread walks two neighbouring lines of contiguous tensors, summed along the last dim.
//
// Data: each element is read once and written once, straight between global memory and registers.
#include "gpubench/arithmetic.cuh"
#include "gpubench/grid.cuh"

namespace gpubench::cumsum {

template <class T, class Out>
GPUBENCH_KERNEL void two_lines(const T* x, Out* y, long long lines, long long length) {
    using Accumulator = accumulator_t<Out>;
    for (long long pair = grid_thread(); 2 * pair < lines; pair += grid_threads()) {
        Accumulator sums[2]{};
        for (long long place = 0; place < length; ++place) {
            for (int one = 0; one < 2 && 2 * pair + one < lines; ++one) {
                const long long at = (2 * pair + one) * length + place;
                sums[one] = add(sums[one], convert<Accumulator>(x[at]));
                y[at] = convert<Out>(sums[one]);
            }
        }
    }
}

}  // namespace gpubench::cumsum
