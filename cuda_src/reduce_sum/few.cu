// sum, variant `few`: outputs of few terms, each added up by one thread.
//
// Data: a thread takes `Groups` times W outputs that lie side by side in y, with all their terms on their way at once (of many
// eight or sixteen), and stores their sums as vectors. Its terms are [W][R] items on one vector of x, of which R side by side belong
// to one output, in several places. W and R are 1 where x or y do not stand so: a warp still reads and writes side by side.
// few_shared: of little, warps that share 32 outputs, each with a part of their terms; the sums meet in shared memory.
// few_across: W outputs stand on a vector of y, their terms anywhere: two vectors of x for each term, of which neighbouring
// threads share one. The ends of lines cut the outputs of a thread.
#include "reduce_sum/terms.cuh"

namespace gpubench::sum {

// C: Sum, or Plain for little.
template <class C>
struct FewShape {
    int32 terms, inner;
    uint32 groups;
    int32 line;               // few_across: outputs of a line
    int64 step, other_step;   // elements between terms, and between rounds of `inner` terms
    int64 reach;              // few_across: elements from an output's first term to its last
    C sum;                    // of groups of W outputs
};
GPUBENCH_LAYOUT(FewShape<gpubench::sum::Sum>, 160, sum, 40);
GPUBENCH_LAYOUT(FewShape<gpubench::sum::Plain>, 96, sum, 40);

// The place of a term after the other, from the first one's.
struct TermWalk {
    int64 offset = 0;
    int32 inner = 0;

