// Sums side by side: of a few columns beside each other an item is a side, an element of each, which add up by themselves.
//
//     a vector:  |a0 b0 a1 b1|   two columns a and b: two items of type Sides<A, 2>
//
// So a row of columns is scanned as any row is: what combines items by Add{} and moves them by shuffles takes sides, too.
#pragma once

#include "gpubench/arithmetic.cuh"
#include "gpubench/items.cuh"
#include "gpubench/warp.cuh"

namespace gpubench {

template <class A, int S>
struct alignas(detail::vector_alignment(sizeof(A) * S)) Sides {
    A values[S];
};

// An item of S columns: of one it is the element itself.
template <class A, int S>
using sides_t = conditional_t<S == 1, A, Sides<A, S>>;

template <class A, int S>
GPUBENCH_DEVICE Sides<A, S> operator+(Sides<A, S> a, const Sides<A, S>& b) {
    GPUBENCH_UNROLL
    for (int s = 0; s < S; ++s) a.values[s] = add(a.values[s], b.values[s]);
    return a;
}

// Column by column: sides may be wider than what one shuffle moves, and their scans take a tenth less code than in step.
template <class A, int S>
GPUBENCH_DEVICE Sides<A, S> shuffle(uint32 mask, Sides<A, S> side, int lane, int width = warp_size) {
    GPUBENCH_UNROLL
    for (int s = 0; s < S; ++s) side.values[s] = shuffle(mask, side.values[s], lane, width);
    return side;
}
template <class A, int S>
GPUBENCH_DEVICE Sides<A, S> shuffle_up(uint32 mask, Sides<A, S> side, int delta, int width = warp_size) {
    GPUBENCH_UNROLL
    for (int s = 0; s < S; ++s) side.values[s] = shuffle_up(mask, side.values[s], delta, width);
    return side;
}

template <class A, int S, class Combine>
GPUBENCH_DEVICE Sides<A, S> scan_lanes(Sides<A, S> side, Combine combine, int width = warp_size) {
    GPUBENCH_UNROLL
    for (int s = 0; s < S; ++s) side.values[s] = scan_lanes(side.values[s], combine, width);
    return side;
}
template <class A, int S, class Combine>
GPUBENCH_DEVICE Sides<A, S> before_lane(Sides<A, S> upto, Sides<A, S>& run, Combine combine) {
    GPUBENCH_UNROLL
    for (int s = 0; s < S; ++s) upto.values[s] = before_lane(upto.values[s], run.values[s], combine);
    return upto;
}

template <class A, int S, class Combine>
GPUBENCH_DEVICE Sides<A, S> combine_lanes(Sides<A, S> side, Combine combine) {
    GPUBENCH_UNROLL
    for (int s = 0; s < S; ++s) side.values[s] = combine_lanes(side.values[s], combine);
    return side;
}

// The elements of a vector as items, S columns each, and back.
template <class A, int S, int V, class T>
GPUBENCH_DEVICE Vector<sides_t<A, S>, V / S> unpack_sides(const Packed<T, V>& packed) {
    if constexpr (S == 1) return unpack_items<V, A>(packed);
    else return bit_cast<Vector<Sides<A, S>, V / S>>(unpack_items<V, A>(packed));
}
template <class A, int V>
GPUBENCH_DEVICE const Vector<A, V>& in_elements(const Vector<A, V>& items) {
    return items;
}
template <class A, int S, int N>
GPUBENCH_DEVICE Vector<A, S * N> in_elements(const Vector<Sides<A, S>, N>& items) {
    return bit_cast<Vector<A, S * N>>(items);
}

}  // namespace gpubench
