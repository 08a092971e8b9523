// An element, or a vector, of the source a thread, sent to its place by an atomic: kernels of combined.cu where rows are short, or lie
// anywhere.
//
// Data: `add_single` knows nothing but the pointers and three numbers, for each further word of parameters costs a launch of a few
// elements time. `add_scattered`: of any layout; the index is asked for at the same time: where there is little work. In both, lanes
// add up what much of the list brings to one place before; of many single elements blocks do (`BlockSums`). `add_turned`,
// `add_turned_to_places`: squares of operands that lie turned, through shared memory, where what several indices bring to one place is
// added up, too.
#pragma once

#include "gpubench/atomics.cuh"
#include "gpubench/axis.cuh"
#include "gpubench/block/together.cuh"
#include "gpubench/grid.cuh"
#include "gpubench/integer_divider.cuh"
#include "gpubench/movement/row_vectors.cuh"
#include "gpubench/warp.cuh"
#include "index_add/shared_places.cuh"
#include "index_add/sums.cuh"

namespace gpubench::index_add {

constexpr int combined_threads = 256;

template <class T, int V>
GPUBENCH_DEVICE void send(T* destination, const Vector<sum_t<T>, V>& sums) {
    atomic_add_vector(destination, pack_items<V, T>(sums));
}

// Who looks for others with a lane's place: nobody, a warp where neighbours betray one that much of the list shares, or a block.
enum class Looking { nobody, warp, block };

// A block's sums of places that come again: one for each thread, found by a hash of the place. What a warp has of a place is added up
// first; if that was several lanes', the place claims its sum, to which other warps add then. So an address gets an atomic a block.
template <class T>
struct BlockSums {
    using A = sum_t<T>;
    static constexpr int claiming = 2, hash_shift = 24;  // lanes that have one place; to as many sums as a block has threads
    static_assert(combined_threads == 1 << (32 - hash_shift));
    uint32* rows;
    A* totals;

