// What the walks over several operands share: how an operand lies beside the output, its loads, and the function of vectors.
//
// A vector is at most the elements that are 16 bytes of the widest dtype; of the others it has fewer bytes. Vectors of the output stand on
// their own size, those of operands where they can (movement/coming.cuh).
#pragma once

#include "gpubench/axis.cuh"
#include "gpubench/functions.cuh"
#include "gpubench/items.cuh"
#include "gpubench/movement/coming.cuh"

namespace gpubench::elementwise {

// How an operand lies beside the output, whose elements are side by side.
enum Lie {
    on_grid,       // as the output, each vector on its own size
    off_grid,      // as the output, at any alignment
    row,           // side by side along the fastest dim only, each vector on its own size; `tiles`: the same in every row
    row_off_grid,  // the same at any alignment
    still,         // one element along the fastest dim
    same,          // one element for all: `flat`
    repeating,     // short rows that do not end with vectors, the same one again and again: `flat`
    apart,         // a distance apart along it
    plaited,       // side by side along the second dim, the fastest being a few such runs: `flat`
    braided,       // side by side across the output's few rows, which lie one after the other: all rows are one run
    turned,        // side by side across the output's rows, each vector on its own size
    turned_off_grid,  // the same at any alignment
    turned_apart,  // a distance apart across them
};

template <class T, Lie L>
struct In {
    using Type = T;
    static constexpr Lie lie = L;
};

// Elements of a vector.
template <class... T>
GPUBENCH_DEVICE constexpr int vector_of() {
    int widest = 1;
    ((widest = widest > static_cast<int>(sizeof(T)) ? widest : static_cast<int>(sizeof(T))), ...);
    return 16 / widest;
}

template <int V, class T>
GPUBENCH_DEVICE Packed<T, V> repeated(T item) {
    Vector<T, V> items;
    GPUBENCH_UNROLL
    for (int j = 0; j < V; ++j) items[j] = item;
    return bit_cast<Packed<T, V>>(items);
}

// What a thread holds of operands and results of work in C.
template <class C>
using held_t = conditional_t<is_same<C, Rough>, float, C>;

// The function of vectors, worked out in C and rounded once to Out. Vectors are single elements where the output is little.
template <class F, class C, class Out, int V, class A, class... Items>
GPUBENCH_DEVICE Packed<Out, V> results(A p0, A p1, const Items&... operands) {
    using Function = conditional_t<V == 1 && is_same<F, functions::where>, functions::where_at_once, F>;
    Vector<A, V> found;
    GPUBENCH_UNROLL
    for (int j = 0; j < V; ++j) {
        if constexpr (is_same<C, Rough>) found[j] = Function{}(Rough(operands[j])..., Rough(p0), Rough(p1)).value;
        else found[j] = Function{}(operands[j]..., p0, p1);
    }
    return pack_items<V, Out>(found);
}

// The operands of a kernel, one behind the other. Held<G, I, Number>: what a thread has of one of them.
template <template <class, class, int> class Held, class G, int Number, class... Ins>
struct Operands {};
template <template <class, class, int> class Held, class G, int Number, class I, class... Rest>
struct Operands<Held, G, Number, I, Rest...> {
    Held<G, I, Number> first;
    Operands<Held, G, Number + 1, Rest...> rest;
};

// The function of vector k of all operands.
template <class F, class C, class Out, int V, class A, template <class, class, int> class Held, class G, int Number, class... Items>
GPUBENCH_DEVICE Packed<Out, V> work(const Operands<Held, G, Number>&, int, A p0, A p1, const Items&... items) {
    return results<F, C, Out, V>(p0, p1, items...);
}
template <class F, class C, class Out, int V, class A, template <class, class, int> class Held, class G, int Number, class I,
          class... Rest, class... Items>
GPUBENCH_DEVICE Packed<Out, V> work(const Operands<Held, G, Number, I, Rest...>& operands, int k, A p0, A p1, const Items&... items) {
    return work<F, C, Out, V>(operands.rest, k, p0, p1, items..., unpack_items<V, A>(operands.first.get(k)));
}

}  // namespace gpubench::elementwise
