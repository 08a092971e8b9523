// cumsum, variant `walked_lines`, where a line is one turn, and x and y are so little that offsets fit 32 bits.
//
// Data: as walked_lines.cu has it without tiles, a thread a vector of neighbouring lines; but all rows are asked for at once,
// under one predicate each, and there is no other turn. A small launch waits for its own code and parameters, which come from
// memory as x does: of four rows of float16 this is 73 instructions, 26 of them before the first load (182 and 64 there).
// On one H200: 4 x 3 x 683 x 2 bfloat16 3.84 us (3.98 by `walked_lines`), 1514 x 2 x 6 float64 3.94 (4.13).
#include "gpubench/arithmetic.cuh"
#include "gpubench/grid.cuh"
#include "gpubench/movement/row_vectors.cuh"
#include "gpubench/movement/walk.cuh"

namespace gpubench::cumsum {

// Run, YRun: as walked_lines.cu has them. Rows: no fewer than a line has, and whole runs. Dims: the quick ones.
template <class T, class Out, int Items, int Rows, int Dims, int Run = 1, int YRun = 1>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(256) short_lines(const T* x, Out* y, ShortWalk lines) {
    constexpr int shared = is_sector<Out, YRun> ? 1 : 0;  // by two lanes
    const uint32 vector = (block_index_x() * block_size_x() + thread_index_x()) >> shared;
    if (vector >= lines.vectors) return;
    int from, to;
    lines.place<Dims>(vector, from, to);
    constexpr int Moves = Rows / Run;
    Packed<T, Items * Run> raw[Moves];
    GPUBENCH_UNROLL
    for (int m = 0; m < Moves; ++m, from += Run * lines.x_row) {
        raw[m] = vector_if<Items * Run>(x + from, m * Run < lines.length);
    }
    Vector<accumulator_t<Out>, Items> sums{};
    store_rows<false, false, Run, YRun>(raw, y + to, lines.length, lines, sums, Add{});
}

}  // namespace gpubench::cumsum
