// cumsum, variant `walked_lines`: a thread walks a few neighbouring lines from start to end, several rows on their way at a time.
//
// Data: lines are counted in the order of y, over all its dims but the summed one, so that no thread idles where the
// innermost dim is no multiple of a warp. Items of them side by side are one vector of y; each thread finds its place by
// division, once, and then only steps: Rows vectors of x are asked for before the first is used, added up in registers, and
// stored. Any layout of x will do; Items is 1 where its neighbours do not lie side by side, on whole vectors.
// Tiled: lines that are neighbours in x are none in y. A block takes a tile of both dims, so that what it reads and what it
// writes are whole sectors, which the L1 cache brings together: each line of a sector of x is another lane's.
// The next turn is asked for before this one is stored. What a small launch waits for is its own code, which comes from
// memory, too: so the first turn and the last are one piece of code each, and short columns need no more.
// Against `naive`, whose loads wait for one another, for the stores before them may be to the same place. Against
// `columns`, whose blocks have a strip each: a short column leaves most of a block idle, and many of them are many blocks.
#include "gpubench/arithmetic.cuh"
#include "gpubench/grid.cuh"
#include "gpubench/movement/walk.cuh"

namespace gpubench::cumsum {

template <class T, class Out, int Items, int Rows, bool Tiled>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(256) walked_lines(const T* x, Out* y, LineWalk lines) {
    if constexpr (Tiled) {
        const IntegerDivider::Result near = lines.places[0].size.divide(static_cast<uint32>(block_index_x()));
        const IntegerDivider::Result far = lines.places[1].size.divide(near.quotient);
        const uint32 thread = static_cast<uint32>(thread_index_x()), wide = 1u << lines.near_bits;
        const uint32 first = near.remainder * wide + thread % wide;
        const uint32 second = (far.remainder * static_cast<uint32>(block_size_x()) + thread) >> lines.near_bits;
        if (first >= static_cast<uint32>(lines.near) || second >= static_cast<uint32>(lines.far)) return;
        x += first * lines.places[0].x + second * lines.places[1].x;
        y += first * lines.places[0].y + second * lines.places[1].y;
        lines.step(2, far.quotient, x, y);
    } else {
        const uint32 vector = static_cast<uint32>(grid_thread());
        if (vector >= lines.vectors) return;
        lines.step(0, vector, x, y);
    }
    Packed<T, Items> raw[Rows];
    Vector<accumulator_t<Out>, Items> sums{};
    int left = lines.length;
    load_rows(raw, x, left, lines.x_row);
    GPUBENCH_NO_UNROLL
    for (; left > Rows; left -= Rows) {
        Packed<T, Items> next[Rows];
        x += Rows * lines.x_row;
        load_rows(next, x, left - Rows, lines.x_row);
        store_rows<true>(raw, y, Rows, lines.y_row, sums, Add{});
        y += Rows * lines.y_row;
        GPUBENCH_UNROLL
        for (int r = 0; r < Rows; ++r) raw[r] = next[r];
    }
    store_rows<false>(raw, y, left, lines.y_row, sums, Add{});
}

}  // namespace gpubench::cumsum
