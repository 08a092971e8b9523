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

// A lane's part of a step as all repetitions need it: four words, each a position and, in the bits above, what follows from the list:
// whether a run ends there, the slot of the lane's first run that ends, the lane in which the open run began and whether that was before
// the step, and how many runs end in the step.
struct StepWords {
    static constexpr uint32 position_bits = 20, position = (1u << position_bits) - 1, end = 0x80000000u;
    Vector<uint32, pairs_at_once> all;

    GPUBENCH_DEVICE uint32 place(int k) const { return all[k] & position; }
    GPUBENCH_DEVICE bool ends(int k) const { return all[k] >= end; }
    GPUBENCH_DEVICE uint32 slot() const { return extra(0); }
    GPUBENCH_DEVICE int start() const { return static_cast<int>(extra(1)); }
    GPUBENCH_DEVICE bool carries() const { return extra(2) != 0; }
    GPUBENCH_DEVICE uint32 runs() const { return extra(3); }
    GPUBENCH_DEVICE void keep(int k, bool ends, uint32 at, uint32 more) {
        all[k] = at | more << position_bits | (ends ? end : 0);
    }

private:
    GPUBENCH_DEVICE uint32 extra(int k) const { return (all[k] & ~end) >> position_bits; }
};

// What the warps of a block leave of the runs at both ends of their parts of the list.
template <class A>
struct RunEnds {
    A* heads;        // [warps]: of a run that began before and ends in the part
    A* tails;        // [warps]: of a run that goes on behind the part
    uint32* rows;    // [warps]: of the first pair
    uint32* states;  // [warps]

    static constexpr uint32 began_before = 1, goes_on = 2, midst = 4;  // midst: one run that does both
};

// One warp's walk over its part of the sorted list.
template <class T>
struct Gather {
    using A = sum_t<T>;
    static constexpr int U = pairs_at_once;
    T* destination;
    const NearRow<T>& source;
    const Pair* list;
    const uint32* words;    // the lane's of the first step
    const uint32* offsets;  // where the places stand whose runs end in the first step, from the lane's on
    A* const slots;         // [step_pairs]: a sum each, by which places are met side by side
    uint32 first, last;  // of the warp's pairs
    uint32 end;          // of the block's
    uint32 place_step;
    alpha_t<T> alpha;
    A carry;
    A head;
    bool from_before;  // whether all so far is of a run that began before

    GPUBENCH_DEVICE T* place(uint32 row) const { return destination + row * place_step; }

    // Add up the lane's values by runs, into the slots; what is open behind the lane's last end joins the lanes behind, and its
    // first run what is open before it.
    GPUBENCH_DEVICE void add_up(const A (&values)[U], const StepWords& mine) {
        A open{}, opening{};
        uint32 next = mine.slot();
        GPUBENCH_UNROLL
        for (int k = 0; k < U; ++k) {
            open = add(open, values[k]);
            if (!mine.ends(k)) continue;
            if (next == mine.slot()) opening = open;
            slots[next++] = open;
            open = A{};
        }
        GPUBENCH_UNROLL
        for (int delta = 1; delta < warp_size; delta *= 2) {
            const A left = shuffle_up(full_mask, open, delta);
            if (lane_index() - delta >= mine.start()) open = add(left, open);
        }
        if (mine.carries()) open = add(carry, open);
        const A left = shuffle_up(full_mask, open, 1);
        if (next != mine.slot()) slots[mine.slot()] = add(lane_index() == 0 ? carry : left, opening);
        carry = shuffle(full_mask, open, warp_size - 1);
    }

    GPUBENCH_DEVICE void take(const StepWords& mine, const uint32 (&at)[U]) {
        T raw[U], old[U];
        GPUBENCH_UNROLL
        for (int k = 0; k < U; ++k) {
            raw[k] = source.at(mine.place(k));
            old[k] = k * warp_size + lane_index() < mine.runs() ? destination[at[k]] : T{};
        }
        A values[U];
        GPUBENCH_UNROLL
        for (int k = 0; k < U; ++k) values[k] = add_scaled<T>(A{}, convert<A>(raw[k]), alpha);
        add_up(values, mine);
        warp_barrier();
        GPUBENCH_UNROLL
        for (int k = 0; k < U; ++k) {
            const uint32 i = k * warp_size + lane_index();
            if (i < mine.runs() && (i > 0 || !from_before)) destination[at[k]] = convert<T>(add(convert<A>(old[k]), slots[i]));
        }
        if (from_before && mine.runs() > 0) head = slots[0];
        from_before = from_before && mine.runs() == 0;
        warp_barrier();
    }

