// A row and what goes with it, such as its place in a list, as one word that sorts by the row first.
#pragma once

#include "gpubench/warp.cuh"

namespace gpubench {

using Pair = uint64;

constexpr Pair no_pair = ~Pair{0};

GPUBENCH_DEVICE Pair make_pair(uint32 row, uint32 position) { return Pair{row} << 32 | position; }
GPUBENCH_DEVICE uint32 row_of(Pair pair) { return static_cast<uint32>(pair >> 32); }
GPUBENCH_DEVICE uint32 position_of(Pair pair) { return static_cast<uint32>(pair); }

// The first pair of a row among the `count` pairs before one of that row: each warp, 32 ways a step.
GPUBENCH_DEVICE uint32 first_of_row(const Pair* list, uint32 count, uint32 row) {
    uint32 low = 0, high = count;
    while (low < high) {
        const uint32 step = (high - low + warp_size - 1) / warp_size;
        const uint32 probe = low + (lane_index() + 1) * step - 1;
        const bool before = probe < high && row_of(list[probe]) < row;
        const uint32 steps = population_count(ballot(full_mask, before));
        low += steps * step;
        if (low + step - 1 < high) high = low + step - 1;
    }
    return low;
}

}  // namespace gpubench
