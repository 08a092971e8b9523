// index_add, variant `gathered`: one list for many repetitions of single elements, as along the last dim; a repetition's source waits in
// shared memory, and every place gathers what comes to it.
//
// Data: the list is sorted once (sort_indices.cu). A block brings a repetition's elements into shared memory by copies in the
// background, as many as fit. Its warps take neighbouring parts of the sorted pairs, 128 at once, four neighbours a lane: all
// elements that the pairs name are on their way at the same time, and so is what the places hold whose runs end there. A lane adds up its
// own, and a segmented scan of the warp joins what goes on in the next lane. Slots in shared memory bring the sums side by side
// to their places, each of which is written once. Runs that lie over several warps are joined behind a barrier. No atomics; the
// order of every addition follows from the indices alone, and so do the steps: no list is a bad one.
//
// Design: segmented sums as in merge-based products of sparse matrices (Merrill and Garland, 2016), here one matrix for many vectors.
#include "gpubench/block/together.cuh"
#include "gpubench/grid.cuh"
#include "gpubench/movement/near_row.cuh"
#include "gpubench/movement/row_vectors.cuh"
#include "gpubench/pairs.cuh"
#include "gpubench/warp.cuh"
#include "index_add/sums.cuh"

namespace gpubench::index_add {

constexpr int pairs_at_once = 4;  // neighbouring ones of a lane
constexpr int step_pairs = pairs_at_once * warp_size;
constexpr uint32 no_row = 0xffffffffu;  // of no_pair

struct GatheredShape {
    int64 place_step, index_step;    // elements between neighbours of a repetition
    int64 outer_place, outer_index;  // between repetitions
    uint32 places;
    uint32 count;     // elements of a repetition of the source
    uint32 resident;  // of them, in shared memory
    int32 parts;      // blocks that share a repetition
    int32 units;      // repetitions times parts
    uint32 words;     // of the sort's meetings, to be cleared
    double alpha;
};
GPUBENCH_LAYOUT(GatheredShape, 64, alpha, 56);

// What the warps of a block leave of the runs at both ends of their parts of the list.
template <class A>
struct RunEnds {
    A* heads;        // [warps]: of a run that began before and ends in the part
    A* tails;        // [warps]: of a run that goes on behind the part
    uint32* rows;    // [warps]: of the first pair
    uint32* states;  // [warps]

    static constexpr uint32 began_before = 1, goes_on = 2, midst = 4;  // midst: one run that does both
};

// A warp's slots in shared memory, one for each run that ends in a step: where its place stands, then its sum. So places are met
// side by side.
template <class A>
union Slot {
    uint32 offset;  // elements
    A sum;
};

// One warp's walk over its part of the sorted list.
template <class T>
struct Gather {
    using A = sum_t<T>;
    static constexpr int U = pairs_at_once;
    T* destination;
    const NearRow<T>& source;
    const Pair* list;
    Slot<A>* const slots;  // [step_pairs]
    uint32 first, last;  // of the warp's pairs
    uint32 end;          // of the block's
    uint32 place_step;
    alpha_t<T> alpha;
    A carry;
    A head;
    bool from_before;  // whether all so far is of a run that began before

    GPUBENCH_DEVICE T* place(uint32 row) const { return destination + row * place_step; }
    GPUBENCH_DEVICE void load_pairs(Pair (&pairs)[U], uint32 base) const {
        const uint32 at = base + lane_index() * U;
        if (at + U <= end && at % 2 == 0) {
            GPUBENCH_UNROLL
            for (int k = 0; k < U; k += 2) {
                const auto both = bit_cast<Vector<Pair, 2>>(row_vector<2>(list + at + k));
                pairs[k] = both[0];
                pairs[k + 1] = both[1];
            }
            return;
        }
        GPUBENCH_UNROLL
        for (int k = 0; k < U; ++k) pairs[k] = at + k < end ? list[at + k] : no_pair;
    }

