// An index and its place in the list of indices, as one word that sorts by the index first.
#pragma once

#include "gpubench/platform.cuh"

namespace gpubench::index_add {

using Pair = uint64;

constexpr Pair no_pair = ~Pair{0};

GPUBENCH_DEVICE Pair make_pair(uint32 row, uint32 position) { return Pair{row} << 32 | position; }
GPUBENCH_DEVICE uint32 row_of(Pair pair) { return static_cast<uint32>(pair >> 32); }
GPUBENCH_DEVICE uint32 position_of(Pair pair) { return static_cast<uint32>(pair); }

}  // namespace gpubench::index_add
