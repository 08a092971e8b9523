// index_add, first launch of `grouped`, and of `block_copies` with several segments: sort (index, position) pairs by index, or by
// its upper bits, equal ones in their first order.
//
// Data: the blocks, at most one an SM and all resident, own a range of the list each; grid/digit_sort.cuh says how a pass by up to 11
// bits of the index goes. A range that fits the registers is read once a pass. Blocks say at the first meeting whether they found the
// indices in order; if all did, the pairs are written as they are. Indices outside the dim are left out in the first pass.
#include "gpubench/grid.cuh"
#include "gpubench/grid/digit_sort.cuh"
#include "gpubench/movement/row_vectors.cuh"

namespace gpubench::index_add {

struct SortShape {
    int64 places;   // rows of the destination
    uint32 count;   // indices
    uint32 range;   // of them, a block's
    int32 rounds;   // of 32 pairs that a warp holds at once, at most lane_pairs
    int32 passes;
    int32 bits;     // of a pass
    int32 shift;    // of the row, to the first digit
    int32 skip;     // whether a list in order stays as it is
    uint32 flags;   // words of the launch behind this one, which it needs cleared
};
GPUBENCH_LAYOUT(SortShape, 40, flags, 36);

// The pairs of the list from `start` on. False where the rows descend, or one is outside the dim; such a one is no pair.
template <class C, class Index>
GPUBENCH_DEVICE bool load_list(SortTile<C>& tile, const Index* index, uint32 start, uint32 stop, int64 places, int rounds) {
    constexpr int together = C::large ? 64 / sizeof(Index) : C::lane_pairs;  // rounds whose indices a lane asks for at once
    const uint32 first = start + place_in_tile(0, rounds);
    // What stands before the first lane's: the last of the round before.
    Index before = load_if(index + first - 1, lane_index() == 0 && first > 0 && first < stop);
    bool ordered = true;
    GPUBENCH_UNROLL
    for (int base = 0; base < C::lane_pairs; base += together) {
        Index rows[together];
        GPUBENCH_UNROLL
        for (int k = 0; k < together; ++k) {
            const uint32 at = first + (base + k) * warp_size;
            rows[k] = load_if(index + at, base + k < rounds && at < stop);
        }
        GPUBENCH_UNROLL
        for (int k = 0; k < together; ++k) {
            tile.pairs[base + k] = no_pair;
            const Index turned = shuffle(full_mask, rows[k], (lane_index() + warp_size - 1) % warp_size);
            const uint32 at = first + (base + k) * warp_size;
            if (base + k < rounds && at < stop) {
                const bool inside = rows[k] >= 0 && static_cast<int64>(rows[k]) < places;
                if (inside) tile.pairs[base + k] = make_pair(static_cast<uint32>(rows[k]), at);
                ordered = ordered && inside && rows[k] >= (lane_index() == 0 ? before : turned);
            }
            before = turned;
        }
    }
    return ordered;
}

template <class C>
GPUBENCH_DEVICE void load_pairs(SortTile<C>& tile, const Pair* pairs, uint32 start, uint32 stop, int rounds) {
    GPUBENCH_UNROLL
    for (int i = 0; i < C::lane_pairs; ++i) {
        const uint32 at = start + place_in_tile(i, rounds);
        tile.pairs[i] = i < rounds && at < stop ? pairs[at] : no_pair;
    }
}

// All passes, the last one to `first`, unless the list was found in order; `count` becomes the pairs there are.
template <class C, class Index>
GPUBENCH_DEVICE void sort_all(const Index* index, uint64* meetings, const SortTables<C>& tables, const SortWorkspace& work,
                              Pair* first, Pair* second, uint32& count, const SortShape& shape) {
    const uint32 launch = grid_number();
    const int blocks = grid_size_x(), words = 2 * blocks + (1 << (shape.bits - 1)) / slice_words;  // of a pass
    SortTile<C> tile;
    bool moved = true;
    for (int pass = 0; pass < shape.passes && moved; ++pass) {
        if (pass > 0 && blocks > 1) meet(meetings + pass * words - blocks, launch);
        const bool to_first = (shape.passes - pass) % 2 != 0;
        Pair* const target = to_first ? first : second;
        const Pair* const pairs = to_first ? second : first;
        const auto load = [&](uint32 at, uint32 stop) {
            if (pass == 0) return load_list<C>(tile, index, at, stop, shape.places, shape.rounds);
            load_pairs<C>(tile, pairs, at, stop, shape.rounds);
            return true;
        };
        Pair* const in_order = pass == 0 && shape.skip != 0 ? first : nullptr;
        moved = sort_pass(tile, tables, work, meetings + pass * words, launch, shape.range, count, target, in_order,
                          Digit{shape.shift + pass * shape.bits, shape.bits, shape.shift}, shape.rounds, load);
    }
}

template <class Index, int Warps, bool Large>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(Warps * 32, 1)
    sort_indices(const Index* index, uint64* meetings, uint64* counts, uint64* before, uint64* totals, Pair* first, Pair* second,
                 uint32* kept, uint32* flags, const SortShape shape) {
    GPUBENCH_DYNAMIC_SHARED(uint32, memory);
    using C = SortCut<Warps, Large>;
    const SortTables<C> tables(memory);
    for (int64 i = grid_thread(); i < shape.flags; i += grid_threads()) flags[i] = 0;
    uint32 count = shape.count;
    sort_all<C>(index, meetings, tables, SortWorkspace{counts, before, totals}, first, second, count, shape);
    if (grid_thread() == 0) kept[0] = count;
}

}  // namespace gpubench::index_add
