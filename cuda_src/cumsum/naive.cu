// cumsum, variant `naive`: one thread walks one line from start to end.
//
// Data: each element is read once and written once, straight between global memory and registers. Threads of a warp
// walk neighbouring lines: when the summed dim is not the innermost, a warp's accesses are contiguous at each step; when
// it is, they lie a whole line apart, and few long lines leave most of the GPU idle. The first rung of the ladder: right
// for every shape, dtype and layout, with 64-bit offsets.
#include "gpubench/arithmetic.cuh"
#include "gpubench/grid.cuh"
#include "gpubench/strided.cuh"

namespace gpubench::cumsum {

// x_lines, y_lines: the shape without the summed dim; x_step, y_step: strides of that dim. The sum is formed in the
// accumulator of Out, so that int8 input is summed as int64 and half as float.
template <class T, class Out>
GPUBENCH_KERNEL void naive(const T* x, Out* y, Strided x_lines, Strided y_lines, long long lines, long long length,
                           long long x_step, long long y_step) {
    using Accumulator = accumulator_t<Out>;
    for (long long line = grid_thread(); line < lines; line += grid_threads()) {
        const T* source = x + x_lines.offset(line);
        Out* target = y + y_lines.offset(line);
        Accumulator sum{};
        for (long long i = 0; i < length; ++i) {
            sum = add(sum, convert<Accumulator>(source[i * x_step]));
            target[i * y_step] = convert<Out>(sum);
        }
    }
}

}  // namespace gpubench::cumsum
