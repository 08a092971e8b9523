// elementwise, variant `strided`: any strides and broadcasts, no cast.
//
// Data: a block of 128 threads owns 128 * Unroll elements in the iterator's order (dims sorted by stride, neighbours
// merged; the host does both); item i of a thread lies i * 128 elements after its first. The place of an element in
// every operand comes from one chain of divisions by multiplication and shift, shared by all operands; strides are in
// bytes.
//
// Origin: PyTorch's elementwise_kernel with an OffsetCalculator (CUDALoops.cuh, OffsetCalculator.cuh,
// IntegerDivider.cuh): up to 25 dims; Unroll = 2 where an output element has 4 bytes or more, else 4.
// Weak spots kept: items one after the other, the next one's loads behind this one's store (the compiler cannot know
// that they do not overlap), so few accesses are in flight; the order is the output's where its strides are distinct,
// so a transposed input is read a whole line apart; a division for every dim and element; 32-bit indices.
// What the rung changes over `naive`: 32-bit multiplications in place of 64-bit divisions, one offset chain for all
// operands, any number of dims up to 25.
#include "elementwise/seeds/items.cuh"
#include "gpubench/offset_calculator.cuh"

namespace gpubench::elementwise {

// n < 2^31: elements of the output. calculator: the output is operand 0. p0, p1: the function's scalars.
template <class F, class C, int Unroll, class Out, class... In>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(threads, 4)
    strided(Out* y, int n, OffsetCalculator<1 + sizeof...(In)> calculator, double p0, double p1, const In*... inputs) {
    const C low = convert<C>(p0);
    const C high = convert<C>(p1);
    const uint32 first = static_cast<uint32>(block_index_x()) * (threads * Unroll) + thread_index_x();
    GPUBENCH_UNROLL
    for (int i = 0; i < Unroll; ++i) {
        const uint32 index = first + i * threads;
        if (index >= static_cast<uint32>(n)) return;
        const auto offsets = calculator.offsets(index);
        int operand = 0;
        const C values[] = {convert<C>(*at_byte(inputs, offsets.bytes[++operand]))...};  // braces: from left to right
        *at_byte(y, offsets.bytes[0]) = convert<Out>(call<F>(values, low, high));
    }
}

}  // namespace gpubench::elementwise
