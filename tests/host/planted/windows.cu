// A look-back over tiles that have told their sums but not yet their running totals. For tests only.
#include "gpubench/arithmetic.cuh"
#include "gpubench/grid/lookback.cuh"

namespace gpubench::planted {

// One warp: tile t tells t + 1 as its own sum, `known` its running total, 1000; found[lane]: the sum of all before `tile`.
template <class A, bool Packed>
GPUBENCH_KERNEL void look_back_from(void* states, A* found, int tile, int known) {
    const TileStates<A, Packed> all(states, tile);
    for (int t = lane_index(); t < tile; t += warp_size) {
        if (t == known) all.publish(t, TileStatus::inclusive, static_cast<A>(1000));
        else all.publish(t, TileStatus::aggregate, static_cast<A>(t + 1));
    }
    block_barrier();
    found[lane_index()] = look_back(all, static_cast<long long>(tile), A{}, Add{});
}

}  // namespace gpubench::planted
