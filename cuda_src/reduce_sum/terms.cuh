// What the sums share: terms in a thread's hands, their loads at any alignment, and where outputs lie.
//
// Memory is read by vectors that stand on 16 bytes, wherever a run of terms begins: of the first and the last vector of a run
// the items that belong to others are set to zero, or their sums are never looked at. Only the vector that reaches beyond
// x's end is read item by item.
#pragma once

#include "gpubench/arithmetic.cuh"
#include "gpubench/integer_divider.cuh"
#include "gpubench/items.cuh"
#include "gpubench/warp.cuh"

namespace gpubench::sum {

// Items of a vector of 16 bytes.
template <class T>
constexpr int vector_terms = 16 / static_cast<int>(sizeof(T));

// The type in which a thread adds up terms: 8- and 16-bit integers, up to 65535 of them, in 32 bits by dot products.
template <class T>
using part_t = tile_accumulator_t<T, accumulator_t<T>>;

template <class T>
constexpr bool by_dot_products = is_narrow<T, accumulator_t<T>>;

// The first bytes of a word of 32 bits: so many, 0 to 4 and beyond.
GPUBENCH_DEVICE uint32 first_bytes(int bytes) { return bytes <= 0 ? 0u : bytes >= 4 ? ~0u : ~0u >> (32 - 8 * bytes); }

// Items `from` to `to` - 1 of a vector, and zero in the place of the others.
template <class T, int V>
GPUBENCH_DEVICE Packed<T, V> keep_items(const Packed<T, V>& packed, int from, int to) {
    constexpr int size = sizeof(T);
    if constexpr (V == 1) {
        return from <= 0 && to >= 1 ? packed : Packed<T, V>{};
    } else {
        static_assert(size * V == 16);
        uint32 words[4];
        GPUBENCH_UNROLL
        for (int w = 0; w < 4; ++w) words[w] = packed.word(w) & first_bytes(to * size - 4 * w) & ~first_bytes(from * size - 4 * w);
        return Packed<T, V>::from(words);
    }
}

// How x is read: whether the L2 cache gives it up first, and where its elements end. Kernels hold code for either, so that
// loads stand side by side: a hint chosen by predicates made 4 million rows of 16 bfloat16 take 55 us in place of 43.
template <class T, bool FirstOut>
struct Source {
    const T* end;

