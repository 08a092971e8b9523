// sum, variant `staged`: tiles of short rows of any length, or of short groups of columns, through shared memory.
//
// Data: x is a flat array of groups of `terms` x `neighbours` elements; an output is one of the neighbours. A block brings a
// tile of whole groups by one bulk copy, wherever it begins; then a few lanes, or one, read each output's terms from shared
// memory, rows by words of 32 bits. Many blocks of an SM take turns, so that one's copy is under way while another sums.
#include "gpubench/movement/bulk_run.cuh"
#include "reduce_sum/terms.cuh"

namespace gpubench::sum {

struct StagedShape {
    Sum sum;
    IntegerDivider neighbours;
    int32 terms;
    int32 tile;                // groups of a tile
    int32 width_bits;          // lanes an output: a power of two
    uint32 outputs;
};
GPUBENCH_LAYOUT(StagedShape, 144, outputs, 136);

// The sum of every `width`-th of the terms at `place`, from `first` on.
template <class T>
GPUBENCH_DEVICE part_t<T> sum_terms(const T* place, int first, int width, int terms, int apart) {
    constexpr int at_once = 4;
    part_t<T> sums[at_once] = {};
    int term = first;
    for (; term + (at_once - 1) * width < terms; term += at_once * width) {
        GPUBENCH_UNROLL
        for (int i = 0; i < at_once; ++i) sums[i] = add(sums[i], convert<part_t<T>>(place[(term + i * width) * apart]));
    }
    GPUBENCH_UNROLL
    for (int i = 0; i < at_once; ++i) {
        if (term + i * width < terms) sums[i] = add(sums[i], convert<part_t<T>>(place[(term + i * width) * apart]));
    }
    return add(add(sums[0], sums[1]), add(sums[2], sums[3]));
}

// A word of 32 bits of a row of so many narrow terms, from item `at` of it on; zero in place of what stands beside the row.
template <class T>
GPUBENCH_DEVICE part_t<T> sum_word(const T* row, int at, int terms) {
    constexpr int V = 4 / static_cast<int>(sizeof(T));
    Packed<T, V> raw[1] = {shared_items<V>(row + at)};
    if (at < 0 || at + V > terms) raw[0] = keep_items(raw[0], -at, terms - at);
    return sum_vectors(raw);
}

// The sum of every `width`-th word of a row.
template <class T>
GPUBENCH_DEVICE part_t<T> sum_row(const T* row, int lane, int width, int terms) {
    if constexpr (sizeof(T) >= 4) {
        return sum_terms(row, lane, width, terms, 1);
    } else {
        constexpr int V = 4 / static_cast<int>(sizeof(T)), at_once = 4;
        part_t<T> sums[at_once] = {};
        const int apart = width * V;
        int at = lane * V - items_before<V>(row);
        for (; at + (at_once - 1) * apart < terms; at += at_once * apart) {
            GPUBENCH_UNROLL
            for (int i = 0; i < at_once; ++i) sums[i] = add(sums[i], sum_word(row, at + i * apart, terms));
        }
        GPUBENCH_NO_UNROLL
        for (; at < terms; at += apart) sums[0] = add(sums[0], sum_word(row, at, terms));
        return add(add(sums[0], sums[1]), add(sums[2], sums[3]));
    }
}

template <class T, class Out>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(256, 4) staged(const T* x, Out* y, const StagedShape shape) {
    GPUBENCH_DYNAMIC_SHARED(char, stage);
    const int apart = static_cast<int>(shape.neighbours.divisor), group = shape.terms * apart;
    const int64 start = int64{block_index_x()} * shape.tile * group;
    const int64 left = shape.sum.extent - start, most = int64{shape.tile} * group;
    const T* const tile = land_run(stage, x + start, x + start + (left < most ? left : most), x + shape.sum.extent, shape.sum.first_out != 0);
    const uint32 first = static_cast<uint32>(block_index_x()) * (shape.tile * apart), own = shape.tile * apart;
    const int width = 1 << shape.width_bits, lane = thread_index_x() & (width - 1);
    for (uint32 base = 0; base < own; base += block_size_x() >> shape.width_bits) {
        const uint32 output = base + (thread_index_x() >> shape.width_bits);
        const bool exists = output < own && first + output < shape.outputs;
        part_t<T> sum{};
        if (exists && apart == 1) {
            sum = sum_row(tile + output * group, lane, width, shape.terms);
        } else if (exists) {
            const auto at = shape.neighbours.divide(output);
            sum = sum_terms(tile + at.quotient * group + at.remainder, lane, width, shape.terms, apart);
        }
        sum = warp_reduce(sum, Add{}, width);
        if (exists && lane == 0) store_sum(y + offsets_of(shape.sum.kept, first + output).y, shape.sum.finish, accumulator_t<T>(sum));
    }
}

}  // namespace gpubench::sum
