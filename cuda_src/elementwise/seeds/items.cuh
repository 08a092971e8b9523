// What the kernels of 128 threads share: several elements of each operand in a thread's registers.
#pragma once

#include "gpubench/functions.cuh"
#include "gpubench/vector.cuh"

namespace gpubench::elementwise {

constexpr int threads = 128;  // of every block of these kernels, as in the original

template <class T, int N>
struct Items {
    T values[N];
};

// Striped: item i of a thread lies i * 128 elements after its first, so that a warp reads 32 neighbours at once.
// `remaining`: the elements of the operand from the tile's start; places beyond are left zero.
template <int N, class T>
GPUBENCH_DEVICE Items<T, N> load_striped(const T* tile, int remaining) {
    Items<T, N> items{};
    GPUBENCH_UNROLL
    for (int i = 0; i < N; ++i) {
        const int place = thread_index_x() + i * threads;
        if (place < remaining) items.values[i] = tile[place];
    }
    return items;
}

template <int N, class T>
GPUBENCH_DEVICE void store_striped(T* tile, int remaining, const Items<T, N>& items) {
    GPUBENCH_UNROLL
    for (int i = 0; i < N; ++i) {
        const int place = thread_index_x() + i * threads;
        if (place < remaining) tile[place] = items.values[i];
    }
}

// Striped by vectors of Width elements: a warp reads 32 neighbouring vectors at once. The tile is whole and aligned to
// the vector.
template <int Width, int N, class T>
GPUBENCH_DEVICE Items<T, N> load_vectors(const T* tile) {
    Items<T, N> items;
    GPUBENCH_UNROLL
    for (int i = 0; i < N / Width; ++i) {
        const Vector<T, Width> vector = load_vector<Width>(tile + (thread_index_x() + i * threads) * Width);
        GPUBENCH_UNROLL
        for (int j = 0; j < Width; ++j) items.values[i * Width + j] = vector[j];
    }
    return items;
}

template <int Width, int N, class T>
GPUBENCH_DEVICE void store_vectors(T* tile, const Items<T, N>& items) {
    GPUBENCH_UNROLL
    for (int i = 0; i < N / Width; ++i) {
        Vector<T, Width> vector;
        GPUBENCH_UNROLL
        for (int j = 0; j < Width; ++j) vector[j] = items.values[i * Width + j];
        store_vector(tile + (thread_index_x() + i * threads) * Width, vector);
    }
}

// The function of one element's operands.
template <class F, class C, int Arity>
GPUBENCH_DEVICE C call(const C (&operands)[Arity], C p0, C p1) {
    static_assert(Arity >= 1 && Arity <= 3, "functions take one to three operands");
    if constexpr (Arity == 1) return F{}(operands[0], p0, p1);
    else if constexpr (Arity == 2) return F{}(operands[0], operands[1], p0, p1);
    else return F{}(operands[0], operands[1], operands[2], p0, p1);
}

// The function of every item, worked out in C and rounded once to Out.
template <class F, class C, class Out, int N, class... In>
GPUBENCH_DEVICE Items<Out, N> work_items(C p0, C p1, const Items<In, N>&... operands) {
    Items<Out, N> results;
    GPUBENCH_UNROLL
    for (int i = 0; i < N; ++i) {
        results.values[i] = convert<Out>(F{}(convert<C>(operands.values[i])..., p0, p1));
    }
    return results;
}

// A tile that may end early: scalar accesses with a check each, all loads before all stores.
template <class F, class C, int N, class Out, class... In>
GPUBENCH_DEVICE void work_tile_unrolled(int remaining, C p0, C p1, Out* y, const In*... inputs) {
    store_striped(y, remaining, work_items<F, C, Out, N>(p0, p1, load_striped<N>(inputs, remaining)...));
}

}  // namespace gpubench::elementwise
