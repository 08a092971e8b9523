// The type in which the rows of one place are added up, and alpha in it.
#pragma once

#include "gpubench/arithmetic.cuh"
#include "gpubench/items.cuh"
#include "gpubench/warp.cuh"

namespace gpubench::index_add {

// Sums of integers wrap in any case, so 32 bits do for those of up to 32.
template <class T>
using sum_t = conditional_t<is_integer<T> && sizeof(T) <= 4, int32, accumulator_t<T>>;

template <class T>
using alpha_t = real_t<sum_t<T>>;

template <class T>
GPUBENCH_DEVICE alpha_t<T> alpha_of(double alpha) {
    if constexpr (is_integer<T>) return static_cast<alpha_t<T>>(static_cast<int64>(alpha));
    else return static_cast<alpha_t<T>>(alpha);
}

// sum + alpha * value
template <class T>
GPUBENCH_DEVICE sum_t<T> add_scaled(sum_t<T> sum, sum_t<T> value, alpha_t<T> alpha) {
    if constexpr (is_complex<T>) return {sum.real + alpha * value.real, sum.imag + alpha * value.imag};
    else return add(sum, multiply(alpha, value));
}

template <class T, int V>
GPUBENCH_DEVICE void add_scaled(Vector<sum_t<T>, V>& sums, const Packed<T, V>& raw, alpha_t<T> alpha) {
    const Vector<sum_t<T>, V> values = unpack_items<V, sum_t<T>>(raw);
    GPUBENCH_UNROLL
    for (int j = 0; j < V; ++j) sums[j] = add_scaled<T>(sums[j], values[j], alpha);
}

// `more` comes to a sum, and what all lanes have together comes to each: of an element, or of a row's.
template <class A>
GPUBENCH_DEVICE void add_to(A& sum, const A& more) {
    sum = add(sum, more);
}
template <class A, int V>
GPUBENCH_DEVICE void add_to(Vector<A, V>& sums, const Vector<A, V>& more) {
    combine_items(sums, more, Add{});
}
template <class A>
GPUBENCH_DEVICE A sum_of_lanes(const A& sum) {
    return combine_lanes(sum, Add{});
}
template <class A, int V>
GPUBENCH_DEVICE Vector<A, V> sum_of_lanes(const Vector<A, V>& sums) {
    Vector<A, V> totals;
    GPUBENCH_UNROLL
    for (int j = 0; j < V; ++j) totals[j] = combine_lanes(sums[j], Add{});
    return totals;
}

// A sum comes to an element of the destination: one rounding.
template <class T, int V>
GPUBENCH_DEVICE Packed<T, V> added(const Packed<T, V>& old, const Vector<sum_t<T>, V>& sums) {
    Vector<sum_t<T>, V> values = unpack_items<V, sum_t<T>>(old);
    combine_items(values, sums, Add{});
    return pack_items<V, T>(values);
}

}  // namespace gpubench::index_add
