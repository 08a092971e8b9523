// cumsum, variant `walked_lines`: a thread walks a few neighbouring lines from start to end, several rows on their way at a time.
//
// Data: lines are counted in the order of y, over all its dims but the summed one, so that no thread idles where the
// innermost dim is no multiple of a warp. Items of them side by side are one vector of y; each thread finds its place by
// division, once, and then only steps: Rows vectors of x are asked for before the first is used, added up in registers, and
// stored. Any layout of x will do; Items is 1 where its neighbours do not lie side by side, on whole vectors.
// Against `naive`, whose loads wait for one another, for the stores before them may be to the same place. Against
// `columns`, whose blocks have a strip each: a short column leaves most of a block idle, and many of them are many blocks.
#include "gpubench/arithmetic.cuh"
#include "gpubench/grid.cuh"
#include "gpubench/movement/walk.cuh"
#include "gpubench/strided.cuh"

namespace gpubench::cumsum {

// vectors: of Items lines. x_lines, y_lines: the shape without the summed dim, the innermost counted in vectors.
template <class T, class Out, int Items, int Rows>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(256) walked_lines(const T* x, Out* y, DividedStrided x_lines, DividedStrided y_lines, uint32 vectors,
                                                              long long length, long long x_step, long long y_step) {
    const long long vector = grid_thread();
    if (vector >= vectors) return;
    x += x_lines.offset(static_cast<uint32>(vector));
    y += y_lines.offset(static_cast<uint32>(vector));
    Vector<accumulator_t<Out>, Items> sums{};
    GPUBENCH_NO_UNROLL
    for (; length >= Rows; length -= Rows) {
        walk_rows<true, Items, Rows>(x, y, Rows, x_step, y_step, sums, Add{});
        x += Rows * x_step;
        y += Rows * y_step;
    }
    if (length > 0) walk_rows<false, Items, Rows>(x, y, length, x_step, y_step, sums, Add{});
}

}  // namespace gpubench::cumsum