    GPUBENCH_DEVICE void clear() const {
        together<combined_threads>(combined_threads, [&](int i) {
            rows[i] = no_row;
            totals[i] = A{};
        });
    }
    // Neighbours alone, as in lists in order, whose places no other warp has, claim nothing unless they are a whole warp.
    GPUBENCH_DEVICE static bool is_claimed(uint32 equal) {
        const bool run = ((equal + (equal & (0u - equal))) & equal) == 0;
        return population_count(equal) >= claiming && (!run || equal == full_mask);
    }
    GPUBENCH_DEVICE void send(T* destination, uint32 row, bool inside, Vector<A, 1>& sums) const {
        const uint32 equal = match_any(full_mask, inside ? row : no_row);
        const bool leads = add_up_lanes(equal, inside, sums), claims = leads && is_claimed(equal);
        if (leads) {
            const uint32 slot = hash_of(row) >> hash_shift;
            uint32 seen = load_shared(rows + slot);
            if (claims && seen == no_row) {
                seen = compare_exchange(rows + slot, no_row, row);
                if (seen == no_row) seen = row;
            }
            if (seen == row) atomic_add(totals + slot, sums[0]);
            else index_add::send<T, 1>(destination + row, sums);
        }
        if (!any_thread(claims)) return;
        const int i = thread_index_x();
        if (rows[i] != no_row) index_add::send<T, 1>(destination + rows[i], Vector<A, 1>{totals[i]});
    }
};

// Single elements without gaps, one a thread.
template <class T, class Index, Looking looking>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(combined_threads)
    add_single(T* destination, const T* source, const Index* index, uint32 count, uint32 places, alpha_t<T> alpha) {
    const uint32 at = static_cast<uint32>(block_index_x()) * block_size_x() + thread_index_x();
    const bool exists = at < count;
    const int64 row = load_if(index + at, exists);
    const Packed<T, 1> raw = vector_if<1>(source + at, exists);
    constexpr uint32 sector = 32 / sizeof(T);  // places of what the threads ask for together, where the list is long enough for it
    constexpr bool asks = looking != Looking::nobody && sizeof(T) <= 4;
    if (asks && at < places / sector && places / 2 <= count) prefetch(destination + at * sector);
    const auto inside = [&] { return exists && row >= 0 && row < places; };
    Vector<sum_t<T>, 1> sums{};
    if constexpr (looking == Looking::block) {
        GPUBENCH_SHARED(uint32, rows, combined_threads);
        GPUBENCH_SHARED(sum_t<T>, totals, combined_threads);
        const BlockSums<T> of_block{rows, totals};
        of_block.clear();  // while what is asked for is on its way
        add_scaled<T, 1>(sums, raw, alpha);
        of_block.send(destination, static_cast<uint32>(row), inside(), sums);
    } else {
        add_scaled<T, 1>(sums, raw, alpha);
        constexpr bool looks = looking == Looking::warp;
        if (looks ? add_up_shared(inside() ? static_cast<int32>(row) : -1, sums, 1) : inside()) send<T, 1>(destination + row, sums);
    }
}

struct ScatteredShape {
    IntegerDivider squares;  // along the indices; of `add_turned`
    uint32 apart;            // vectors before the next index
    uint32 items;            // vectors of all; of `add_turned` elements of one index
    uint32 count;            // indices
    int64 places, place_step, index_step;
};
GPUBENCH_LAYOUT(ScatteredShape, 48, index_step, 40);

// Vectors or single elements of any layout, one a thread, in the order of the destination's memory: the indexed dim is one of the axis,
// whose tensor 2 counts the indices. Alone: lanes look for no others with their place, and offsets fit 32 bits.
template <class T, class Index, int V, int Dims, bool Alone>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(combined_threads)
    add_scattered(T* destination, const T* source, const Index* index, const ScatteredShape shape, const alpha_t<T> alpha,
                  const Axis<Dims, conditional_t<Alone, uint32, int64>> axis) {
    using Offset = conditional_t<Alone, uint32, int64>;
    const uint32 item = static_cast<uint32>(block_index_x()) * block_size_x() + thread_index_x();
    uint32 at[Dims];
    axis.places(item, at);
    const bool exists = item < shape.items;
    const int64 row = load_if(index + axis.offset(at, 2), exists);
    const Packed<T, V> raw = vector_if<V>(source + axis.offset(at, 1), exists);
    const bool inside = exists && row >= 0 && row < shape.places;
    const Offset place = static_cast<Offset>(row) * static_cast<Offset>(shape.place_step) + axis.offset(at, 0);
    Vector<sum_t<T>, V> sums{};
    add_scaled<T, V>(sums, raw, alpha);
    if (Alone ? inside : add_up_shared(inside ? int64{place} : -1, sums, shape.apart)) send<T, V>(destination + place, sums);
}

constexpr int turned_width = 32;  // indices of a block, and elements of each
constexpr int turned_rows = turned_width * warp_size / combined_threads;  // of a thread

// A block's square of indices and elements, and what a thread has of it: a place of one side, and `turned_rows` of the other.
struct TurnedSquare {
    uint32 first, element;  // index, and element of each
    uint32 lane, own;