    // All of the part. Behind its last step the next ones stand, or anything.
    GPUBENCH_DEVICE void walk() {
        StepWords next;
        uint32 next_at[U];
        const auto ask = [&](uint32 step) {
            next.all = bit_cast<Vector<uint32, U>>(row_vector<U, Cache::read_only>(words + step * step_pairs));
            GPUBENCH_UNROLL
            for (int k = 0; k < U; ++k) next_at[k] = load<Cache::read_only>(offsets + step * step_pairs + k * warp_size);
        };
        const uint32 steps = (last - first + step_pairs - 1) / step_pairs;
        if (steps > 0) ask(0);
        for (uint32 step = 0; step < steps; ++step) {
            const StepWords mine = next;
            uint32 at[U];
            GPUBENCH_UNROLL
            for (int k = 0; k < U; ++k) at[k] = next_at[k];
            if (step + 1 < steps) ask(step + 1);
            take(mine, at);
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

// The number of a part's first step: each part but the last may leave one unfinished.
GPUBENCH_DEVICE uint32 first_step(uint32 begin, int part) { return begin / step_pairs + part; }

// Write down all steps of part block_index_y(), a warp each.
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(256)
    write_steps(const Pair* list, const uint32* kept, uint32* words, uint32* offsets, uint32 place_step) {
    const uint32 count = *kept;
    const int part = block_index_y(), parts = grid_size_y();
    const uint32 begin = begin_of_part(list, count, part, parts), end = begin_of_part(list, count, part + 1, parts);
    const uint32 step = grid_thread() / warp_size, base = begin + step * step_pairs, number = first_step(begin, part) + step;
    if (base >= end) return;
    StepWords mine;
    Pair pairs[pairs_at_once + 1];
    bool ends[pairs_at_once];
    uint32 slot = 0, runs = 0, ending = 0;
    GPUBENCH_UNROLL
    for (int k = 0; k <= pairs_at_once; ++k) {
        const uint32 at = base + lane_index() * pairs_at_once + k;
        pairs[k] = at < end ? list[at] : no_pair;
    }
    GPUBENCH_UNROLL
    for (int k = 0; k < pairs_at_once; ++k) {
        ends[k] = pairs[k] != no_pair && row_of(pairs[k]) != row_of(pairs[k + 1]);
        const uint32 those = ballot(full_mask, ends[k]);
        slot += population_count(those & lanes_before());
        runs += population_count(those);
        ending |= those;
    }
    ending &= lanes_through();
    const uint32 extras[pairs_at_once] = {slot, ending != 0 ? 31u - count_leading_zeros(ending) : 0u, ending == 0 ? 1u : 0u, runs};
    GPUBENCH_UNROLL
    for (int k = 0; k < pairs_at_once; ++k) {
        mine.keep(k, ends[k], pairs[k] != no_pair ? position_of(pairs[k]) : 0, extras[k]);
        if (ends[k]) offsets[number * step_pairs + slot++] = row_of(pairs[k]) * place_step;
    }
    store_vector(words + number * step_pairs + lane_index() * pairs_at_once, mine.all);
}

template <class T>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(1024)
    add_gathered(T* destination, const T* source, const Pair* list, const uint32* kept, uint64* meetings, const uint32* words,
                 const uint32* offsets, const GatheredShape shape) {
    using A = sum_t<T>;
    GPUBENCH_DYNAMIC_SHARED(Word128, memory);
    GPUBENCH_SHARED(A, sums, 2 * warp_size);
    GPUBENCH_SHARED(uint32, states, 2 * warp_size);
    const RunEnds<A> ends{sums, sums + warp_size, states, states + warp_size};
    for (int64 i = grid_thread(); i < shape.words; i += grid_threads()) meetings[i] = 0;
    const int warp = thread_index_x() / warp_size, warps = block_size_x() / warp_size;
    const uint32 count = *kept;
    A* const slots = reinterpret_cast<A*>(memory);
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
        const uint32 step = first_step(begin, part) + warp * (share / step_pairs);
        Gather<T> gather{target, row, list, words + step * step_pairs + lane_index() * pairs_at_once, offsets + step * step_pairs + lane_index(),
                         slots + warp * step_pairs, first, last, end, static_cast<uint32>(shape.place_step), alpha_of<T>(shape.alpha),
                         A{}, A{}, began_before};
        gather.walk();
        exchange([&] { gather.leave(ends, warp, began_before); },
                 [&] {
                     if (warp == 0) join_runs(gather, ends, warps);
                 });
    }
}

}  // namespace gpubench::index_add