    template <class C>
    GPUBENCH_DEVICE int64 next(const FewShape<C>& shape) {
        const int64 here = offset;
        offset += shape.step;
        inner += 1;
        if (inner == shape.inner) {
            inner = 0;
            offset += shape.other_step - shape.inner * shape.step;
        }
        return here;
    }
};

template <class Out, int W, class A>
GPUBENCH_DEVICE void store_sums(Out* y, Once once, const Vector<A, W>& sums) {
    Vector<Out, W> values;
    GPUBENCH_UNROLL
    for (int j = 0; j < W; ++j) values[j] = finished<Out>(once, sums[j]);
    store_vector(y, values);
}
template <class Out, int W, class A>
GPUBENCH_DEVICE void store_sums(Out* y, const Finish& finish, const Vector<A, W>& sums) {
    Vector<Out, W> values;
    GPUBENCH_UNROLL
    for (int j = 0; j < W; ++j) values[j] = finished<Out>(finish, sums[j]);
    GPUBENCH_NO_UNROLL
    for (int64 copy = 0; copy < finish.copies; ++copy) store_vector(y + copy * finish.apart, values);
}

// The sums of R neighbours each.
template <int R, class A, int V>
GPUBENCH_DEVICE Vector<A, V / R> fold_neighbours(const Vector<A, V>& items) {
    if constexpr (R == 1) {
        return items;
    } else {
        Vector<A, V / 2> sums;
        GPUBENCH_UNROLL
        for (int j = 0; j < V / 2; ++j) sums[j] = add(items[2 * j], items[2 * j + 1]);
        return fold_neighbours<R / 2>(sums);
    }
}

// The terms that are not on their way at once with the first of a thread's only group.
template <int Terms, int V, class T, class S, class C>
GPUBENCH_DEVICE void add_rest(Vector<part_t<T>, V>& sums, const T* place, TermWalk walk, const S& source, const FewShape<C>& shape) {
    Packed<T, V> raw[Terms];
    for (int left = shape.terms - Terms; left > 0; left -= Terms) {
        GPUBENCH_UNROLL
        for (int t = 0; t < Terms; ++t) raw[t] = source.template load<V>(place + walk.next(shape), t < left);
        const Vector<part_t<T>, V> more = detail::tree<V, 0, Terms>(raw);
        GPUBENCH_UNROLL
        for (int j = 0; j < V; ++j) sums[j] = add(sums[j], more[j]);
    }
}

template <int W, int R, int Terms, int Groups, class T, class Out, class S, class C>
GPUBENCH_DEVICE void sum_groups(const T* x, Out* y, const S& source, const FewShape<C>& shape) {
    constexpr int V = W * R;
    const uint32 first = static_cast<uint32>(block_index_x()) * (block_size_x() * Groups) + thread_index_x();
    int64 steps[Terms];
    TermWalk walk;
    GPUBENCH_UNROLL
    for (int t = 0; t < Terms; ++t) steps[t] = walk.next(shape);
    Packed<T, V> raw[Groups][Terms];
    GPUBENCH_UNROLL
    for (int g = 0; g < Groups; ++g) {
        const uint32 group = first + g * block_size_x();
        const T* const place = x + offsets_of(shape.sum, group).x;
        GPUBENCH_UNROLL
        for (int t = 0; t < Terms; ++t) {
            raw[g][t] = source.template load<V>(place + steps[t], group < shape.groups && t < shape.terms);
        }
    }
    const uint32 again = Groups > 1 ? static_cast<uint32>(opaque(static_cast<int>(first))) : first;  // worked out twice takes fewer registers
    GPUBENCH_UNROLL
    for (int g = 0; g < Groups; ++g) {
        const uint32 group = again + g * block_size_x();
        if (group >= shape.groups) break;
        const Offsets offsets = offsets_of(shape.sum, group);
        Vector<part_t<T>, V> sums = detail::tree<V, 0, Terms>(raw[g]);
        if constexpr (Terms >= 8) add_rest<Terms>(sums, x + offsets.x, walk, source, shape);
        store_sums<Out>(y + offsets.y, finish_of(shape.sum), convert_items<W, accumulator_t<T>>(fold_neighbours<R>(sums)));
    }
}

// Groups 0: one, of little: the cache is not asked for anything.
template <class T, class Out, int W, int R, int Terms, int Groups>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(256, sizeof(T) * W * R == 16 ? 3 : 4)
    few(const T* x, Out* y, const FewShape<conditional_t<Groups == 0, Plain, Sum>> shape) {
    if constexpr (Groups == 0) {
        sum_groups<W, R, Terms, 1>(x, y, Source<T, false>{x + shape.sum.extent}, shape);
    } else {
        if (shape.sum.first_out != 0) sum_groups<W, R, Terms, Groups>(x, y, Source<T, true>{x + shape.sum.extent}, shape);
        else sum_groups<W, R, Terms, Groups>(x, y, Source<T, false>{x + shape.sum.extent}, shape);
    }
}

// A thread's terms lie as many apart as the block has warps; they are `step` elements apart, in one dim.
template <class T, class Out, int Terms>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(512, 1) few_shared(const T* x, Out* y, const FewShape<Plain> shape) {
    GPUBENCH_SHARED(part_t<T>, sums, 512);
    const int warps = block_size_x() / warp_size, warp = thread_index_x() / warp_size;
    const uint32 output = static_cast<uint32>(block_index_x()) * warp_size + lane_index();
    const Offsets offsets = offsets_of(shape.sum, output);
    const T* const place = x + offsets.x + warp * shape.step;
    const int64 apart = warps * shape.step;
    Packed<T, 1> raw[Terms];
    GPUBENCH_UNROLL
    for (int t = 0; t < Terms; ++t) {
        raw[t] = Source<T, false>{nullptr}.template load<1>(place + t * apart, output < shape.groups && warp + t * warps < shape.terms);
    }
    const Vector<part_t<T>, 1> own = detail::tree<1, 0, Terms>(raw);
    meet(sums + thread_index_x(), own, true);
    part_t<T> sum = own[0];
    if (warp > 0 || output >= shape.groups) return;
    for (int other = 1; other < warps; ++other) sum = add(sum, sums[other * warp_size + lane_index()]);
    store_sum(y + offsets.y, Once{}, accumulator_t<T>(sum));
}

// What an output's last term adds beyond the vectors that lie in x: one by one.
template <int W, class T>
GPUBENCH_DEVICE void add_last(Vector<part_t<T>, W>& sums, const T* last, const T* end) {
    const int shift = items_before<W>(last);
    const int first = last - shift + W > end ? 0 : W - shift;  // of those that no vector brought
    if (last - shift + 2 * W <= end) return;
    GPUBENCH_UNROLL
    for (int j = 0; j < W; ++j) {
        if (j >= first && last + j < end) sums[j] = add(sums[j], convert<part_t<T>>(last[j]));
    }
}

template <int W, int Terms, class T, class Out, class S>
GPUBENCH_DEVICE void sum_across(const T* x, Out* y, const S& source, const FewShape<Sum>& shape) {
    const uint32 group = static_cast<uint32>(block_index_x()) * block_size_x() + thread_index_x();
    if (group >= shape.groups) return;
    const Offsets offsets = offsets_of(shape.sum, group);
    const int number = static_cast<int>(shape.sum.kept.dims > 1 ? shape.sum.kept.first.divide(group).remainder : group);
    const int before = items_before<W>(y + offsets.y), left = shape.line + before - number * W;
    const int from = number == 0 ? before : 0, to = left < W ? left : W;
    const T* const place = x + offsets.x - before;
    Out* const target = y + offsets.y - before;
    if (to <= from) return;
    Vector<part_t<T>, W> sums{};
    TermWalk walk;
    for (int base = 0; base < shape.terms; base += Terms) {
        Packed<T, W> words[Terms][2];
        int shifts[Terms];
        GPUBENCH_UNROLL
        for (int t = 0; t < Terms; ++t) {
            const T* const term = place + walk.next(shape);
            shifts[t] = items_before<W>(term);
            const T* const word = term - shifts[t];
            const bool exists = base + t < shape.terms;
            words[t][0] = source.template load<W>(word, exists && !source.template beyond<W>(word));
            words[t][1] = source.template load<W>(word + W, exists && shifts[t] != 0 && !source.template beyond<W>(word + W));
        }
        Packed<T, W> raw[Terms];
        GPUBENCH_UNROLL
        for (int t = 0; t < Terms; ++t) raw[t] = shift_items(words[t][0], words[t][1], shifts[t]);
        const Vector<part_t<T>, W> more = detail::tree<W, 0, Terms>(raw);
        GPUBENCH_UNROLL
        for (int j = 0; j < W; ++j) sums[j] = add(sums[j], more[j]);
    }
    add_last<W>(sums, place + shape.reach, source.end);
    const Vector<accumulator_t<T>, W> totals = convert_items<W, accumulator_t<T>>(sums);
    if (from == 0 && to == W) {
        store_sums(target, finish_of(shape.sum), totals);
    } else {
        GPUBENCH_UNROLL
        for (int j = 0; j < W; ++j) {
            if (j >= from && j < to) store_sum(target + j, finish_of(shape.sum), totals[j]);
        }
    }
}

template <class T, class Out, int W, int Terms>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(256, 3) few_across(const T* x, Out* y, const FewShape<Sum> shape) {
    if (shape.sum.first_out != 0) sum_across<W, Terms>(x, y, Source<T, true>{x + shape.sum.extent}, shape);
    else sum_across<W, Terms>(x, y, Source<T, false>{x + shape.sum.extent}, shape);
}

}  // namespace gpubench::sum