    // Add up the lane's values by runs. Sums go to the slots from `slot` on; what is open behind the lane's last end joins the
    // lanes behind, and its first run what is open before it.
    GPUBENCH_DEVICE void add_up(const A (&values)[U], const bool (&ends)[U], uint32 slot) {
        A open{}, opening{};
        uint32 next = slot;
        GPUBENCH_UNROLL
        for (int k = 0; k < U; ++k) {
            open = add(open, values[k]);
            if (ends[k] && next == slot) opening = open;
            if (ends[k]) slots[next++].sum = open;
            if (ends[k]) open = A{};
        }
        const uint32 through = ballot(full_mask, next != slot) & lanes_through();
        const int start = through != 0 ? 31 - count_leading_zeros(through) : 0;
        GPUBENCH_UNROLL
        for (int delta = 1; delta < warp_size; delta *= 2) {
            const A left = shuffle_up(full_mask, open, delta);
            if (lane_index() - delta >= start) open = add(left, open);
        }
        if (through == 0) open = add(carry, open);
        const A left = shuffle_up(full_mask, open, 1);
        if (next != slot) slots[slot].sum = add(lane_index() == 0 ? carry : left, opening);
        carry = shuffle(full_mask, open, warp_size - 1);
    }

    // A step's pairs; `behind`: the row of the pair behind the lane's.
    GPUBENCH_DEVICE void take(const Pair (&pairs)[U], uint32 behind) {
        bool ends[U];
        uint32 slot = 0, all = 0;
        GPUBENCH_UNROLL
        for (int k = 0; k < U; ++k) {
            ends[k] = row_of(pairs[k]) != (k + 1 < U ? row_of(pairs[k + 1 < U ? k + 1 : 0]) : behind) && row_of(pairs[k]) != no_row;
            const uint32 those = ballot(full_mask, ends[k]);
            slot += population_count(those & lanes_before());
            all += population_count(those);
        }
        T raw[U];
        uint32 next = slot;
        GPUBENCH_UNROLL
        for (int k = 0; k < U; ++k) {
            raw[k] = source.at(position_of(pairs[k]));
            if (ends[k]) slots[next++].offset = row_of(pairs[k]) * place_step;
        }
        warp_barrier();
        T old[U];
        uint32 offsets[U];
        GPUBENCH_UNROLL
        for (int k = 0; k < U; ++k) {
            const uint32 i = k * warp_size + lane_index();
            offsets[k] = i < all ? slots[i].offset : 0;
            old[k] = i < all ? destination[offsets[k]] : T{};
        }
        warp_barrier();
        A values[U];
        GPUBENCH_UNROLL
        for (int k = 0; k < U; ++k) {
            values[k] = row_of(pairs[k]) != no_row ? add_scaled<T>(A{}, convert<A>(raw[k]), alpha) : A{};
        }
        add_up(values, ends, slot);
        warp_barrier();
        GPUBENCH_UNROLL
        for (int k = 0; k < U; ++k) {
            const uint32 i = k * warp_size + lane_index();
            if (i < all && (i > 0 || !from_before)) destination[offsets[k]] = convert<T>(add(convert<A>(old[k]), slots[i].sum));
        }
        if (from_before && all > 0) head = slots[0].sum;
        from_before = from_before && all == 0;
        warp_barrier();
    }

    // All of the part.
    GPUBENCH_DEVICE void walk() {
        Pair next[U];
        load_pairs(next, first);
        for (uint32 base = first; base < last; base += step_pairs) {
            Pair mine[U];
            GPUBENCH_UNROLL
            for (int k = 0; k < U; ++k) mine[k] = next[k];
            load_pairs(next, base + step_pairs);
            const uint32 right = shuffle_down(full_mask, row_of(mine[0]), 1), behind = shuffle(full_mask, row_of(next[0]), 0);
            take(mine, lane_index() == warp_size - 1 ? behind : right);
        }
    }

