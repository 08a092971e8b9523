// What tiles publish for later tiles in a chained scan, and how a tile learns the total of all before it: decoupled
// look-back (Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", NVIDIA NVR-2016-002,
// 2016).
#pragma once

#include "gpubench/warp.cuh"

namespace gpubench {

enum class TileStatus : uint64 {
    nothing = 0,    // what a cleared workspace says
    aggregate = 1,  // the value is the tile's own total
    inclusive = 2,  // the value is the total of this tile and all before it
};

template <class A>
struct TileState {
    TileStatus status;
    A value;
};

// One state a tile, in memory that was set to zero before the launch.
//
// Packed: value and status share one word of twice the value's size (4 or 8 bytes), written and read in a single
// access, so that no fence is needed. All 64 bits of a status count: of a 16-byte load whose result is used only in
// part, ptxas makes two loads (seen with NVRTC 13 for a complex64 value and a 32-bit status), and value and status then
// differ in age.
template <class A, bool Packed>
class TileStates {
    static_assert(sizeof(A) == 4 || sizeof(A) == 8, "larger values do not fit a word with their status");
    using W = Word<2 * sizeof(A)>;
    W* words_;

public:
    static constexpr uint32 first_wait_ns = 450;
    static constexpr uint32 wait_ns = 350;

    GPUBENCH_DEVICE TileStates(void* memory, long long) : words_(static_cast<W*>(memory)) {}

    GPUBENCH_DEVICE void publish(long long tile, TileStatus status, A value) const {
        if constexpr (sizeof(A) == 4) {
            store_relaxed(words_ + tile, static_cast<uint64>(status) << 32 | bit_cast<uint32>(value));
        } else {
            store_relaxed(words_ + tile, Word128{bit_cast<uint64>(value), static_cast<uint64>(status)});
        }
    }

    GPUBENCH_DEVICE TileState<A> read(long long tile) const {
        const W word = load_relaxed(words_ + tile);
        if constexpr (sizeof(A) == 4) {
            return {static_cast<TileStatus>(word >> 32), bit_cast<A>(static_cast<uint32>(word))};
        } else {
            return {static_cast<TileStatus>(word.high), bit_cast<A>(word.low)};
        }
    }
};

// Apart: statuses by themselves, with the value written before (release) and read after (acquire) them. The two kinds
// of value have places of their own, since the second is written while others read the first.
template <class A>
class TileStates<A, false> {
    A* aggregates_;
    A* inclusives_;
    uint32* statuses_;

public:
    static constexpr uint32 first_wait_ns = 450;
    static constexpr uint32 wait_ns = 0;

    GPUBENCH_DEVICE TileStates(void* memory, long long tiles)
        : aggregates_(static_cast<A*>(memory)),
          inclusives_(aggregates_ + tiles),
          statuses_(reinterpret_cast<uint32*>(inclusives_ + tiles)) {}

    GPUBENCH_DEVICE void publish(long long tile, TileStatus status, A value) const {
        (status == TileStatus::inclusive ? inclusives_ : aggregates_)[tile] = value;
        store_release(statuses_ + tile, static_cast<uint32>(status));
    }

    GPUBENCH_DEVICE TileState<A> read(long long tile) const {
        const auto status = static_cast<TileStatus>(load_acquire(statuses_ + tile));
        if (status == TileStatus::nothing) return {status, A{}};
        return {status, (status == TileStatus::inclusive ? inclusives_ : aggregates_)[tile]};
    }
};

// Waiting costs the memory system reads that tell nothing. Grids of 500 blocks and more wait before the first look and,
// with packed states, between looks; the grid and the times are CUB's defaults.
constexpr int busy_grid = 500;

// The total of all tiles before `tile` (which has published its aggregate), for all lanes of the one warp that calls.
// Lane l looks at the tile l + 1 places back; 32 tiles at a time, until one of them is inclusive.
template <class A, bool Packed, class Combine>
GPUBENCH_DEVICE A look_back(const TileStates<A, Packed>& states, long long tile, A identity, Combine combine) {
    using States = TileStates<A, Packed>;
    const bool busy = grid_size_x() >= busy_grid;
    if (busy) back_off(States::first_wait_ns);
    A total = identity;
    for (long long nearest = tile - 1;; nearest -= warp_size) {
        const long long mine = nearest - lane_index();
        TileState<A> state{TileStatus::inclusive, identity};  // before the first tile: nothing, and nothing further
        if (mine >= 0) state = states.read(mine);
        while (any(full_mask, state.status == TileStatus::nothing)) {
            back_off(busy ? States::wait_ns : 0);
            if (mine >= 0) state = states.read(mine);
        }
        const uint32 inclusive = ballot(full_mask, state.status == TileStatus::inclusive);
        const int last = count_trailing_zeros(inclusive);  // 32 where there is none: all lanes count
        total = combine(warp_reduce_all(lane_index() <= last ? state.value : identity, combine), total);
        if (inclusive != 0) return total;
    }
}

}  // namespace gpubench
