// index_add, first launch of `grouped`, and of `block_copies` with several segments: sort (index, position) pairs by index, or by
// its upper bits, equal ones in their first order.
//
// Data: the blocks, at most one an SM and all resident, own a range of the list each; grid/digit_sort.cuh says how a pass by up to 10
// bits of the index goes. A range that fits the registers is read once a pass. Blocks say at the first meeting whether they found the
// indices in order; if all did, the pairs are written as they are. Indices outside the dim are left out in the first pass.
// Where a sample (sample.cuh) says that atomics do better, there are no pairs; what it says stands behind their number.
#include "gpubench/grid.cuh"
#include "gpubench/grid/digit_sort.cuh"
#include "gpubench/movement/row_vectors.cuh"
#include "index_add/sample.cuh"

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
    uint32 often;   // not 0: how often an index must come up in a sample of the list to be sorted for
    int32 unused;
};
GPUBENCH_LAYOUT(SortShape, 48, unused, 44);

// The pairs of the list from `start` on. False where the rows descend, or one is outside the dim; such a one is no pair.
template <int Warps, class Index>
GPUBENCH_DEVICE bool load_list(SortTile& tile, const Index* index, uint32 start, uint32 stop, int64 places, int rounds) {
    Index rows[lane_pairs];
    const uint32 first = start + place_in_tile<Warps>(0, rounds);
    GPUBENCH_UNROLL
    for (int i = 0; i < lane_pairs; ++i) rows[i] = load_if(index + first + i * warp_size, i < rounds && first + i * warp_size < stop);
    // What stands before the first lane's: the last of the round before.
    Index before = load_if(index + first - 1, lane_index() == 0 && first > 0 && first < stop);
    bool ordered = true;
    GPUBENCH_UNROLL
    for (int i = 0; i < lane_pairs; ++i) {
        tile.pairs[i] = no_pair;
        const Index turned = shuffle(full_mask, rows[i], (lane_index() + warp_size - 1) % warp_size);
        const uint32 at = first + i * warp_size;
        if (i < rounds && at < stop) {
            const bool inside = rows[i] >= 0 && static_cast<int64>(rows[i]) < places;
            if (inside) tile.pairs[i] = make_pair(static_cast<uint32>(rows[i]), at);
            ordered = ordered && inside && rows[i] >= (lane_index() == 0 ? before : turned);
        }
        before = turned;
    }
    return ordered;
}

template <int Warps>
GPUBENCH_DEVICE void load_pairs(SortTile& tile, const Pair* pairs, uint32 start, uint32 stop, int rounds) {
    GPUBENCH_UNROLL
    for (int i = 0; i < lane_pairs; ++i) {
        const uint32 at = start + place_in_tile<Warps>(i, rounds);
        tile.pairs[i] = i < rounds && at < stop ? pairs[at] : no_pair;
    }
}

// All passes, the last one to `first`, unless the list was found in order; `count` becomes the pairs there are.
template <int Warps, class Index>
GPUBENCH_DEVICE void sort_all(const Index* index, uint64* meetings, const SortTables<Warps>& tables, const SortWorkspace& work,
                              Pair* first, Pair* second, uint32& count, const SortShape& shape) {
    const uint32 launch = grid_number();
    const int blocks = grid_size_x(), words = 2 * blocks + (1 << (shape.bits - 1)) / slice_words;  // of a pass
    SortTile tile;
    bool moved = true;
    for (int pass = 0; pass < shape.passes && moved; ++pass) {
        if (pass > 0 && blocks > 1) meet(meetings + pass * words - blocks, launch);
        const bool to_first = (shape.passes - pass) % 2 != 0;
        Pair* const target = to_first ? first : second;
        const Pair* const pairs = to_first ? second : first;
        const auto load = [&](uint32 at, uint32 stop) {
            if (pass == 0) return load_list<Warps>(tile, index, at, stop, shape.places, shape.rounds);
            load_pairs<Warps>(tile, pairs, at, stop, shape.rounds);
            return true;
        };
        Pair* const in_order = pass == 0 && shape.skip != 0 ? first : nullptr;
        moved = sort_pass(tile, tables, work, meetings + pass * words, launch, shape.range, count, target, in_order,
                          Digit{shape.shift + pass * shape.bits, shape.bits, shape.shift}, shape.rounds, load);
    }
}

template <class Index, int Warps>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(Warps * 32, 1)
    sort_indices(const Index* index, uint64* meetings, uint64* counts, uint64* before, uint64* totals, Pair* first, Pair* second,
                 uint32* kept, uint32* flags, const SortShape shape) {
    GPUBENCH_DYNAMIC_SHARED(uint32, memory);
    const SortTables<Warps> tables(memory);
    for (int64 i = grid_thread(); i < shape.flags; i += grid_threads()) flags[i] = 0;
    if (shape.often != 0) {
        const Choice choice = choose<Warps>(index, shape.count, shape.often, memory);
        if (grid_thread() == 0) kept[1] = static_cast<uint32>(choice);
        if (choice == Choice::atomics) {
            if (grid_thread() == 0) kept[0] = 0;
            return;
        }
    }
    uint32 count = shape.count;
    sort_all<Warps>(index, meetings, tables, SortWorkspace{counts, before, totals}, first, second, count, shape);
    if (grid_thread() == 0) kept[0] = count;
}

}  // namespace gpubench::index_add
