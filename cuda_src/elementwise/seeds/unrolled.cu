// elementwise, variant `unrolled`: contiguous operands, no cast, one element an access.
//
// Data: as `vectorized` (a tile of 128 * N elements a block, all loads before all stores), but every access moves one
// element: item i of a thread lies i * 128 elements after its first, so a warp still reads 32 neighbours at once.
//
// Origin: PyTorch's unrolled_elementwise_kernel (CUDALoops.cuh), what is left there when some pointer's alignment
// allows no vector, and for elements of 16 bytes. N as in `vectorized`: 8, 16 where every element is one byte.
// Weak spots kept: four (half: eight) times the load instructions of the vectorised form for the same bytes, which a
// memory-bound kernel feels where elements are small; a misaligned tensor could be worked on by vectors after its first
// few elements, and is not.
// What the rung changes over `naive`: no division for the offsets, several loads in flight a thread.
#include "elementwise/seeds/items.cuh"

namespace gpubench::elementwise {

// n < 2^31: elements of each operand. p0, p1: the function's scalars.
template <class F, class C, int N, class Out, class... In>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(threads)
    unrolled(Out* y, int n, double p0, double p1, const In*... inputs) {
    const int first = block_index_x() * threads * N;
    work_tile_unrolled<F, C, N>(n - first, convert<C>(p0), convert<C>(p1), y + first, (inputs + first)...);
}

}  // namespace gpubench::elementwise
