// What the sums share: terms in a thread's hands, and where outputs lie.
#pragma once

#include "gpubench/arithmetic.cuh"
#include "gpubench/block/reduce.cuh"
#include "gpubench/integer_divider.cuh"
#include "gpubench/movement/source.cuh"

namespace gpubench::sum {

// The type in which a thread adds up terms: 8- and 16-bit integers, up to 65535 of them, in 32 bits by dot products.
template <class T>
using part_t = tile_accumulator_t<T, accumulator_t<T>>;

template <class T>
constexpr bool by_dot_products = is_narrow<T, accumulator_t<T>>;

namespace detail {

// The sums of vectors First to First + Count - 1, item by item, by a tree.
template <int V, int First, int Count, class T, int K>
GPUBENCH_DEVICE Vector<part_t<T>, V> tree(const Packed<T, V> (&raw)[K]) {
    if constexpr (Count == 1) {
        return unpack_items<V, part_t<T>>(raw[First]);
    } else {
        Vector<part_t<T>, V> sums = tree<V, First, Count / 2>(raw);
        combine_items(sums, tree<V, First + Count / 2, Count - Count / 2>(raw), Add{});
        return sums;
    }
}

template <int First, int Count, class A, int V>
GPUBENCH_DEVICE A fold(const Vector<A, V>& items) {
    if constexpr (Count == 1) return items[First];
    else return add(fold<First, Count / 2>(items), fold<First + Count / 2, Count - Count / 2>(items));
}

}  // namespace detail

// A sum for each of the V places of a vector.
template <class T, int V>
struct PlaceSums {
    static constexpr int per_word = 4 / static_cast<int>(sizeof(T)) > 0 ? 4 / static_cast<int>(sizeof(T)) : 1;
    static constexpr bool by_words = by_dot_products<T> && V >= per_word;
    Vector<part_t<T>, V> sums;

    GPUBENCH_DEVICE void clear() { sums = Vector<part_t<T>, V>{}; }
    template <int K>
    GPUBENCH_DEVICE void take(const Packed<T, V> (&raw)[K]) {
        if constexpr (by_words) {
            GPUBENCH_UNROLL
            for (int k = 0; k < K; ++k) {
                GPUBENCH_UNROLL
                for (int j = 0; j < V; ++j) sums[j] = dot_items<T>(raw[k].word(j / per_word), 1u << j % per_word * 8, sums[j]);
            }
        } else {
            combine_items(sums, detail::tree<V, 0, K>(raw), Add{});
        }
    }
};

// The sum of all items of some vectors.
template <class T, int V, int K>
GPUBENCH_DEVICE part_t<T> sum_vectors(const Packed<T, V> (&raw)[K]) {
    if constexpr (by_dot_products<T>) {
        int32 part = 0;
        GPUBENCH_UNROLL
        for (int k = 0; k < K; ++k) {
            GPUBENCH_UNROLL
            for (int w = 0; w < static_cast<int>(sizeof(T)) * V / 4; ++w) part = dot_items<T>(raw[k].word(w), sizeof(T) == 1 ? 0x01010101u : 0x0101u, part);
        }
        return part;
    } else {
        return detail::fold<0, V>(detail::tree<V, 0, K>(raw));
    }
}

// One sum of all items.
template <class T>
struct TotalSum {
    static constexpr int V = vector_terms<T>;
    using A = accumulator_t<T>;
    conditional_t<by_dot_products<T>, int64, Vector<part_t<T>, V>> sums;