    GPUBENCH_DEVICE bool has_index(const ScatteredShape& shape) const { return first + lane < shape.count; }
};

GPUBENCH_DEVICE TurnedSquare own_square(const ScatteredShape& shape) {
    const auto at = shape.squares.divide(static_cast<uint32>(block_index_x()));
    return {at.remainder * turned_width, at.quotient * turned_width, static_cast<uint32>(lane_index()),
            static_cast<uint32>(thread_index_x() / warp_size * turned_rows)};
}

template <class T>
constexpr int terms_at_once = sizeof(T) > 4 ? 2 : 4;  // on their way to a lane: more would take registers that are wanted for blocks

// Add the terms whose bits are set.
template <class T>
GPUBENCH_DEVICE void add_members(sum_t<T>& sum, const T* terms, uint32 members, alpha_t<T> alpha) {
    while (members != 0) {
        T some[terms_at_once<T>];
        bool exist[terms_at_once<T>];
        GPUBENCH_UNROLL
        for (int i = 0; i < terms_at_once<T>; ++i) {
            exist[i] = members != 0;
            some[i] = exist[i] ? terms[count_trailing_zeros(members)] : T{};
            members &= members - 1;
        }
        GPUBENCH_UNROLL
        for (int i = 0; i < terms_at_once<T>; ++i) {
            if (exist[i]) sum = add_scaled<T>(sum, convert<sum_t<T>>(some[i]), alpha);
        }
    }
}

// The same where indices stand fastest in one operand and elements in the other: a square turns in shared memory, so that
// both are met side by side. A warp has four of the square's indices; what others of the square bring to the same place is added up by
// the warp of the first one. The axis has the other dims.
template <class T, class Index, int Dims>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(combined_threads)
    add_turned(T* destination, const T* source, const Index* index, const ScatteredShape shape, const alpha_t<T> alpha,
               const Axis<Dims> axis) {
    GPUBENCH_SHARED(T, square, turned_width * (turned_width + 1));
    const TurnedSquare at = own_square(shape);
    const bool exists = at.has_index(shape);
    const int64 row = load_if(index + at.first + at.lane, exists);
    const auto bring = [&] {
        GPUBENCH_UNROLL
        for (int k = 0; k < turned_rows; ++k) {
            if (at.element + at.own + k >= shape.items || !exists) continue;
            square[(at.own + k) * (turned_width + 1) + at.lane] =
                load<Cache::read_only>(source + (at.first + at.lane) * shape.index_step + axis.offset(at.element + at.own + k, 1));
        }
    };
    const T* const terms = square + at.lane * (turned_width + 1);  // the lane's element of each index
    exchange(bring, [&] {
        const bool inside = exists && row >= 0 && row < shape.places;
        const uint32 mine = inside ? static_cast<uint32>(row) : no_row, equal = match_any(full_mask, mine);
        const uint32 first = ballot(full_mask, inside && count_trailing_zeros(equal) == at.lane) >> at.own;
        const bool own = at.element + at.lane < shape.items;
        Vector<sum_t<T>, turned_rows> sums{};
        GPUBENCH_UNROLL
        for (int k = 0; k < turned_rows; ++k) {
            if (own && (first >> k & 1) != 0) sums[k] = add_scaled<T>(sums[k], convert<sum_t<T>>(terms[at.own + k]), alpha);
        }
        GPUBENCH_UNROLL
        for (int k = 0; k < turned_rows; ++k) {
            const uint32 place = shuffle(full_mask, mine, at.own + k), members = shuffle(full_mask, equal, at.own + k);
            if (!own || (first >> k & 1) == 0) continue;
            const uint32 others = members & (members - 1);
            if (others != 0) add_members<T>(sums[k], terms, others, alpha);
            send<T, 1>(destination + axis.offset(at.element + at.lane, 0) + place * shape.place_step, Vector<sum_t<T>, 1>{sums[k]});
        }
    });
}

// The same where indices stand fastest in the destination: a lane has an index, and elements of its warp, so that what a warp sends of an
// element to neighbouring places is few sectors, and what lanes have of one place is added up before.
template <class T, class Index, int Dims>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(combined_threads)
    add_turned_to_places(T* destination, const T* source, const Index* index, const ScatteredShape shape, const alpha_t<T> alpha,
                         const Axis<Dims> axis) {
    GPUBENCH_SHARED(T, square, turned_width * (turned_width + 1));
    const TurnedSquare at = own_square(shape);
    const int64 row = load_if(index + at.first + at.lane, at.has_index(shape));
    const bool inside = at.has_index(shape) && row >= 0 && row < shape.places;
    const auto bring = [&] {
        const bool exists = at.element + at.lane < shape.items;
        const int64 of = axis.offset(at.element + at.lane, 1);
        T raw[turned_rows];
        GPUBENCH_UNROLL
        for (int k = 0; k < turned_rows; ++k) {
            const uint32 i = at.first + at.own + k;
            raw[k] = load_if(source + of + i * shape.index_step, exists && i < shape.count);
        }
        GPUBENCH_UNROLL
        for (int k = 0; k < turned_rows; ++k) square[(at.own + k) * (turned_width + 1) + at.lane] = raw[k];
    };
    exchange(bring, [&] {
        if (at.element + at.own >= shape.items) return;
        Vector<sum_t<T>, turned_rows> sums{};
        GPUBENCH_UNROLL
        for (int k = 0; k < turned_rows; ++k) {
            sums[k] = add_scaled<T>(sums[k], convert<sum_t<T>>(square[at.lane * (turned_width + 1) + at.own + k]), alpha);
        }
        if (!add_up_equal(static_cast<uint32>(row), inside, sums)) return;
        GPUBENCH_UNROLL
        for (int k = 0; k < turned_rows; ++k) {
            if (at.element + at.own + k >= shape.items) continue;
            send<T, 1>(destination + axis.offset(at.element + at.own + k, 0) + row * shape.place_step, Vector<sum_t<T>, 1>{sums[k]});
        }
    });
}

}  // namespace gpubench::index_add
