// index_add, variant `gathered`: one list for many repetitions of single elements, as along the last dim; a repetition's source waits in
// shared memory, and every place gathers what comes to it.
//
// Data: the list is sorted once (sort_indices.cu). A block brings a repetition's elements into shared memory by copies in the
// background, as many as fit. Its warps take neighbouring parts of the sorted pairs, 128 at once, four neighbours a lane: all
// elements that the pairs name are on their way at the same time, and so is what the places hold whose runs end there. A lane adds up its
// own, and a segmented scan of the warp joins what goes on in the next lane. Slots in shared memory bring the sums side by side
// to their places, each of which is written once. Runs that lie over several warps are joined behind a barrier; warps that wait there have
// asked for the next repetition's elements into the L2 cache. No atomics; the order of every addition follows from the indices alone, and so do the steps: no list is a bad one.
//
// Design: segmented sums as in merge-based products of sparse matrices (Merrill and Garland, 2016), here one matrix for many vectors.
#include "gpubench/block/together.cuh"
#include "gpubench/grid.cuh"
#include "gpubench/movement/near_row.cuh"
#include "gpubench/movement/row_vectors.cuh"
#include "gpubench/pairs.cuh"
#include "gpubench/warp.cuh"
#include "index_add/steps.cuh"
#include "index_add/sums.cuh"

namespace gpubench::index_add {

struct GatheredShape {
    int64 outer_place, outer_index;  // elements between repetitions
    uint32 place_step, index_step;   // between neighbours of one
    uint32 places;
    uint32 count;     // elements of a repetition of the source
    uint32 resident;  // of them, in shared memory
    int32 parts;      // blocks that share a repetition
    int32 units;      // repetitions times parts
    uint32 words;     // of the sort's meetings, to be cleared
    double alpha;
};
GPUBENCH_LAYOUT(GatheredShape, 56, alpha, 48);

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
template <class T, class N>
struct Gather {
    using A = sum_t<T>;
    static constexpr int U = pairs_at_once;
    T* destination;
    const NearRow<T>& source;
    Steps<N> steps;
    A* const slots;      // [step_pairs]: a sum each, by which places are met side by side
    uint32 first, last;  // steps of the warp
    uint32 place_step;
    alpha_t<T> alpha;
    A carry;
    A head;
    bool from_before;  // whether all so far is of a run that began before

    GPUBENCH_DEVICE T* place(uint32 row) const { return destination + row * place_step; }

    // Add up the lane's values by runs, into the slots; what is open behind the lane's last end joins the lanes behind, and its
    // first run what is open before it.
    GPUBENCH_DEVICE void add_up(const A (&values)[U], const LaneStep<N>& mine) {
        A open{}, opening{};
        uint32 next = mine.slot();
        GPUBENCH_UNROLL
        for (int k = 0; k < U; ++k) {
            open = add(open, values[k]);
            if (mine.ends(k) && mine.ends_before(k)) slots[++next] = open;
            else if (mine.ends(k)) opening = open;
            if (mine.ends(k)) open = A{};
        }
        const int reach = lane_index() - mine.start();
        GPUBENCH_UNROLL
        for (int delta = 1; delta < warp_size; delta *= 2) {
            const A left = shuffle_up(full_mask, open, delta);
            if (reach >= delta) open = add(left, open);
        }
        if (mine.carries()) open = add(carry, open);
        const A left = shuffle_up(full_mask, open, 1);
        if (mine.ends_before(U)) slots[mine.slot()] = add(lane_index() == 0 ? carry : left, opening);
        carry = shuffle(full_mask, open, warp_size - 1);
    }

    // All that a step reads is asked for before the first of it is looked at: the compiler moves no access over a barrier, and has
    // one wait for all between two. The destination comes from farthest away; of 4 bytes it is waited for by itself, once there are
    // sums for it (H200, 4096 x 65536 float32 1326 us for 1503; of other widths it is the same, of 8 bytes 508 for 454).
    GPUBENCH_DEVICE void take(const LaneStep<N>& mine) {
        constexpr bool by_itself = sizeof(T) == 4;
        T near[U], far[U], old[U];
        A values[U], sums[U];
        const int left = static_cast<int>(mine.runs()) - lane_index();
        const auto bring_source = [&] {
            GPUBENCH_UNROLL
            for (int k = 0; k < U; ++k) far[k] = source.far(mine.position(k));
        };
        const auto bring_near = [&] {
            GPUBENCH_UNROLL
            for (int k = 0; k < U; ++k) near[k] = source.close(mine.position(k));
        };
        if constexpr (by_itself) {
            bring_source();
            warp_barrier();
        }
        GPUBENCH_UNROLL
        for (int k = 0; k < U; ++k) old[k] = load_if(place(mine.row(k)), left > k * warp_size);
        if constexpr (!by_itself) {
            bring_source();
            bring_near();
        }
        warp_barrier();
        if constexpr (by_itself) bring_near();
        GPUBENCH_UNROLL
        for (int k = 0; k < U; ++k) values[k] = add_scaled<T>(A{}, convert<A>(either(near[k], far[k])), alpha);
        add_up(values, mine);
        warp_barrier();
        GPUBENCH_UNROLL
        for (int k = 0; k < U; ++k) sums[k] = left > k * warp_size ? slots[k * warp_size + lane_index()] : A{};
        warp_barrier();
        GPUBENCH_UNROLL
        for (int k = 0; k < U; ++k) {
            const bool is_head = k == 0 && lane_index() == 0 && from_before;
            if (left > k * warp_size && !is_head) *place(mine.row(k)) = convert<T>(add(convert<A>(old[k]), sums[k]));
        }
        if (from_before && mine.runs() > 0) head = sums[0];  // lane 0's is looked at
        from_before = from_before && mine.runs() == 0;
    }