    GPUBENCH_DEVICE void clear() { sums = {}; }
    template <int K>
    GPUBENCH_DEVICE void take(const Packed<T, V> (&raw)[K]) {
        if constexpr (by_dot_products<T>) {
            sums = add(sums, int64{sum_vectors(raw)});
        } else {
            combine_items(sums, detail::tree<V, 0, K>(raw), Add{});
        }
    }
    GPUBENCH_DEVICE A total() const {
        if constexpr (by_dot_products<T>) return sums;
        else return detail::fold<0, V>(sums);
    }
};

// Where output number n reads and is written: up to three kept dims, the first one fastest. Step: uint32 where all offsets fit.
template <class Step>
struct Outputs {
    IntegerDivider first, second;      // sizes of the first two kept dims, 1 where there is none
    Step x_steps[3], y_steps[3];       // elements
};
GPUBENCH_LAYOUT(Outputs<long long>, 72, y_steps, 48);
GPUBENCH_LAYOUT(Outputs<unsigned int>, 48, y_steps, 36);

template <class Step>
struct Offsets {
    Step x, y;
};
// Without a look at how many dims there are: a condition around each of a thread's loads keeps them apart. Dims: at most so many,
// which kernels of little know.
template <int Dims = 3, class Step>
GPUBENCH_DEVICE Offsets<Step> offsets_of(const Outputs<Step>& kept, uint32 number) {
    if constexpr (Dims == 1) {
        return {number * kept.x_steps[0], number * kept.y_steps[0]};
    } else {
        const auto a = kept.first.divide(number);
        if constexpr (Dims == 2) {
            return {a.remainder * kept.x_steps[0] + a.quotient * kept.x_steps[1], a.remainder * kept.y_steps[0] + a.quotient * kept.y_steps[1]};
        } else {
            const auto b = kept.second.divide(a.quotient);
            return {a.remainder * kept.x_steps[0] + b.remainder * kept.x_steps[1] + b.quotient * kept.x_steps[2],
                    a.remainder * kept.y_steps[0] + b.remainder * kept.y_steps[1] + b.quotient * kept.y_steps[2]};
        }
    }
}

// What becomes of a sum: it counts `multiple` times (terms that are one element), and is stored `copies` times, `apart`
// elements from each other (outputs whose terms are the same elements).
struct Finish {
    int64 multiple, copies, apart;
};
GPUBENCH_LAYOUT(Finish, 24, apart, 16);

// What every kernel takes.
struct Sum {
    Outputs<int64> kept;
    Finish finish;
    int64 extent;             // elements from x's first to behind its last
    int32 first_out;          // whether the L2 cache gives up x first
};
GPUBENCH_LAYOUT(Sum, 112, first_out, 104);
GPUBENCH_DEVICE const Finish& finish_of(const Sum& sum) { return sum.finish; }

// What kernels of little take, which would wait for scattered parameters and for code: each sum is stored once, as it is, and all
// offsets fit 32 bits.
struct Plain {
    Outputs<uint32> kept;
    int32 extent;
};
GPUBENCH_LAYOUT(Plain, 52, extent, 48);
struct Once {
    static constexpr int64 copies = 1, apart = 0;
};
GPUBENCH_DEVICE Once finish_of(const Plain&) { return {}; }

template <class Out, class A>
GPUBENCH_DEVICE Out finished(Once, A sum) { return convert<Out>(sum); }
template <class Out, class A>
GPUBENCH_DEVICE Out finished(const Finish& finish, A sum) {
    if (finish.multiple != 1) {
        if constexpr (is_complex<A>) {
            const auto count = convert<real_t<A>>(finish.multiple);
            sum = A{sum.real * count, sum.imag * count};
        } else {
            sum = multiply(sum, convert<A>(finish.multiple));
        }
    }
    return convert<Out>(sum);
}

// A sum of thread 0, by the whole block. F: Finish, or Once.
template <class Out, class F, class A>
GPUBENCH_DEVICE void store_sum_by_block(Out* y, const F& finish, A sum) {
    if (finish.copies == 1) {
        if (thread_index_x() == 0) *y = finished<Out>(finish, sum);
        return;
    }
    const Out value = share_first(finished<Out>(finish, sum));
    GPUBENCH_NO_UNROLL
    for (int64 copy = thread_index_x(); copy < finish.copies; copy += block_size_x()) y[copy * finish.apart] = value;
}

// Sums side by side, and one, by one thread. F: Finish, or Once.
template <class Out, class F, int W, class A>
GPUBENCH_DEVICE void store_sums(Out* y, const F& finish, const Vector<A, W>& sums) {
    Vector<Out, W> values;
    GPUBENCH_UNROLL
    for (int j = 0; j < W; ++j) values[j] = finished<Out>(finish, sums[j]);
    GPUBENCH_NO_UNROLL
    for (int64 copy = 0; copy < finish.copies; ++copy) store_vector(y + copy * finish.apart, values);
}
template <class Out, class A>
GPUBENCH_DEVICE void store_sum(Out* y, Once once, A sum) { *y = finished<Out>(once, sum); }
template <class Out, class A>
GPUBENCH_DEVICE void store_sum(Out* y, const Finish& finish, A sum) {
    const Out value = finished<Out>(finish, sum);
    GPUBENCH_NO_UNROLL
    for (int64 copy = 0; copy < finish.copies; ++copy) y[copy * finish.apart] = value;
}

}  // namespace gpubench::sum
