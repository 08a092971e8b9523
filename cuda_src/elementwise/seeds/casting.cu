// elementwise, variant `casting`: operands and output of dtypes that the kernel learns only at run time.
//
// Data: blocks of 128 threads, four elements a thread, item i of a thread 128 i elements after its first. `casting`
// walks contiguous operands: all fetches, then all work, then all stores, with a check each. `casting_strided` finds
// every element by the offset calculator, one item after the other. A fetch switches over the operand's dtype and
// converts to C, the type of the work; a store switches over the output's.
//
// Origin: PyTorch's launch_unrolled_kernel with LoadWithCast and StoreWithCast, and elementwise_kernel with
// fetch_and_cast and cast_and_store (CUDALoops.cuh, MemoryAccess.cuh, DynamicCast.h).
// Weak spots kept: scalar accesses even where everything is contiguous; a switch of eleven cases around each of them
// (uniform over the grid, so nothing diverges, but the code is long); no more than four elements a thread; in the
// strided form each load waits behind the store before it.
// Differences: the original converts every operand to the dtype that they promote to and the result from it, so that a
// half result that is stored as float was rounded to half before; here operands are converted to C (float for half and
// bfloat16) and the result from it, one rounding each. One instance for each C serves all dtypes that work in it.
#include "elementwise/seeds/items.cuh"
#include "gpubench/offset_calculator.cuh"
#include "gpubench/runtime_dtype.cuh"

namespace gpubench::elementwise {

constexpr int cast_items = 4;

// The dtypes and element sizes in bytes of the output, then of each operand.
template <int Operands>
struct Casts {
    Dtype dtypes[Operands];
    uint32 sizes[Operands];
};
GPUBENCH_LAYOUT(Casts<1>, 8, sizes, 4);

// n: elements of each operand, whose bytes are fewer than 2^31. In: void for each operand, to say how many there are.
template <class F, class C, class... In>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(threads)
    casting(void* y, int n, Casts<1 + sizeof...(In)> casts, double p0, double p1, const In*... inputs) {
    constexpr int arity = sizeof...(In);
    const C low = convert<C>(p0);
    const C high = convert<C>(p1);
    const void* const addresses[] = {inputs...};
    const int first = block_index_x() * threads * cast_items + thread_index_x();
    C values[cast_items][arity];
    GPUBENCH_UNROLL
    for (int i = 0; i < cast_items; ++i) {
        const int place = first + i * threads;
        GPUBENCH_UNROLL
        for (int k = 0; k < arity; ++k) {
            values[i][k] = C{};
            if (place < n) {
                const uint32 offset = static_cast<uint32>(place) * casts.sizes[1 + k];
                values[i][k] = fetch<C>(at_byte(addresses[k], offset), casts.dtypes[1 + k]);
            }
        }
    }
    GPUBENCH_UNROLL
    for (int i = 0; i < cast_items; ++i) {
        const int place = first + i * threads;
        if (place < n) {
            const uint32 offset = static_cast<uint32>(place) * casts.sizes[0];
            store_as(at_byte(y, offset), casts.dtypes[0], call<F>(values[i], low, high));
        }
    }
}

// calculator: the output is operand 0.
template <class F, class C, class... In>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(threads, 4)
    casting_strided(void* y, int n, OffsetCalculator<1 + sizeof...(In)> calculator, Casts<1 + sizeof...(In)> casts,
                    double p0, double p1, const In*... inputs) {
    constexpr int arity = sizeof...(In);
    const C low = convert<C>(p0);
    const C high = convert<C>(p1);
    const void* const addresses[] = {inputs...};
    const uint32 first = static_cast<uint32>(block_index_x()) * (threads * cast_items) + thread_index_x();
    GPUBENCH_UNROLL
    for (int i = 0; i < cast_items; ++i) {
        const uint32 index = first + i * threads;
        if (index >= static_cast<uint32>(n)) return;
        const auto offsets = calculator.offsets(index);
        C values[arity];
        GPUBENCH_UNROLL
        for (int k = 0; k < arity; ++k) {
            values[k] = fetch<C>(at_byte(addresses[k], offsets.bytes[1 + k]), casts.dtypes[1 + k]);
        }
        store_as(at_byte(y, offsets.bytes[0]), casts.dtypes[0], call<F>(values, low, high));
    }
}

}  // namespace gpubench::elementwise
