// A dim of one place along which the source is dense: each row of the source is added up, and comes to one element. What `combined` does
// where walked.cuh would have its lanes a row apart.
//
// Data: a group of lanes has some rows, and vectors of each side by side. All loads of the first turn are on their way before the block
// looks which indices are inside the dim, a bit each in shared memory, for those are the same for every row. The blocks of a row of the
// grid have a piece of the list; where there is one piece alone, nobody else adds to a row's place.
#pragma once

#include "gpubench/atomics.cuh"
#include "gpubench/axis.cuh"
#include "gpubench/block/together.cuh"
#include "gpubench/movement/row_vectors.cuh"
#include "gpubench/warp.cuh"
#include "index_add/sums.cuh"

namespace gpubench::index_add {

constexpr int one_place_threads = 256;
constexpr uint32 one_place_piece = 1 << 11;  // indices at most, of which a block has bits

// Rows of a group of lanes, and vectors of a row on their way to a lane: 64 bytes of its rows, of small ones less.
template <class T>
constexpr int one_place_rows = sizeof(T) > 8 ? 2 : 4;
template <class T, int V>
constexpr int vectors_at_once = V * sizeof(T) > 8 && sizeof(T) <= 8 ? 1 : V * sizeof(T) > 4 ? 2 : 4;

struct OnePlaceShape {
    uint32 rows;   // positions
    uint32 count;  // indices
    uint32 piece;  // of them, of a row of the grid
    int32 lanes;   // of a group, a power of two
    int64 index_step;
    double alpha;
};
GPUBENCH_LAYOUT(OnePlaceShape, 32, alpha, 24);

// Write down which of a list's indices are inside the dim, by all threads of a block.
template <class Index>
GPUBENCH_DEVICE void write_inside(uint32* inside, const Index* index, uint32 count) {
    constexpr int at_once = 4;
    for (uint32 base = thread_index_x(); base < (count + warp_size - 1) / warp_size * warp_size; base += at_once * one_place_threads) {
        Index listed[at_once];
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) listed[k] = load_if(index + base + k * one_place_threads, base + k * one_place_threads < count);
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) {
            const uint32 i = base + k * one_place_threads;
            const uint32 word = ballot(full_mask, i < count && listed[k] == 0);
            if (lane_index() == 0 && i < count) inside[i / warp_size] = word;
        }
    }
}

// V: elements of a vector, of which a row and a piece have a whole number. Alone: there is one piece.
template <class T, class Index, int V, int Dims, bool Alone>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(one_place_threads, 3)
    add_rows_to_one(T* destination, const T* source, const Index* index, const OnePlaceShape shape, const Axis<Dims> axis) {
    using A = sum_t<T>;
    GPUBENCH_SHARED(uint32, inside, one_place_piece / warp_size);
    constexpr int R = one_place_rows<T>, U = vectors_at_once<T, V>;
    const uint32 lanes = shape.lanes, lane = thread_index_x() & (lanes - 1), groups = warp_size / lanes, apart = lanes * V;
    const uint32 warp = static_cast<uint32>(block_index_x()) * (one_place_threads / warp_size) + thread_index_x() / warp_size;
    const uint32 start = Alone ? 0 : static_cast<uint32>(block_index_y()) * shape.piece;
    const uint32 count = shape.count - start < shape.piece ? shape.count - start : shape.piece;
    bool writes[R];
    T* to[R];
    const T* of[R];
    T old[R];
    GPUBENCH_UNROLL
    for (int r = 0; r < R; ++r) {
        const uint32 row = (warp * R + r) * groups + lane_index() / lanes;
        uint32 at[Dims];
        axis.places(row < shape.rows ? row : shape.rows - 1, at);  // the last row again: not written
        writes[r] = row < shape.rows && lane == (r & (lanes - 1));
        to[r] = destination + axis.offset(at, 0);
        of[r] = source + axis.offset(at, 1) + (start + lane * V) * shape.index_step;
        if constexpr (Alone) old[r] = load_if(to[r], writes[r]);
    }
    const alpha_t<T> alpha = alpha_of<T>(shape.alpha);
    const int64 step = apart * shape.index_step;
    A sums[R] = {};
    Packed<T, V> raw[R][U];
    const auto ask = [&](uint32 first) {
        GPUBENCH_UNROLL
        for (int u = 0; u < U; ++u) {
            GPUBENCH_UNROLL
            for (int r = 0; r < R; ++r) raw[r][u] = vector_if<V>(of[r] + u * step, first + u * apart < count);
        }
    };
    uint32 first = lane * V;
    ask(first);
    exchange([&] { write_inside(inside, index + start, count); }, [] {});
    for (uint32 base = 0; base < count; base += U * apart, first += U * apart) {
        if (base > 0) {
            GPUBENCH_UNROLL
            for (int r = 0; r < R; ++r) of[r] += U * step;
            ask(first);
        }
        GPUBENCH_UNROLL
        for (int u = 0; u < U; ++u) {
            const uint32 i = first + u * apart;
            const uint32 bits = i < count ? inside[i / warp_size] >> (i % warp_size) : 0;  // V divides the bits of a word
            GPUBENCH_UNROLL
            for (int r = 0; r < R; ++r) {
                const auto items = unpack_items<V, A>(raw[r][u]);
                GPUBENCH_UNROLL
                for (int v = 0; v < V; ++v) {
                    const A more = add_scaled<T>(sums[r], items[v], alpha);
                    if ((bits >> v & 1) != 0) sums[r] = more;
                }
            }
        }
    }
    for (uint32 bits = 1; bits < lanes; bits *= 2) {
        GPUBENCH_UNROLL
        for (int r = 0; r < R; ++r) sums[r] = add(sums[r], shuffle_xor(full_mask, sums[r], bits));
    }
    GPUBENCH_UNROLL
    for (int r = 0; r < R; ++r) {
        if (!writes[r]) continue;
        if constexpr (Alone) *to[r] = convert<T>(add(convert<A>(old[r]), sums[r]));
        else atomic_add(to[r], convert<T>(sums[r]));
    }
}

}  // namespace gpubench::index_add