    // Leave what is open at both ends.
    GPUBENCH_DEVICE void leave(const RunEnds<A>& left, int warp, bool began_before) const {
        const bool goes_on = first < last && last < end && row_of(list[last - 1]) == row_of(list[last]);
        if (lane_index() != 0) return;
        left.heads[warp] = head;
        left.tails[warp] = carry;
        left.rows[warp] = first < last ? row_of(list[first]) : 0;
        left.states[warp] = (began_before ? left.began_before : 0) | (goes_on ? left.goes_on : 0) | (from_before && goes_on ? left.midst : 0);
    }
};

// Join the runs that lie over several warps, in their order: lane w writes the one that ends in the part of warp w.
template <class T>
GPUBENCH_DEVICE void join_runs(const Gather<T>& gather, const RunEnds<sum_t<T>>& left, int warps) {
    using A = sum_t<T>;
    A carry{}, total{};
    for (int w = 0; w < warps; ++w) {
        const uint32 state = left.states[w];
        if (state & left.midst) carry = add(carry, left.tails[w]);
        else if (state & left.began_before && w == lane_index()) total = add(carry, left.heads[w]);
        if ((state & left.goes_on) && !(state & left.midst)) carry = left.tails[w];
    }
    if (lane_index() >= warps) return;
    const uint32 state = left.states[lane_index()];
    if (!(state & left.began_before) || (state & left.midst)) return;
    T* const place = gather.place(left.rows[lane_index()]);
    *place = convert<T>(add(convert<A>(*place), total));
}

// Where the pairs of part `part` of `parts` begin: at a run's beginning.
GPUBENCH_DEVICE uint32 begin_of_part(const Pair* list, uint32 count, int part, int parts) {
    const uint32 begin = static_cast<uint32>(uint64{count} * part / parts);
    return begin == 0 || begin >= count ? begin : first_of_row(list, count, row_of(list[begin - 1]) + 1);
}

template <class T>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(1024)
    add_gathered(T* destination, const T* source, const Pair* list, const uint32* kept, uint64* meetings, const GatheredShape shape) {
    using A = sum_t<T>;
    GPUBENCH_DYNAMIC_SHARED(Word128, memory);
    GPUBENCH_SHARED(A, sums, 2 * warp_size);
    GPUBENCH_SHARED(uint32, words, 2 * warp_size);
    const RunEnds<A> ends{sums, sums + warp_size, words, words + warp_size};
    if (grid_thread() < shape.words) meetings[grid_thread()] = 0;
    const int warp = thread_index_x() / warp_size, warps = block_size_x() / warp_size;
    const uint32 count = *kept;
    Slot<A>* const slots = reinterpret_cast<Slot<A>*>(memory);
    for (int unit = block_index_x(); unit < shape.units; unit += grid_size_x()) {
        const int64 outer = unit / shape.parts;
        const int part = unit % shape.parts;
        const NearRow<T> row{reinterpret_cast<T*>(slots + warps * step_pairs), source + outer * shape.outer_index, shape.count,
                             shape.resident, shape.index_step};
        T* const target = destination + outer * shape.outer_place;
        row.bring();
        const uint32 begin = begin_of_part(list, count, part, shape.parts), end = begin_of_part(list, count, part + 1, shape.parts);
        const uint32 share = ((end - begin + warps - 1) / warps + step_pairs - 1) / step_pairs * step_pairs;
        const uint32 first = begin + warp * share < end ? begin + warp * share : end, last = end - first < share ? end : first + share;
        const uint32 before = first > begin ? row_of(list[first - 1]) : row_of(no_pair);
        const bool began_before = first < last && row_of(list[first]) == before;
        Gather<T> gather{target, row, list, slots + warp * step_pairs, first, last, end, static_cast<uint32>(shape.place_step), alpha_of<T>(shape.alpha), A{}, A{}, began_before};
        gather.walk();
        exchange([&] { gather.leave(ends, warp, began_before); },
                 [&] {
                     if (warp == 0) join_runs(gather, ends, warps);
                 });
    }
}

}  // namespace gpubench::index_add
