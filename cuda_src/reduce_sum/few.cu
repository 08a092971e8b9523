// sum, variant `few`: outputs of up to eight terms, each added up by one thread.
//
// Data: a thread takes `Groups` times V outputs that lie side by side in x and y, with all their terms on their way at once, and
// stores their sums as vectors. V is 1 where x or y do not stand on vectors: a warp still reads and writes side by side.
#include "reduce_sum/terms.cuh"

namespace gpubench::sum {

//
struct FewShape {
    Kept kept;                // of groups of V outputs
    Finish finish;
    int64 extent;             // elements from x's first to behind its last
    int64 step, other_step;   // elements between terms, and between rounds of `inner` terms
    int32 terms, inner;
    uint32 groups;
    int32 first_out;          // whether the L2 cache gives up x first
};
GPUBENCH_LAYOUT(FewShape, 144, first_out, 140);

template <class Out, int V, class A>
GPUBENCH_DEVICE void store_sums(Out* y, const Finish& finish, const Vector<A, V>& sums) {
    Vector<Out, V> values;
    GPUBENCH_UNROLL
    for (int j = 0; j < V; ++j) values[j] = finished<Out>(finish, sums[j]);
    for (int64 copy = 0; copy < finish.copies; ++copy) store_vector(y + copy * finish.apart, values);
}

template <int V, int Terms, class T, class Out, class S>
GPUBENCH_DEVICE void sum_groups(const T* x, Out* y, const S& source, const FewShape& shape) {
    using A = accumulator_t<T>;
    constexpr int loads = sizeof(T) == 16 ? 4 : 8, groups = loads > Terms ? loads / Terms : 1;
    const uint32 first = static_cast<uint32>(block_index_x()) * (256 * groups) + thread_index_x();
    int64 steps[Terms];
    GPUBENCH_UNROLL
    for (int t = 0; t < Terms; ++t) steps[t] = t % shape.inner * shape.step + t / shape.inner * shape.other_step;
    Packed<T, V> raw[groups][Terms];
    GPUBENCH_UNROLL
    for (int g = 0; g < groups; ++g) {
        const uint32 group = first + g * 256;
        const T* const place = x + offsets_of(shape.kept, group).x;
        GPUBENCH_UNROLL
        for (int t = 0; t < Terms; ++t) {
            raw[g][t] = source.template load<V>(place + steps[t], group < shape.groups && t < shape.terms);
        }
    }
    const uint32 again = static_cast<uint32>(opaque(static_cast<int>(first)));  // offsets worked out twice take no registers between
    GPUBENCH_UNROLL
    for (int g = 0; g < groups; ++g) {
        const uint32 group = again + g * 256;
        if (group >= shape.groups) break;
        const Vector<part_t<T>, V> parts = detail::tree<V, 0, Terms>(raw[g]);
        store_sums<Out>(y + offsets_of(shape.kept, group).y, shape.finish, convert_items<V, A>(parts));
    }
}

template <class T, class Out, int V, int Terms>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(256, sizeof(T) * V == 16 ? 3 : 4) few(const T* x, Out* y, const FewShape shape) {
    if (shape.first_out != 0) sum_groups<V, Terms>(x, y, Source<T, true>{x + shape.extent}, shape);
    else sum_groups<V, Terms>(x, y, Source<T, false>{x + shape.extent}, shape);
}

}  // namespace gpubench::sum
