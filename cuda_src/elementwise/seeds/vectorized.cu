// elementwise, variant `vectorized` (and `vectorized_older`, `vectorized_2`, `_4`, `_8`): contiguous operands, no cast,
// several neighbouring elements in one access.
//
// Data: a block of 128 threads owns a tile of 128 * N elements. In a whole tile a thread moves N / Width vectors of
// Width elements, neighbouring threads neighbouring vectors, all loads before all stores: each of a warp's accesses
// covers 32 * Width elements in a row. The last tile is read and written element by element, with a check each.
//
// Origin: PyTorch's vectorized_elementwise_kernel (CUDALoops.cuh, MemoryAccess.cuh). Older form: N = 4, Width 4, 2 or 1
// whatever the element's size. Newer: N = 8 (16 where every element is one byte), Width at most 8, at most 16 bytes of
// the output, at most 4 for one-byte outputs. The host chooses Width by the alignment of every pointer.
//
// Weak spots kept: one tile a block, so that a large tensor starts millions of short-lived blocks; the width is the
// narrowest that any operand allows, so that one misaligned pointer makes all accesses narrow; no alignment of the
// head; no cache hints; 32-bit indices, so that the host must cut tensors of 2^31 elements or bytes.
// Differences: half and bfloat16 are worked on in float and rounded once, which is also what the original's functors
// do; the original counts the bytes of an element of all operands together, so that only a function of no operand that
// writes bytes gets 16 elements a thread, while here every function of bytes does.
// What the rung changes over `naive`: no division for the offsets, 16-byte accesses.
#include "elementwise/seeds/items.cuh"

namespace gpubench::elementwise {

// n < 2^31: elements of each operand. p0, p1: the function's scalars.
template <class F, class C, int Width, int N, class Out, class... In>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(threads)
    vectorized(Out* y, int n, double p0, double p1, const In*... inputs) {
    constexpr int tile = threads * N;
    const int first = block_index_x() * tile;
    const int remaining = n - first;
    const C low = convert<C>(p0);
    const C high = convert<C>(p1);
    if (remaining < tile) {
        work_tile_unrolled<F, C, N>(remaining, low, high, y + first, (inputs + first)...);
    } else {
        store_vectors<Width>(y + first, work_items<F, C, Out, N>(low, high, load_vectors<Width, N>(inputs + first)...));
    }
}

}  // namespace gpubench::elementwise
