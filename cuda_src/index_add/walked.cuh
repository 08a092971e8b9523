// Few indices, added as an elementwise operation walks its output: what `combined` does where indices are no more than a thread holds.
//
// Data: a thread owns K vectors of positions (the elements beside the indexed dim), a block's width apart, in the order of the
// destination's memory. All its loads of the source, for every index, are on their way beside the indices themselves; then it reads the
// places that they name, and writes each once. So no additions meet, and none needs atomics. Where another dim is the source's fastest, both
// dims are cut in two, and the near parts counted first: a warp covers a rectangle of whole sectors of both. Where the dim has one place
// any number of indices comes to it: a thread adds up those of a piece of the list, eight on their way, and sends one sum.
#pragma once

#include "gpubench/atomics.cuh"
#include "gpubench/axis.cuh"
#include "gpubench/grid.cuh"
#include "gpubench/movement/row_vectors.cuh"
#include "index_add/sums.cuh"

namespace gpubench::index_add {

constexpr int walked_threads = 256;

struct WalkedShape {
    uint32 items;          // numbers that are counted: vectors, and what rectangles have beyond the dims
    uint32 count;          // indices
    uint32 width, height;  // sizes of the two dims that are cut
    int64 places, place_step, index_step;
    double alpha;
};
GPUBENCH_LAYOUT(WalkedShape, 48, alpha, 40);

// The rows of the destination that the indices name, -1 for one outside.
template <int N, class Index>
GPUBENCH_DEVICE void load_rows(int64 (&rows)[N], const Index* index, const WalkedShape& shape) {
    GPUBENCH_UNROLL
    for (int n = 0; n < N; ++n) {
        rows[n] = n < shape.count ? static_cast<int64>(index[n]) : -1;
        if (rows[n] >= shape.places) rows[n] = -1;
    }
}

// Offsets of number `item` in both operands; false where there is no such position.
template <bool Rectangles, int Dims>
GPUBENCH_DEVICE bool find_item(int64& to, int64& of, uint32 item, const Axis<Dims>& axis, const WalkedShape& shape) {
    uint32 at[Dims];
    axis.places(item, at);
    to = axis.offset(at, 0);
    of = axis.offset(at, 1);
    if (item >= shape.items) return false;
    if constexpr (Rectangles) {
        return at[0] + at[2] * axis.sizes[0].divisor < shape.width && at[1] + at[3] * axis.sizes[1].divisor < shape.height;
    } else {
        return true;
    }
}

// N: at least as many as there are indices.
template <class T, class Index, int V, int N, int K, int Dims, bool Rectangles>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(walked_threads)
    add_walked(T* destination, const T* source, const Index* index, const WalkedShape shape, const Axis<Dims> axis) {
    const uint32 first = static_cast<uint32>(block_index_x()) * block_size_x() * K + thread_index_x();
    int64 rows[N], to[K];
    load_rows(rows, index, shape);
    bool exists[K];
    Packed<T, V> raw[K][N], old[K][N];
    GPUBENCH_UNROLL
    for (int k = 0; k < K; ++k) {
        int64 of;
        exists[k] = find_item<Rectangles>(to[k], of, first + k * block_size_x(), axis, shape);
        GPUBENCH_UNROLL
        for (int n = 0; n < N; ++n) raw[k][n] = row_vector<V, Cache::read_only>(source + of + n * shape.index_step, exists[k] && n < shape.count);
    }
    bool leads[N];  // whether the row is no earlier index's
    GPUBENCH_UNROLL
    for (int n = 0; n < N; ++n) {
        leads[n] = rows[n] >= 0;
        GPUBENCH_UNROLL
        for (int other = 0; other < n; ++other) leads[n] = leads[n] && rows[other] != rows[n];
    }
    GPUBENCH_UNROLL
    for (int k = 0; k < K; ++k) {
        GPUBENCH_UNROLL
        for (int n = 0; n < N; ++n) old[k][n] = row_vector<V>(destination + to[k] + rows[n] * shape.place_step, exists[k] && leads[n]);
    }
    const alpha_t<T> alpha = alpha_of<T>(shape.alpha);
    GPUBENCH_UNROLL
    for (int k = 0; k < K; ++k) {
        GPUBENCH_UNROLL
        for (int n = 0; n < N; ++n) {
            if (!exists[k] || !leads[n]) continue;
            Vector<sum_t<T>, V> sums{};
            GPUBENCH_UNROLL
            for (int other = n; other < N; ++other) {
                if (rows[other] == rows[n]) add_scaled<T, V>(sums, raw[k][other], alpha);
            }
            T* const place = destination + to[k] + rows[n] * shape.place_step;
            store_packed(place, added(old[k][n], sums));
        }
    }
}

// A dim of one place: the source added up along the indices that are inside it. The blocks of a row of the grid have a piece of the
// list, `piece` indices; where there is one piece alone, nobody else adds to a thread's place.
template <class T, class Index, int V, int Dims, bool Rectangles>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(walked_threads, 4)
    add_to_one(T* destination, const T* source, const Index* index, uint32 piece, const WalkedShape shape, const Axis<Dims> axis) {
    constexpr int at_once = 8;
    int64 to, of;
    const bool exists = find_item<Rectangles>(to, of, static_cast<uint32>(block_index_x()) * block_size_x() + thread_index_x(), axis, shape);
    const bool alone = piece >= shape.count;
    const uint32 start = static_cast<uint32>(block_index_y()) * piece, stop = shape.count - start < piece ? shape.count : start + piece;
    const Packed<T, V> old = row_vector<V>(destination + to, exists && alone);
    const alpha_t<T> alpha = alpha_of<T>(shape.alpha);
    Vector<sum_t<T>, V> sums{};
    for (uint32 base = start; base < stop; base += at_once) {
        Index rows[at_once];
        Packed<T, V> raw[at_once];
        GPUBENCH_UNROLL
        for (int u = 0; u < at_once; ++u) {
            rows[u] = load_if(index + base + u, base + u < stop);
            raw[u] = vector_if<V>(source + of + (base + u) * shape.index_step, exists && base + u < stop);
        }
        GPUBENCH_UNROLL
        for (int u = 0; u < at_once; ++u) {
            const bool inside = base + u < stop && rows[u] == 0;
            add_scaled<T, V>(sums, inside ? raw[u] : Packed<T, V>{}, alpha);  // no branch, behind which a load would wait
        }
    }
    if (!exists) return;
    if (alone) store_packed(destination + to, added(old, sums));
    else atomic_add_vector(destination + to, pack_items<V, T>(sums));
}

}  // namespace gpubench::index_add
