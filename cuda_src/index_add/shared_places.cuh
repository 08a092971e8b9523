// What lanes of a warp have of one place, added up before it goes there.
#pragma once

#include "gpubench/vector.cuh"
#include "gpubench/warp.cuh"
#include "index_add/sums.cuh"

namespace gpubench::index_add {

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

}  // namespace gpubench::index_add