    // All of the part. next: its first step.
    GPUBENCH_DEVICE void walk(LaneStep<N> next) {
        for (uint32 step = first; step < last; ++step) {
            const LaneStep<N> mine = next;
            if (step + 1 < last) next = steps.read(step + 1);
            take(mine);
        }
    }

    // Leave what is open at both ends.
    GPUBENCH_DEVICE void leave(const RunEnds<A>& left, int warp, const Share& share) const {
        if (lane_index() != 0) return;
        left.heads[warp] = head;
        left.tails[warp] = carry;
        left.rows[warp] = share.row;
        left.states[warp] =
            (share.began_before ? left.began_before : 0) | (share.goes_on ? left.goes_on : 0) | (from_before && share.goes_on ? left.midst : 0);
    }
};

// Join the runs that lie over several warps, in their order: lane w writes the one that ends in the part of warp w.
template <class T, class N>
GPUBENCH_DEVICE void join_runs(const Gather<T, N>& gather, const RunEnds<sum_t<T>>& left, int warps) {
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

// Write down all steps of part block_index_y(), a warp each.
template <class N>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(256) write_steps(const Pair* list, const uint32* kept, N* numbers, uint32* extras) {
    const uint32 count = *kept;
    const int part = block_index_y(), parts = grid_size_y();
    const uint32 begin = begin_of_part(list, count, part, parts), end = begin_of_part(list, count, part + 1, parts);
    const uint32 step = grid_thread() / warp_size, base = begin + step * step_pairs, number = first_step(begin, part) + step;
    if (base >= end) return;
    const auto steps = Steps<N>::of_lane(numbers, extras, lane_index());
    Pair pairs[pairs_at_once + 1];
    Vector<N, pairs_at_once> positions;
    uint32 slot = 0, runs = 0, ending = 0, ends = 0;
    GPUBENCH_UNROLL
    for (int k = 0; k <= pairs_at_once; ++k) {
        const uint32 at = base + lane_index() * pairs_at_once + k;
        pairs[k] = at < end ? list[at] : no_pair;
    }
    GPUBENCH_UNROLL
    for (int k = 0; k < pairs_at_once; ++k) {
        const bool is_end = pairs[k] != no_pair && row_of(pairs[k]) != row_of(pairs[k + 1]);
        const uint32 those = ballot(full_mask, is_end);
        positions[k] = static_cast<N>(pairs[k] != no_pair ? position_of(pairs[k]) : 0);
        ends |= is_end ? 1u << k : 0u;
        slot += population_count(those & lanes_before());
        runs += population_count(those);
        ending |= those;
    }
    ending &= lanes_through();
    const uint32 start = ending != 0 ? 31u - count_leading_zeros(ending) : 0u;
    store_vector(steps.numbers_of(number), positions);
    steps.extras[number * warp_size] = LaneStep<N>::extras_of(ends, start, ending == 0, slot, runs);
    GPUBENCH_UNROLL
    for (int k = 0; k < pairs_at_once; ++k) {
        if ((ends >> k & 1) == 0) continue;
        Steps<N>::of_lane(numbers, extras, slot % warp_size).numbers_of(number)[pairs_at_once + slot / warp_size] = static_cast<N>(row_of(pairs[k]));
        ++slot;
    }
}

template <class T, class N>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(1024)
    add_gathered(T* destination, const T* source, const Pair* list, const uint32* kept, uint64* meetings, N* numbers, uint32* extras,
                 const GatheredShape shape) {
    using A = sum_t<T>;
    GPUBENCH_DYNAMIC_SHARED(Word128, memory);
    GPUBENCH_SHARED(A, sums, 2 * warp_size);
    GPUBENCH_SHARED(uint32, states, 2 * warp_size);
    const RunEnds<A> ends{sums, sums + warp_size, states, states + warp_size};
    for (int64 i = grid_thread(); i < shape.words; i += grid_threads()) meetings[i] = 0;
    const int warp = thread_index_x() / warp_size, warps = block_size_x() / warp_size;
    const auto steps = Steps<N>::of_lane(numbers, extras, lane_index());
    A* const slots = reinterpret_cast<A*>(memory);
    T* const near = reinterpret_cast<T*>(slots + warps * step_pairs);
    Share share;
    for (int unit = block_index_x(); unit < shape.units; unit += grid_size_x()) {
        const int part = unit % shape.parts, next_unit = unit + grid_size_x();
        const int64 outer = unit / shape.parts;
        const NearRow<T> row{near, opaque(source + outer * shape.outer_index), shape.count, shape.resident, shape.index_step};
        if (part != share.part) share = share_of(list, *kept, part, shape.parts, warp, warps);
        Gather<T, N> gather{opaque(destination + outer * shape.outer_place), row, {opaque(steps.numbers), opaque(steps.extras)}, slots + warp * step_pairs,
                            share.first, share.last, shape.place_step, alpha_of<T>(shape.alpha), A{}, A{},
                            share.began_before};
        LaneStep<N> first{};
        if (share.first < share.last) first = gather.steps.read(share.first);
        row.bring();
        gather.walk(first);
        if (next_unit < shape.units) row.ask(source + next_unit / shape.parts * shape.outer_index);
        exchange([&] { gather.leave(ends, warp, share); },
                 [&] {
                     if (warp == 0) join_runs(gather, ends, warps);
                 });
    }
}

}  // namespace gpubench::index_add
