// index_add, variant `gathered`: one list for many repetitions of single elements, as along the last dim; a repetition's source waits in
// shared memory, and every place gathers what comes to it.
//
// Data: the list is sorted once (sort_indices.cu). A block brings a repetition's elements into shared memory by copies in the
// background, as many as fit, while the next ones come into the L2 cache. Its warps take neighbouring parts of the sorted pairs, 128 at once:
// they ask for the places whose runs end there, read the elements that the pairs name, and add up runs by segmented scans of
// the warp; the last lane of a run writes the place once. Runs that lie over several warps are joined behind a barrier. No
// atomics; the order of every addition follows from the indices alone, and so do the steps: no list is a bad one.
//
// Design: segmented sums as in merge-based products of sparse matrices (Merrill and Garland, 2016), here one matrix for many vectors.
#include "gpubench/block/together.cuh"
#include "gpubench/grid.cuh"
#include "gpubench/movement/near_row.cuh"
#include "gpubench/pairs.cuh"
#include "gpubench/warp.cuh"
#include "index_add/sums.cuh"

namespace gpubench::index_add {

constexpr int steps_at_once = 4;

struct GatheredShape {
    int64 place_step, index_step;    // elements between neighbours of a repetition
    int64 outer_place, outer_index;  // between repetitions
    uint32 places;
    uint32 count;     // elements of a repetition of the source
    uint32 resident;  // of them, in shared memory
    int32 parts;      // blocks that share a repetition
    int32 units;      // repetitions times parts
    uint32 words;     // of the sort's meetings, to be cleared
    int32 ahead;      // whether the next source and this destination are asked for into the L2 cache
    int32 unused;
    double alpha;
};
GPUBENCH_LAYOUT(GatheredShape, 72, alpha, 64);

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
    static constexpr int U = steps_at_once;
    T* destination;
    const NearRow<T>& source;
    const Pair* list;
    uint32 first, last;  // of the warp's pairs
    uint32 end;          // of the block's
    int64 place_step;
    alpha_t<T> alpha;
    A carry;
    A head;
    bool from_before;  // whether all so far is of a run that began before

    GPUBENCH_DEVICE Pair at(uint32 i) const { return i < end ? list[i] : no_pair; }
    GPUBENCH_DEVICE T* place(uint32 row) const { return destination + row * place_step; }

    // 32 pairs whose runs begin at the lanes in `heads`, of the values `value`; `ends`: whether the lane's run ends with it.
    GPUBENCH_DEVICE void take(uint32 row, A value, uint32 heads, bool ends, const T& old) {
        const uint32 mine = heads & lanes_through();
        const int start = mine != 0 ? 31 - count_leading_zeros(mine) : 0;
        GPUBENCH_UNROLL
        for (int delta = 1; delta < warp_size; delta *= 2) {
            const A left = shuffle_up(full_mask, value, delta);
            if (lane_index() - delta >= start) value = add(left, value);
        }
        if (mine == 0) value = add(carry, value);
        const bool of_first = from_before && mine == 0;
        if (ends && !of_first) *place(row) = convert<T>(add(convert<A>(old), value));
        const uint32 closed = ballot(full_mask, ends && of_first);
        if (closed != 0) head = shuffle(full_mask, value, count_trailing_zeros(closed));
        from_before = from_before && heads == 0 && closed == 0;
        carry = shuffle(full_mask, value, warp_size - 1);
    }

    // All of the part; `before`: the row of the pair before it.
    GPUBENCH_DEVICE void walk(uint32 before) {
        Pair next[U];
        GPUBENCH_UNROLL
        for (int u = 0; u < U; ++u) next[u] = at(first + u * warp_size + lane_index());
        for (uint32 base = first; base < last; base += U * warp_size) {
            Pair mine[U];
            T old[U];
            A values[U];
            uint32 heads[U];
            bool ends[U];
            GPUBENCH_UNROLL
            for (int u = 0; u < U; ++u) mine[u] = next[u];
            GPUBENCH_UNROLL
            for (int u = 0; u < U; ++u) next[u] = at(base + (U + u) * warp_size + lane_index());
            GPUBENCH_UNROLL
            for (int u = 0; u < U; ++u) {
                const uint32 row = row_of(mine[u]);
                uint32 left = shuffle_up(full_mask, row, 1), right = shuffle_down(full_mask, row, 1);
                const uint32 behind = shuffle(full_mask, row_of(u + 1 < U ? mine[u + 1 < U ? u + 1 : 0] : next[0]), 0);
                if (lane_index() == 0) left = before;
                if (lane_index() == warp_size - 1) right = behind;
                before = shuffle(full_mask, row, warp_size - 1);
                heads[u] = ballot(full_mask, row != left);
                const bool exists = base + u * warp_size + lane_index() < last;
                ends[u] = exists && row != right;
                old[u] = ends[u] ? *place(row) : T{};
                values[u] = exists ? add_scaled<T>(A{}, convert<A>(source.at(position_of(mine[u]))), alpha) : A{};
            }
            GPUBENCH_UNROLL
            for (int u = 0; u < U; ++u) {
                if (base + u * warp_size < last) take(row_of(mine[u]), values[u], heads[u], ends[u], old[u]);
            }
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
    for (int unit = block_index_x(); unit < shape.units; unit += grid_size_x()) {
        const int64 outer = unit / shape.parts;
        const int part = unit % shape.parts, next = unit + grid_size_x();
        const NearRow<T> row{reinterpret_cast<T*>(memory), source + outer * shape.outer_index, shape.count, shape.resident, shape.index_step};
        T* const target = destination + outer * shape.outer_place;
        if (shape.ahead != 0 && shape.place_step == 1) ask_lines(target, shape.places);
        row.bring();
        if (shape.ahead != 0 && next < shape.units) row.ask_ahead(source + next / shape.parts * shape.outer_index);
        const uint32 begin = begin_of_part(list, count, part, shape.parts), end = begin_of_part(list, count, part + 1, shape.parts);
        const uint32 share = ((end - begin + warps - 1) / warps + warp_size - 1) / warp_size * warp_size;
        const uint32 first = begin + warp * share < end ? begin + warp * share : end, last = end - first < share ? end : first + share;
        const uint32 before = first > begin ? row_of(list[first - 1]) : row_of(no_pair);
        const bool began_before = first < last && row_of(list[first]) == before;
        Gather<T> gather{target, row, list, first, last, end, shape.place_step, alpha_of<T>(shape.alpha), A{}, A{}, began_before};
        gather.walk(before);
        exchange([&] { gather.leave(ends, warp, began_before); },
                 [&] {
                     if (warp == 0) join_runs(gather, ends, warps);
                 });
    }
}

}  // namespace gpubench::index_add
