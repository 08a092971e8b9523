// What lanes of a warp have of one place, added up before it goes there.
#pragma once

#include "gpubench/vector.cuh"
#include "gpubench/warp.cuh"
#include "index_add/sums.cuh"

namespace gpubench::index_add {

constexpr uint32 no_row = 0xffffffffu;

// A place's bits spread over a word, by the golden ratio (Knuth 1973, section 6.4).
GPUBENCH_DEVICE uint32 hash_of(uint32 place) { return place * 2654435769u; }

// Sums of lanes on their way to one place, added up by one of them; says whether the lane still has any. `key`: its place; below
// zero: none. Lanes `apart` with one place betray an index that much of the list shares: as long as four lanes have such a one,
// they are added up before.
template <class Key, class A, int V>
GPUBENCH_DEVICE bool add_up_shared(Key key, Vector<A, V>& sums, uint32 apart) {
    if (apart >= warp_size) return key >= 0;
    const auto find_pairs = [&] {
        const Key neighbour = shuffle(full_mask, key, (lane_index() + apart) & (warp_size - 1));
        return ballot(full_mask, key >= 0 && key == neighbour);
    };
    for (uint32 pairs = find_pairs(); pairs != 0; pairs = find_pairs()) {
        const Key hot = shuffle(full_mask, key, count_trailing_zeros(pairs));
        const uint32 met = ballot(full_mask, key == hot);
        if (population_count(met) < 4) break;
        const bool mine = key == hot, leads = lane_index() == count_trailing_zeros(met);
        GPUBENCH_UNROLL
        for (int j = 0; j < V; ++j) {
            const A total = combine_lanes(mine ? sums[j] : A{}, Add{});
            if (leads) sums[j] = total;
        }
        if (mine && !leads) key = -1;
    }
    return key >= 0;
}

// The same for lanes that each have an index of their own: all lanes of one place are added up, whatever their number, by halves of them
// at a time: five steps at most. (As CUB's and others' peers of a warp: Westphal 2015.) equal: the lanes that have the lane's place.
template <class A, int V>
GPUBENCH_DEVICE bool add_up_lanes(uint32 equal, bool inside, Vector<A, V>& sums) {
    uint32 number = population_count(equal & lanes_before());
    const bool leads = number == 0;
    uint32 others = inside ? equal & ~lanes_through() : 0;  // behind this lane, that still have a sum
    while (ballot(full_mask, others != 0) != 0) {
        const int next = others != 0 ? count_trailing_zeros(others) : lane_index();
        GPUBENCH_UNROLL
        for (int j = 0; j < V; ++j) {
            const A left = shuffle(full_mask, sums[j], next);
            if (others != 0) sums[j] = add(sums[j], left);
        }
        others &= ballot(full_mask, (number & 1) == 0);
        number >>= 1;
    }
    return inside && leads;
}

// The same where two neighbours betray a place that comes again. Where none does it is a shuffle and a vote.
template <class A, int V>
GPUBENCH_DEVICE bool add_up_equal(uint32 row, bool inside, Vector<A, V>& sums) {
    const uint32 neighbour = shuffle(full_mask, inside ? row : no_row, (lane_index() + 1) & (warp_size - 1));
    if (ballot(full_mask, inside && row == neighbour) == 0) return inside;
    return add_up_lanes(match_any(full_mask, inside ? row : no_row), inside, sums);
}

// The lanes behind which another place begins, a bit each. next: the key of the lane behind.
GPUBENCH_DEVICE uint32 ends_of_runs(uint32 key, uint32 next) {
    return ballot(full_mask, key != next || lane_index() == warp_size - 1);
}

// Add up a run of lanes that have one place, neighbours; says whether the lane has all of it. ends: of runs.
template <class A, int V>
GPUBENCH_DEVICE bool sum_of_run(uint32 ends, Vector<A, V>& sums) {
    const uint32 before = ends & lanes_before();
    const int start = before != 0 ? 32 - count_leading_zeros(before) : 0;
    for (int delta = 1; any(full_mask, lane_index() - delta >= start); delta *= 2) {
        GPUBENCH_UNROLL
        for (int j = 0; j < V; ++j) {
            const A left = shuffle_up(full_mask, sums[j], delta);
            if (lane_index() - delta >= start) sums[j] = add(left, sums[j]);
        }
    }
    return (ends >> lane_index() & 1) != 0;
}

}  // namespace gpubench::index_add
