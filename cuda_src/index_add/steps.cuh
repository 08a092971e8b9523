// What many repetitions of one list need of it, in its order, and what follows from the list alone: it is worked out once, and read by all.
//
// A step is 128 pairs of a sorted list, four neighbouring ones a lane; a run, those of one row.
#pragma once

#include "gpubench/movement/row_vectors.cuh"
#include "gpubench/pairs.cuh"

namespace gpubench::index_add {

constexpr int pairs_at_once = 4;  // neighbouring ones of a lane
constexpr int step_pairs = pairs_at_once * warp_size;

// A lane's part of a step as all repetitions need it: of its four pairs the positions, and the rows of runs that end in the step, lane_index()
// + 32 k for k of 0 to 3; and what follows from the list besides. N: uint16 where positions and rows fit, else uint32.
template <class N>
struct LaneStep {
    static constexpr int numbers_each = 2 * pairs_at_once;
    Packed<N, numbers_each> numbers;
    uint32 extras;

    GPUBENCH_DEVICE uint32 number(int i) const {
        if constexpr (sizeof(N) == 4) return numbers.word(i);
        else return i % 2 == 0 ? numbers.word(i / 2) & 0xffff : numbers.word(i / 2) >> 16;
    }
    GPUBENCH_DEVICE uint32 position(int k) const { return number(k); }
    GPUBENCH_DEVICE uint32 row(int k) const { return number(pairs_at_once + k); }
    GPUBENCH_DEVICE bool ends(int k) const { return (extras >> k & 1) != 0; }        // whether a run does with pair k ...
    GPUBENCH_DEVICE bool ends_before(int k) const { return (extras & ((1u << k) - 1)) != 0; }  // ... and one with those before
    GPUBENCH_DEVICE int start() const { return static_cast<int>(extras >> 4 & 31); }  // the lane in which the open run began
    GPUBENCH_DEVICE bool carries() const { return (extras >> 9 & 1) != 0; }           // it began before the step
    GPUBENCH_DEVICE uint32 slot() const { return extras >> 10 & 127; }                // of the lane's first run that ends
    GPUBENCH_DEVICE uint32 runs() const { return extras >> 17; }                      // that end in the step

    GPUBENCH_DEVICE static uint32 extras_of(uint32 ends, uint32 start, bool carries, uint32 slot, uint32 runs) {
        return ends | start << 4 | (carries ? 1u << 9 : 0u) | slot << 10 | runs << 17;
    }
};

// All steps of a list, as one lane sees them.
template <class N>
struct Steps {
    static constexpr int numbers_each = LaneStep<N>::numbers_each;
    N* numbers;      // the lane's of the first step
    uint32* extras;

    GPUBENCH_DEVICE static Steps of_lane(N* numbers, uint32* extras, int lane) { return {numbers + lane * numbers_each, extras + lane}; }
    GPUBENCH_DEVICE N* numbers_of(uint32 step) const { return numbers + step * (warp_size * numbers_each); }
    GPUBENCH_DEVICE LaneStep<N> read(uint32 step) const {
        return {row_vector<numbers_each, Cache::read_only>(numbers_of(step)), load<Cache::read_only>(extras + step * warp_size)};
    }
};

// Where the pairs of part `part` of `parts` begin: at a run's beginning.
GPUBENCH_DEVICE uint32 begin_of_part(const Pair* list, uint32 count, int part, int parts) {
    const uint32 begin = static_cast<uint32>(uint64{count} * part / parts);
    return begin == 0 || begin >= count ? begin : first_of_row(list, count, row_of(list[begin - 1]) + 1);
}

// The number of a part's first step: each part but the last may leave one unfinished.
GPUBENCH_DEVICE uint32 first_step(uint32 begin, int part) { return begin / step_pairs + part; }

// What a warp knows of its share of a part of the list.
struct Share {
    int part = -1;
    uint32 first = 0, last = 0;  // steps
    uint32 row = 0;              // of the first pair
    bool began_before = false;   // its first run
    bool goes_on = false;        // its last run, in the next warp's share
};

GPUBENCH_DEVICE Share share_of(const Pair* list, uint32 count, int part, int parts, int warp, int warps) {
    const uint32 begin = begin_of_part(list, count, part, parts), end = begin_of_part(list, count, part + 1, parts);
    const uint32 steps = ((end - begin + warps - 1) / warps + step_pairs - 1) / step_pairs, share = steps * step_pairs;
    const uint32 first = begin + warp * share < end ? begin + warp * share : end, last = end - first < share ? end : first + share;
    const uint32 step = first_step(begin, part) + warp * steps;
    if (first == last) return {part, step, step, 0, false, false};
    const uint32 row = row_of(list[first]);
    const bool goes_on = last < end && row_of(list[last - 1]) == row_of(list[last]);
    return {part, step, step + (last - first + step_pairs - 1) / step_pairs, row, first > begin && row_of(list[first - 1]) == row, goes_on};
}

}  // namespace gpubench::index_add
