// index_add, variant `partitioned`: single elements into a destination beyond the L2 cache, brought into the order of its parts first.
//
// Data: `partition_values`: blocks that are resident together read a tile of the list each; if all find theirs in order, nothing is
// moved. Otherwise (index, value) pairs go to 1024 parts of the destination by one pass of sort.cuh, over the top bits of the index.
// `add_partition`: all blocks walk the pairs side by side, so that the additions of one time meet in a few parts, which stay in the
// L2 cache; what comes again is added up as table.cuh says. Why: the L2 cache takes 100 G scattered additions a second, 18 G where
// each brings its line from memory (H200). Sums of what one block meets are formed in the accumulator; in any order.
#include "index_add/sort.cuh"
#include "index_add/table.cuh"

namespace gpubench::index_add {

struct PartitionShape {
    int64 places;
    int64 index_step;  // elements between those of the source
    uint32 count;      // indices
    uint32 range;      // of them, a block's
    int32 rounds;      // of 32 pairs that a warp holds at once, at most lane_pairs
    int32 shift;       // of the index, to the number of its part
    int32 bits;        // of that number
    int32 unused;
};
GPUBENCH_LAYOUT(PartitionShape, 40, unused, 36);

// kept: the number of pairs, and whether there are any.
template <int Warps, class T, class Index>
GPUBENCH_DEVICE void partition(const T* source, const Index* index, uint64* meetings, const SortTables<Warps>& tables,
                               const SortWorkspace& work, Pair* pairs, uint32* kept, const PartitionShape& shape) {
    const uint32 launch = grid_number();
    SortTile tile;
    const auto value = [&](uint32 at) -> uint32 {
        return bit_cast<Word<sizeof(T)>>(load<Cache::read_only>(source + at * shape.index_step));
    };
    const auto load_tile = [&](uint32 at, uint32 stop) {
        return load_list<Warps>(tile, index, at, stop, shape.places, shape.rounds, value);
    };
    const uint32 start = block_index_x() * shape.range;
    const uint32 stop = start >= shape.count ? start : shape.count - start < shape.range ? shape.count : start + shape.range;
    const bool ordered = block_barrier_and(load_tile(start, stop));
    const bool stays = meet(meetings + 2 * grid_size_x(), launch, ordered);
    uint32 count = shape.count;
    if (!stays) {
        sort_pass(tile, tables, work, meetings, launch, shape.range, count, pairs, Digit{shape.shift, shape.bits}, shape.rounds, false, load_tile);
    }
    if (grid_thread() == 0) {
        kept[0] = count;
        kept[1] = stays ? 0 : 1;
    }
}

template <class T, class Index, int Warps>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(Warps * 32, 1)
    partition_values(const T* source, const Index* index, uint64* meetings, uint32* counts, uint32* before, uint32* totals, Pair* pairs,
                     uint32* kept, const PartitionShape shape) {
    GPUBENCH_DYNAMIC_SHARED(uint32, memory);
    partition(source, index, meetings, SortTables<Warps>(memory), SortWorkspace{counts, before, totals}, pairs, kept, shape);
}

// What was partitioned, or the list as it was.
template <class T, class Index>
GPUBENCH_DEVICE void add_pairs(const Table<T>& table, const T* source, const Index* index, const Pair* pairs, const uint32* kept,
                               const CachedShape& shape) {
    const alpha_t<T> alpha = alpha_of<T>(shape.alpha);
    const uint32 count = kept[0];
    const bool moved = kept[1] != 0;
    add_through_table(table, count, [&](Item<sum_t<T>> (&items)[items_at_once<T>], uint32 at) {
        Pair mine[items_at_once<T>];
        GPUBENCH_UNROLL
        for (int k = 0; k < items_at_once<T>; ++k) {
            const uint32 i = at + k * cached_threads;
            mine[k] = no_pair;
            if (i >= count) continue;
            if (moved) {
                mine[k] = pairs[i];
            } else {
                const int64 row = static_cast<int64>(index[i]);
                const auto bits = bit_cast<Word<sizeof(T)>>(load<Cache::read_only>(source + i * shape.index_step));
                if (row >= 0 && row < shape.places) mine[k] = make_pair(static_cast<uint32>(row), bits);
            }
        }
        GPUBENCH_UNROLL
        for (int k = 0; k < items_at_once<T>; ++k) {
            items[k].key = row_of(mine[k]);
            const T value = bit_cast<T>(static_cast<Word<sizeof(T)>>(position_of(mine[k])));
            items[k].value = add_scaled<T>(sum_t<T>{}, convert<sum_t<T>>(value), alpha);
        }
    });
}

template <class T, class Index>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(cached_threads, 3)
    add_partition(T* destination, const T* source, const Index* index, const Pair* pairs, const uint32* kept, uint64* meetings,
                  uint32 words, const CachedShape shape) {
    GPUBENCH_DYNAMIC_SHARED(sum_t<T>, sums);
    if (grid_thread() < words) meetings[grid_thread()] = 0;
    add_pairs(Table<T>{sums, destination, shape}, source, index, pairs, kept, shape);
}

}  // namespace gpubench::index_add
