// cumsum, variant `single_elements`: lines of one element, whose sum is the element: a copy that converts.
//
// Data: a thread takes Items elements, by one access where x and y stand on their vectors. For a handful of elements Items
// is 1 and the kernel a dozen instructions: what a launch of so little waits for is its own code, which comes from memory.
// On one H200: one float32 3.30 us (3.62 by lanes_rows, 3.84 naive), 2^24 of them 36.0 us (37.4 by flat_rows).
#include "gpubench/grid.cuh"
#include "gpubench/movement/span.cuh"

namespace gpubench::cumsum {

template <class T, class Out, int Items>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(256) single_elements(const T* x, Out* y, long long elements) {
    const long long first = grid_thread() * Items;
    if constexpr (Items == 1) {
        if (first < elements) y[first] = convert<Out>(x[first]);
    } else {
        const long long left = elements - first;
        const Span span{first, Items, 0, static_cast<int>(left < Items ? left : Items)};
        Packed<T, Items> raw[1];
        load_span<Items, 1>(raw, x, span, is_aligned(x, Items * sizeof(T)));
        store_items<Items>(y, span, 0, unpack_items<Items, accumulator_t<Out>>(raw[0]));
    }
}

}  // namespace gpubench::cumsum
