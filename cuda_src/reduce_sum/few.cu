// sum, variant `few`: outputs of few terms, each added up by one thread.
//
// Data: a thread takes `Groups` times W outputs that lie side by side in y, with all their terms on their way at once (of many
// eight or sixteen), and stores their sums as vectors. W is less where x or y stand on less, down to 1: a warp still reads and writes side by side.
// few_near: of little, where no load waits for a walk along the terms.
// few_shared: of little, lanes that share an output, each with a part of its terms; up to 32 outputs a block.
// few_words: rows of a few narrow terms, and their sums, side by side: by words of 32 bits, of which neighbouring threads share some.
// few_transposed: outputs whose neighbours lie apart in x; tiles of sums turn in shared memory.
// few_across: W outputs stand on a vector of y, their terms anywhere: two vectors of x for each term, of which neighbouring
// threads share one. The ends of lines cut the outputs of a thread.
#include "reduce_sum/few.cuh"

namespace gpubench::sum {

// The terms that are not on their way at once with the first of a thread's only group.
template <int Terms, int V, class T, class S>
GPUBENCH_DEVICE void add_rest(Vector<part_t<T>, V>& sums, const T* place, TermWalk<Sum> walk, const S& source, const FewShape<Sum>& shape) {
    Packed<T, V> raw[Terms];
    for (int left = shape.terms - Terms; left > 0; left -= Terms) {
        GPUBENCH_UNROLL
        for (int t = 0; t < Terms; ++t) raw[t] = source.template load<V>(place + walk.next(shape), t < left);
        combine_items(sums, detail::tree<V, 0, Terms>(raw), Add{});
    }
}

template <int W, int Terms, int Groups, class T, class Out, class S>
GPUBENCH_DEVICE void sum_groups(const T* x, Out* y, const S& source, const FewShape<Sum>& shape) {
    const uint32 first = static_cast<uint32>(block_index_x()) * (block_size_x() * Groups) + thread_index_x();
    int64 steps[Terms];
    TermWalk<Sum> walk;
    GPUBENCH_UNROLL
    for (int t = 0; t < Terms; ++t) steps[t] = walk.next(shape);
    Packed<T, W> raw[Groups][Terms];
    GPUBENCH_UNROLL
    for (int g = 0; g < Groups; ++g) {
        const uint32 group = first + g * block_size_x();
        const T* const place = x + offsets_of(shape.sum.kept, group).x;
        GPUBENCH_UNROLL
        for (int t = 0; t < Terms; ++t) {
            raw[g][t] = source.template load<W>(place + steps[t], group < shape.groups && t < shape.terms);
        }
    }
    const uint32 again = Groups > 1 ? static_cast<uint32>(opaque(static_cast<int>(first))) : first;  // worked out twice takes fewer registers
    GPUBENCH_UNROLL
    for (int g = 0; g < Groups; ++g) {
        const uint32 group = again + g * block_size_x();
        if (group >= shape.groups) break;
        const auto offsets = offsets_of(shape.sum.kept, group);
        Vector<part_t<T>, W> sums = detail::tree<W, 0, Terms>(raw[g]);
        if constexpr (Terms >= 8) add_rest<Terms>(sums, x + offsets.x, walk, source, shape);
        store_sums(y + offsets.y, finish_of(shape.sum), convert_items<W, accumulator_t<T>>(sums));
    }
}

template <class T, class Out, int W, int Terms, int Groups>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(256, sizeof(T) * W == 16 ? 3 : 4) few(const T* x, Out* y, const FewShape<Sum> shape) {
    if (shape.sum.first_out != 0) sum_groups<W, Terms, Groups>(x, y, Source<T, true>{x + shape.sum.extent}, shape);
    else sum_groups<W, Terms, Groups>(x, y, Source<T, false>{x + shape.sum.extent}, shape);
}

// Of little: a group of outputs a thread, all their terms at once, which are more than half as many as there is room for; the
// cache is not asked for anything. Dims: kept ones, at most.
template <class T, class Out, int W, int Terms, int Dims>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(256, 3) few_near(const T* x, Out* y, const NearShape<Terms> shape) {
    const uint32 group = static_cast<uint32>(block_index_x()) * block_size_x() + thread_index_x();
    if (group >= shape.groups) return;
    const auto offsets = offsets_of<Dims>(shape.sum.kept, group);
    Packed<T, W> raw[Terms];
    GPUBENCH_UNROLL
    for (int t = 0; t < Terms; ++t) {
        const T* const term = x + (offsets.x + (t == 0 ? 0 : shape.steps[t]));
        raw[t] = Source<T, false>{nullptr}.template load<W>(term, t <= Terms / 2 || t < shape.terms);
    }
    store_sums(y + offsets.y, Once{}, convert_items<W, accumulator_t<T>>(detail::tree<W, 0, Terms>(raw)));
}

// The sum of what the lanes of a warp hold for each of so many outputs.
template <class A>
GPUBENCH_DEVICE A fold_lanes(A sum, int outputs) {
    GPUBENCH_NO_UNROLL
    for (int apart = outputs; apart < warp_size; apart *= 2) sum = add(sum, shuffle_xor(full_mask, sum, apart));
    return sum;
}

template <class T, class Out, int Terms>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(512, 1) few_shared(const T* x, Out* y, const SharedShape shape) {
    constexpr int at_once = 4;
    GPUBENCH_SHARED(part_t<T>, sums, 512);
    const int outputs = 1 << shape.output_bits, first = thread_index_x() >> shape.output_bits, lanes = block_size_x() >> shape.output_bits;
    const uint32 output = static_cast<uint32>(block_index_x()) * outputs + (thread_index_x() & (outputs - 1));
    const auto offsets = offsets_of(shape.sum.kept, output);
    const auto round = shape.inner.divide(first);
    uint32 inner = round.remainder;
    uint32 place = offsets.x + inner * shape.step + round.quotient * shape.other_step;
    Packed<T, 1> raw[Terms];
    GPUBENCH_UNROLL
    for (int t = 0; t < Terms; ++t) {
        raw[t] = Source<T, false>{nullptr}.template load<1>(x + place, output < shape.groups && first + t * lanes < shape.terms);
        place += shape.moved;
        inner += shape.turn_inner;
        if (inner >= shape.inner.divisor) {
            inner -= shape.inner.divisor;
            place += shape.carried;
        }
    }
    part_t<T> sum = fold_lanes(detail::tree<1, 0, Terms>(raw)[0], outputs);
    meet(sums + thread_index_x() / warp_size * outputs + lane_index(), Vector<part_t<T>, 1>{{sum}}, lane_index() < outputs);
    if (thread_index_x() >= warp_size) return;
    const int all = block_size_x() / warp_size * outputs;
    sum = part_t<T>{};
    GPUBENCH_NO_UNROLL
    for (int base = lane_index(); base < all; base += at_once * warp_size) {
        part_t<T> others[at_once];
        GPUBENCH_UNROLL
        for (int i = 0; i < at_once; ++i) others[i] = base + i * warp_size < all ? sums[base + i * warp_size] : part_t<T>{};
        sum = add(sum, add(add(others[0], others[1]), add(others[2], others[3])));
    }
    sum = fold_lanes(sum, outputs);
    if (lane_index() < outputs && output < shape.groups) store_sum(y + offsets.y, Once{}, accumulator_t<T>(sum));
}

// Rows of up to 4 x Words bytes, side by side as their sums are, by words of 32 bits: two that stand side by side hold each four bytes
// of a row. All places fit 32 bits, from the word on that holds x's first item.
template <class T, class Out, int Words, int Groups>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(256, 4) few_words(const T* x, Out* y, const WordsShape shape) {
    constexpr int V = 4 / static_cast<int>(sizeof(T));
    const uint32 begin = items_before<V>(x), terms = shape.terms;
    const T* const base = x - begin;
    const uint32 whole = (begin + shape.rows * terms) / V;  // words that lie in x
    const uint32 first = static_cast<uint32>(block_index_x()) * (block_size_x() * Groups) + thread_index_x();
    Packed<T, V> raw[Groups][Words + 1];
    GPUBENCH_UNROLL
    for (int g = 0; g < Groups; ++g) {
        const uint32 row = first + g * block_size_x(), at = begin + row * terms, word = at / V;
        const uint32 end = (at + terms + V - 1) / V, stop = row >= shape.rows ? 0 : end < whole ? end : whole;
        GPUBENCH_UNROLL
        for (uint32 w = 0; w <= Words; ++w) raw[g][w] = Source<T, true>{nullptr}.template load<V>(base + (word + w) * V, word + w < stop);
    }
    GPUBENCH_UNROLL
    for (int g = 0; g < Groups; ++g) {
        const uint32 row = first + g * block_size_x(), at = begin + row * terms;
        if (row >= shape.rows) break;
        Packed<T, V> own[Words];
        GPUBENCH_UNROLL
        for (int w = 0; w < Words; ++w) own[w] = keep_items(shift_items(raw[g][w], raw[g][w + 1], at % V), 0, shape.terms - w * V);
        part_t<T> sum = sum_vectors(own);
        if (at + terms > whole * V) {  // the last row's last
            Packed<T, 1> last[V - 1];
            GPUBENCH_UNROLL
            for (uint32 j = 0; j < V - 1; ++j) last[j] = Source<T, true>{nullptr}.template load<1>(base + whole * V + j, whole * V + j < at + terms);
            sum = add(sum, detail::tree<1, 0, V - 1>(last)[0]);
        }
        store_sum(y + row, Once{}, accumulator_t<T>(sum));
    }
}

template <class T, class Out, int Terms>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(256, 4) few_transposed(const T* x, Out* y, const TransposedShape shape) {
    constexpr int side = warp_size, rows = 4;
    using A = accumulator_t<T>;
    GPUBENCH_SHARED(A, sums, side * (side + 1));
    const Outputs<uint32>& kept = shape.few.sum.kept;
    const auto tile = shape.tiles.divide(block_index_x()), other = shape.other_tiles.divide(tile.quotient);
    const uint32 across = tile.remainder * side, down = other.remainder * side;
    const int lane = lane_index(), warp = thread_index_x() / warp_size, warps = side / rows;
    const T* const place = x + (across + lane) * kept.x_steps[0] + down * kept.x_steps[1] + other.quotient * kept.x_steps[2];
    Vector<A, 1> totals[rows] = {};
    TermWalk<Plain> walk;
    GPUBENCH_NO_UNROLL
    for (int base = 0; base < shape.few.terms; base += Terms) {
        Packed<T, 1> raw[rows][Terms];
        GPUBENCH_UNROLL
        for (int t = 0; t < Terms; ++t) {
            const T* const term = place + walk.next(shape.few);
            GPUBENCH_UNROLL
            for (int r = 0; r < rows; ++r) {
                const uint32 row = warp + r * warps;
                const bool exists = across + lane < kept.first.divisor && down + row < kept.second.divisor && base + t < shape.few.terms;
                raw[r][t] = Source<T, false>{nullptr}.template load<1>(term + row * kept.x_steps[1], exists);
            }
        }
        GPUBENCH_UNROLL
        for (int r = 0; r < rows; ++r) totals[r][0] = add(totals[r][0], A(detail::tree<1, 0, Terms>(raw[r])[0]));
    }
    A* const own = sums + warp * (side + 1) + lane;
    GPUBENCH_UNROLL
    for (int r = 1; r < rows; ++r) store_vector(own + r * warps * (side + 1), totals[r]);
    meet(own, totals[0], true);
    Out* const target = y + across * kept.y_steps[0] + (down + lane) * kept.y_steps[1] + other.quotient * kept.y_steps[2];
    GPUBENCH_UNROLL
    for (int r = 0; r < rows; ++r) {
        const uint32 row = warp + r * warps;
        if (across + row < kept.first.divisor && down + lane < kept.second.divisor) {
            store_sum(target + row * kept.y_steps[0], Once{}, sums[lane * (side + 1) + row]);
        }
    }
}

// What an output's last term adds beyond the vectors that lie in x: one by one.
template <int W, class T, class S>
GPUBENCH_DEVICE void add_last(Vector<part_t<T>, W>& sums, const T* last, const S& source) {
    const int shift = items_before<W>(last);
    const int first = last - shift + W > source.end ? 0 : W - shift;  // of those that no vector brought
    if (last - shift + 2 * W <= source.end) return;
    Vector<T, W> items;
    GPUBENCH_UNROLL
    for (int j = 0; j < W; ++j) items[j] = bit_cast<T>(source.template load<1>(last + j, j >= first && last + j < source.end));
    combine_items(sums, convert_items<W, part_t<T>>(items), Add{});
}

template <class T, class Out, int W, int Terms>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(256, 3) few_across(const T* x, Out* y, const FewShape<Plain> shape) {
    const Source<T, true> source{x + shape.sum.extent};
    const uint32 group = static_cast<uint32>(block_index_x()) * block_size_x() + thread_index_x();
    if (group >= shape.groups) return;
    const auto offsets = offsets_of(shape.sum.kept, group);
    const int number = static_cast<int>(shape.sum.kept.first.divide(group).remainder);
    const int before = items_before<W>(y + offsets.y), left = shape.line + before - number * W;
    const int from = number == 0 ? before : 0, to = left < W ? left : W;
    const T* const place = x + offsets.x - before;
    Out* const target = y + offsets.y - before;
    if (to <= from) return;
    Vector<part_t<T>, W> sums{};
    TermWalk<Plain> walk;
    GPUBENCH_NO_UNROLL
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
        combine_items(sums, detail::tree<W, 0, Terms>(raw), Add{});
    }
    add_last<W>(sums, place + shape.reach, source);
    const Vector<accumulator_t<T>, W> totals = convert_items<W, accumulator_t<T>>(sums);
    if (from == 0 && to == W) {
        store_sums(target, Once{}, totals);
    } else {
        GPUBENCH_UNROLL
        for (int j = 0; j < W; ++j) {
            if (j >= from && j < to) store_sum(target + j, Once{}, totals[j]);
        }
    }
}

}  // namespace gpubench::sum
