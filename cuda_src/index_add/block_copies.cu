// index_add, variant `block_copies`: a block keeps sums of all places, or of a segment of them, in shared memory.
//
// Data: the elements of one repetition of the list (a row, where the indexed dim is the last one) come to a block side by side, eight
// of each thread on their way, and are added to the block's sums by atomics of shared memory. Then the block adds the sums that
// are not zero to the destination, side by side again, and clears them. Where places are more than fit, the list is first sorted by
// segments of them, and the block takes one segment after the other; where repetitions are few, several blocks share one and add by
// atomics. Indices that many repetitions read are first written as 32 bits. Floats are added in any order.
#include "gpubench/atomics.cuh"
#include "gpubench/grid.cuh"
#include "gpubench/integer_divider.cuh"
#include "gpubench/vector.cuh"
#include "index_add/pairs.cuh"
#include "index_add/sums.cuh"

namespace gpubench::index_add {

template <class T>
constexpr int copy_items = sizeof(T) == 16 ? 2 : 8;  // on their way to a thread; 64 registers

struct BlockCopiesShape {
    IntegerDivider inner;  // elements of a row
    uint32 items;          // elements of one repetition of the source
    uint32 range;          // of them, a block's
    uint32 elements;       // of one repetition of the destination
    uint32 segment;        // of them, in shared memory
    uint32 words;          // of the sort's meetings, to be cleared
    int32 parts;           // blocks that share a repetition
    int32 units;           // repetitions times parts
    int64 places;
    int64 place_step, index_step;  // elements between rows of the destination, of the source
    int64 outer_place, outer_index;
    double alpha;
};
GPUBENCH_LAYOUT(BlockCopiesShape, 88, alpha, 80);

// Indices in 32 bits; -1 for those outside the dim.
template <class Index>
GPUBENCH_KERNEL void narrow_indices(const Index* index, int32* narrow, long long count, long long places) {
    for (int64 i = grid_thread(); i < count; i += grid_threads()) {
        const int64 row = static_cast<int64>(index[i]);
        narrow[i] = row < 0 || row >= places ? -1 : static_cast<int32>(row);
    }
}

// An index, and where its row of the source stands; as the list has it, or sorted.
template <class Index>
struct List {
    const Index* index;
    GPUBENCH_DEVICE int64 row(uint32 i) const { return static_cast<int64>(index[i]); }
    GPUBENCH_DEVICE int64 position(uint32 i) const { return i; }
};
template <>
struct List<Pair> {
    const Pair* pairs;
    GPUBENCH_DEVICE int64 row(uint32 i) const { return row_of(pairs[i]); }
    GPUBENCH_DEVICE int64 position(uint32 i) const { return position_of(pairs[i]); }
};

// Add the elements from `start` on to the sums of the places from `first` on.
template <class T, class Index>
GPUBENCH_DEVICE void add_to_segment(sum_t<T>* sums, const T* source, const List<Index>& list, uint32 start, uint32 stop, uint32 first,
                                    const BlockCopiesShape& shape) {
    const alpha_t<T> alpha = alpha_of<T>(shape.alpha);
    for (uint32 base = start + thread_index_x(); base < stop; base += block_size_x() * copy_items<T>) {
        uint32 places[copy_items<T>];
        T raw[copy_items<T>];
        GPUBENCH_UNROLL
        for (int k = 0; k < copy_items<T>; ++k) {
            const uint32 item = base + k * block_size_x();
            places[k] = shape.segment;
            raw[k] = T{};
            if (item >= stop) continue;
            const auto at = shape.inner.divide(item);
            const int64 row = list.row(at.quotient);
            raw[k] = load<Cache::read_only>(source + list.position(at.quotient) * shape.index_step + at.remainder);
            if (row >= 0 && row < shape.places) places[k] = static_cast<uint32>(row) * shape.inner.divisor + at.remainder - first;
        }
        GPUBENCH_UNROLL
        for (int k = 0; k < copy_items<T>; ++k) {
            if (places[k] < shape.segment) atomic_add(sums + places[k], add_scaled<T>(sum_t<T>{}, convert<sum_t<T>>(raw[k]), alpha));
        }
    }
}

template <class A>
GPUBENCH_DEVICE bool is_zero(A value) {
    if constexpr (is_complex<A>) return value.real == 0 && value.imag == 0;
    else return value == A{};
}

// Add the sums to the destination's elements from `first` on, and clear them.
template <class T>
GPUBENCH_DEVICE void flush_segment(sum_t<T>* sums, T* destination, uint32 first, const BlockCopiesShape& shape) {
    using A = sum_t<T>;
    constexpr int at_once = sizeof(T) == 16 ? 2 : 8;
    const uint32 count = shape.elements - first < shape.segment ? shape.elements - first : shape.segment;
    for (uint32 base = thread_index_x(); base < count; base += block_size_x() * at_once) {
        A added[at_once];
        T old[at_once];
        const auto target = [&](int k) {
            const auto at = shape.inner.divide(first + base + k * block_size_x());
            return destination + at.quotient * shape.place_step + at.remainder;
        };
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) {
            const uint32 i = base + k * block_size_x();
            added[k] = i < count ? sums[i] : A{};
            if (is_zero(added[k])) continue;
            sums[i] = A{};
            if (shape.parts == 1) old[k] = *target(k);
        }
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) {
            if (is_zero(added[k])) continue;
            if (shape.parts == 1) *target(k) = convert<T>(add(convert<A>(old[k]), added[k]));
            else atomic_add(target(k), convert<T>(added[k]));
        }
    }
}

// list: of indices, or of pairs with totals: pairs of each segment.
template <class T, class Index>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(1024)
    add_by_copies(T* destination, const T* source, const Index* list, const uint32* totals, uint64* meetings, const BlockCopiesShape shape) {
    GPUBENCH_DYNAMIC_SHARED(sum_t<T>, sums);
    if (grid_thread() < shape.words) meetings[grid_thread()] = 0;
    for (uint32 i = thread_index_x(); i < shape.segment; i += block_size_x()) sums[i] = sum_t<T>{};
    block_barrier();
    for (int unit = block_index_x(); unit < shape.units; unit += grid_size_x()) {
        const int outer = unit / shape.parts, part = unit - outer * shape.parts;
        uint32 items = shape.items, range = shape.range, begin = 0;
        for (uint32 first = 0; first < shape.elements; first += shape.segment) {
            if constexpr (is_same<Index, Pair>) {
                items = totals[first / shape.segment] * shape.inner.divisor;
                range = (items + shape.parts - 1) / shape.parts;
            }
            const uint32 start = begin + (part * range < items ? part * range : items);
            const uint32 stop = begin + items - start < range ? begin + items : start + range;
            add_to_segment(sums, source + outer * shape.outer_index, List<Index>{list}, start, stop, first, shape);
            block_barrier();
            flush_segment(sums, destination + outer * shape.outer_place, first, shape);
            block_barrier();
            if constexpr (is_same<Index, Pair>) begin += items;
        }
    }
}

}  // namespace gpubench::index_add
