// The list of indices as pairs of a row and what belongs to its place in the list.
#pragma once

#include "gpubench/grid/digit_sort.cuh"

namespace gpubench::index_add {

// The pairs of the list from `start` on, each of a row and what `payload` gives for its place in the list. False where the
// rows descend, or one is outside the dim; such a one is no pair.
template <int Warps, class Index, class Payload>
GPUBENCH_DEVICE bool load_list(SortTile& tile, const Index* index, uint32 start, uint32 stop, int64 places, int rounds,
                               const Payload& payload) {
    bool ordered = true;
    GPUBENCH_UNROLL
    for (int i = 0; i < lane_pairs; ++i) {
        tile.pairs[i] = no_pair;
        const uint32 at = start + place_in_tile<Warps>(i, rounds);
        if (i >= rounds || at >= stop) continue;
        const int64 row = static_cast<int64>(index[at]);
        const int64 left = at > 0 ? static_cast<int64>(index[at - 1]) : 0;
        const uint32 value = payload(at);
        const bool inside = row >= 0 && row < places;
        if (inside) tile.pairs[i] = make_pair(static_cast<uint32>(row), value);
        ordered = ordered && inside && row >= left;
    }
    return ordered;
}

}  // namespace gpubench::index_add