    // The vector at `address`, on its own size; zero, and no access, where it does not exist.
    template <int V>
    GPUBENCH_DEVICE Packed<T, V> load(const T* address, bool exists) const {
        using W = Word<sizeof(T) * V>;
        W word{};
        if (exists) {
            if constexpr (FirstOut) word = load_first_out(reinterpret_cast<const W*>(address));
            else word = load_word(reinterpret_cast<const W*>(address));
        }
        return bit_cast<Packed<T, V>>(word);
    }
    // Whether a vector of which some items exist reaches beyond x.
    template <int V>
    GPUBENCH_DEVICE bool beyond(const T* address) const { return V > 1 && address + V > end; }
    // Such a vector, item by item, zero behind x's end.
    template <int V>
    GPUBENCH_DEVICE Packed<T, V> load_last(const T* address) const {
        Vector<T, V> items{};
        GPUBENCH_UNROLL
        for (int j = 0; j < V; ++j) {
            if (address + j < end) items[j] = address[j];
        }
        return bit_cast<Packed<T, V>>(items);
    }
    // Either of both.
    template <int V>
    GPUBENCH_DEVICE Packed<T, V> load_any(const T* address) const {
        return beyond<V>(address) ? load_last<V>(address) : load<V>(address, true);
    }
};

// Items between the vector boundary at or before `address` and `address`.
template <int V, class T>
GPUBENCH_DEVICE int items_before(const T* address) {
    return static_cast<int>(reinterpret_cast<uint64>(address) / sizeof(T) % V);
}

namespace detail {

// The sums of vectors First to First + Count - 1, item by item, by a tree.
template <int V, int First, int Count, class T, int K>
GPUBENCH_DEVICE Vector<part_t<T>, V> tree(const Packed<T, V> (&raw)[K]) {
    if constexpr (Count == 1) {
        return unpack_items<V, part_t<T>>(raw[First]);
    } else {
        Vector<part_t<T>, V> sums = tree<V, First, Count / 2>(raw);
        const Vector<part_t<T>, V> others = tree<V, First + Count / 2, Count - Count / 2>(raw);
        GPUBENCH_UNROLL
        for (int j = 0; j < V; ++j) sums[j] = add(sums[j], others[j]);
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
            const Vector<part_t<T>, V> all = detail::tree<V, 0, K>(raw);
            GPUBENCH_UNROLL
            for (int j = 0; j < V; ++j) sums[j] = add(sums[j], all[j]);
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
            for (int w = 0; w < 4; ++w) part = dot_items<T>(raw[k].word(w), sizeof(T) == 1 ? 0x01010101u : 0x0101u, part);
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
            const Vector<part_t<T>, V> all = detail::tree<V, 0, K>(raw);
            GPUBENCH_UNROLL
            for (int j = 0; j < V; ++j) sums[j] = add(sums[j], all[j]);
        }
    }
    GPUBENCH_DEVICE A total() const {
        if constexpr (by_dot_products<T>) return sums;
        else return detail::fold<0, V>(sums);
    }
};

// The total over the lanes of each segment of `width` lanes (a power of two), for its first lane.
template <class A>
GPUBENCH_DEVICE A sum_segment(A value, int width) {
    for (int delta = width / 2; delta > 0; delta /= 2) value = add(value, shuffle_down(full_mask, value, delta));
    return value;
}

// The total over the block, for thread 0. All threads of the block call, and there are whole warps of them.
template <class A>
GPUBENCH_DEVICE A sum_block(A value) {
    GPUBENCH_SHARED(A, parts, warp_size);
    const int warps = block_size_x() / warp_size;
    value = sum_segment(value, warp_size);
    if (warps == 1) return value;
    if (lane_index() == 0) parts[thread_index_x() / warp_size] = value;
    block_barrier();
    if (thread_index_x() >= warp_size) return value;
    return sum_segment(lane_index() < warps ? parts[lane_index()] : A{}, warp_size);
}

// Where output number n reads and is written: up to three kept dims, the first one fastest.
struct Kept {
    int64 x_steps[3], y_steps[3];  // elements
    IntegerDivider first, second;  // sizes of the first two dims
    int32 dims, unused;
};
GPUBENCH_LAYOUT(Kept, 80, unused, 76);

struct Offsets {
    int64 x, y;
};
GPUBENCH_DEVICE Offsets offsets_of(const Kept& kept, uint32 number) {
    if (kept.dims <= 1) return {number * kept.x_steps[0], number * kept.y_steps[0]};
    const auto a = kept.first.divide(number);
    if (kept.dims == 2) {
        return {a.remainder * kept.x_steps[0] + a.quotient * kept.x_steps[1], a.remainder * kept.y_steps[0] + a.quotient * kept.y_steps[1]};
    }
    const auto b = kept.second.divide(a.quotient);
    return {a.remainder * kept.x_steps[0] + b.remainder * kept.x_steps[1] + b.quotient * kept.x_steps[2],
            a.remainder * kept.y_steps[0] + b.remainder * kept.y_steps[1] + b.quotient * kept.y_steps[2]};
}

// What becomes of a sum: it counts `multiple` times (terms that are one element), and is stored `copies` times, `apart`
// elements from each other (outputs whose terms are the same elements).
struct Finish {
    int64 multiple, copies, apart;
};
GPUBENCH_LAYOUT(Finish, 24, apart, 16);

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

// A sum of thread 0, by the whole block.
template <class Out, class A>
GPUBENCH_DEVICE void store_sum_by_block(Out* y, const Finish& finish, A sum) {
    if (finish.copies == 1) {
        if (thread_index_x() == 0) *y = finished<Out>(finish, sum);
        return;
    }
    GPUBENCH_SHARED(Out, value, 1);
    if (thread_index_x() == 0) value[0] = finished<Out>(finish, sum);
    block_barrier();
    for (int64 copy = thread_index_x(); copy < finish.copies; copy += block_size_x()) y[copy * finish.apart] = value[0];
}

// By one thread.
template <class Out, class A>
GPUBENCH_DEVICE void store_sum(Out* y, const Finish& finish, A sum) {
    const Out value = finished<Out>(finish, sum);
    for (int64 copy = 0; copy < finish.copies; ++copy) y[copy * finish.apart] = value;
}

}  // namespace gpubench::sum
