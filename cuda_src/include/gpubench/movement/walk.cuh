// Lines walked by a thread: several rows of a vector of neighbouring lines are under way at a time.
#pragma once

#include "gpubench/items.cuh"

namespace gpubench {

// One turn of Rows rows, x_step and y_step apart: all of them exist, or `left` do. Their running totals go on from `sums`.
template <bool Whole, int Items, int Rows, class T, class Out, class A, class Combine>
GPUBENCH_DEVICE void walk_rows(const T* x, Out* y, long long left, long long x_step, long long y_step, Vector<A, Items>& sums,
                               Combine combine) {
    Packed<T, Items> raw[Rows];
    GPUBENCH_UNROLL
    for (int r = 0; r < Rows; ++r) {
        if (Whole || r < left) raw[r] = load_packed<Items>(x + r * x_step);
    }
    GPUBENCH_UNROLL
    for (int r = 0; r < Rows; ++r) {
        if (!Whole && r >= left) break;
        combine_items(sums, unpack_items<Items, A>(raw[r]), combine);
        store_packed(y + r * y_step, pack_items<Items, Out>(sums));
    }
}

}  // namespace gpubench
