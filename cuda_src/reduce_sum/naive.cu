// sum, variant `naive`: one thread forms one output.
//
// Data: a thread reads all terms of its output from global memory, one after the other, and writes one element. Threads
// of a warp take neighbouring outputs: contiguous reads when the innermost dim is kept, reads a whole row apart when it
// is summed; few outputs leave most of the GPU idle. The first rung of the ladder: right for every set of dims, dtype
// and layout, with 64-bit offsets; no terms give zero.
#include "gpubench/arithmetic.cuh"
#include "gpubench/grid.cuh"
#include "gpubench/strided.cuh"

namespace gpubench::sum {

// kept_x, kept_y: the dims that stay, as the input and the output lie; reduced: the summed dims of the input.
template <class T, class Out>
GPUBENCH_KERNEL void naive(const T* x, Out* y, Strided kept_x, Strided kept_y, Strided reduced, long long outputs,
                           long long terms) {
    using Accumulator = accumulator_t<Out>;
    for (long long output = grid_thread(); output < outputs; output += grid_threads()) {
        const T* source = x + kept_x.offset(output);
        Accumulator total{};
        for (long long term = 0; term < terms; ++term) {
            total = add(total, convert<Accumulator>(source[reduced.offset(term)]));
        }
        y[kept_y.offset(output)] = convert<Out>(total);
    }
}

}  // namespace gpubench::sum
