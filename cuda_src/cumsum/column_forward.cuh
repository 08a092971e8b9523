// What the roles of a block of column_forward.cu share: the cut, the ring, and which rows of a stage a warp takes.
#pragma once

#include "gpubench/block/column_scan.cuh"
#include "gpubench/grid/gather.cuh"
#include "gpubench/movement/bulk_run.cuh"
#include "gpubench/movement/strips.cuh"

namespace gpubench::cumsum {

struct ForwardShape {
    long long length, inner;    // rows of a column; columns side by side
    long long x_outer, x_row;   // distances in x; y is contiguous
    long long strips;           // in one outer block
    long long elements;         // of x, up to the last one that may be read
    int tiles, share;           // of a strip; blocks that take them in turn
    int tile_rows, group_rows;  // rows of a tile; of those that one group of lanes takes
    int joined;                 // tiles whose sums are joined before they travel on; 1: each travels by itself
    int groups;                 // of so many tiles in a strip
    int stages, stage_bytes;
    int streaming;  // whether the L2 cache gives up x first
};
GPUBENCH_LAYOUT(ForwardShape, 88, streaming, 80);

constexpr int most_stages = 8;

// The numbers of one instance. A part of a tile is what one warp takes, or a team of warps side by side where a row has
// more lanes than a warp.
template <class T, class Out, int Items, int Lanes, int Consumers, int Reducers, int Linkers, int Joiners, int Producers>
struct Forward {
    using A = accumulator_t<Out>;
    static constexpr int items = Items;
    static constexpr int width = Lanes * Items;  // columns of a strip
    static constexpr int across = Lanes < warp_size ? Lanes : warp_size;
    static constexpr int team = Lanes / across;
    static constexpr int groups = warp_size / across;  // of lanes in a warp, each with rows of its own
    // Narrow strips: lanes and groups are as many as the columns allow, so that one instance serves all of them. 16-bit floats
    // and float64 lost 3 to 6 % by that, so that vectors of them have it in the narrowest only.
    static constexpr bool packed = Lanes < (Items == 1 || sizeof(T) == 4 || !is_same<T, Out> ? warp_size : 8);
    static constexpr int parts = Consumers / team;
    static constexpr int consumers = Consumers, reducers = Reducers, producers = Producers;
    static constexpr int linkers = Linkers * warp_size, joiners = Joiners * warp_size;  // threads
    static constexpr int wide = width > warp_size ? width : warp_size;
    static constexpr int slices = linkers / wide;             // linker warps that share the words of a column
    static constexpr int step = linkers / width;              // words of a column that are read side by side
    static constexpr int carriers = wide / warp_size;         // linker warps that know the carry
    static constexpr int words = (12 + step - 1) / step;  // of a list that one thread reads, where 132 blocks share a strip
    static constexpr int most_words = sizeof(A) <= 4 ? 4 : sizeof(A) <= 8 ? 2 : 1;
    static constexpr int window = words < most_words ? words : most_words;  // under way at once; more would spill
    static constexpr int join_window = sizeof(A) <= 4 ? 12 : 2 * most_words;  // of one list: all that 132 blocks have, in one trip
    // narrow rows that lie side by side are put together in the stage and leave as whole vectors
    static constexpr bool staged = is_same<T, Out> && (packed || (Lanes <= warp_size && width * static_cast<int>(sizeof(T)) < 128));
    static constexpr int staged_bytes = packed ? 64 : 128;  // of the longest row that is
    static constexpr int at_once = staged && Items == 8 ? 2 : 4;  // rows of a lane under way; more would spill
    static_assert(linkers % wide == 0 && Consumers % team == 0);
};

// What a block works on, and what its warps share.
template <class F, class T, class Out>
struct ForwardBlock {
    using A = typename F::A;
    const T *source, *limit;  // first row of the strip; behind the last element of x
    Out* target;
    int columns;      // that exist
    int packed_groups;  // of lanes in a warp, where that depends on the columns
    bool contiguous;  // the rows of x lie side by side
    int first;        // this block's first tile
    char* stages;
    StageBarriers full, summed, ready, empty;  // copied; summed; carries known; read
    StageBarriers met;                         // of the linkers
    uint32* arrived;                              // reducers that are done with the stage
    A *before, *carries;  // a stage's: sums of the parts before each part; sums, then carries of the columns
    A* slices;            // the linkers' exchange
    uint32 launch;        // number of this launch, from 1; the producers do without
    char *tile_words, *group_words;  // of the strip: sums of tiles, of joined tiles

    // Columns that have sums, whether they exist or not.
    GPUBENCH_DEVICE int width() const { return F::packed ? columns : F::width; }
    // Lanes side by side in a warp; groups of them.
    GPUBENCH_DEVICE int across() const { return F::packed ? columns / F::items : F::across; }
    GPUBENCH_DEVICE int groups() const { return F::packed ? packed_groups : F::groups; }
    GPUBENCH_DEVICE char* word(char* words, int number, int column) const {
        return words + (static_cast<long long>(number) * F::width + column) * Published<A>::bytes;
    }
};

// A block's way through its tiles and the ring.
struct ForwardTurn {
    int tile, stage;
    uint32 phase;
    bool again;  // the stage has been used before

    GPUBENCH_DEVICE void next(const ForwardShape& shape) {
        tile += shape.share;
        if (++stage < shape.stages) return;
        stage = 0;
        phase ^= 1;
        again = true;
    }
    GPUBENCH_DEVICE long long row(const ForwardShape& shape) const { return static_cast<long long>(tile) * shape.tile_rows; }
    GPUBENCH_DEVICE int rows(const ForwardShape& shape) const {
        const long long left = shape.length - row(shape);
        return left < shape.tile_rows ? static_cast<int>(left) : shape.tile_rows;
    }
};

// Where the tile starts in its stage: a copy of rows side by side keeps the address of x modulo 16.
template <class F, class T, class Out>
GPUBENCH_DEVICE T* staged_tile(const ForwardBlock<F, T, Out>& block, const ForwardShape& shape, const ForwardTurn& turn) {
    const uint64 start = reinterpret_cast<uint64>(block.source + turn.row(shape) * shape.x_row);
    return reinterpret_cast<T*>(block.stages + turn.stage * shape.stage_bytes + (block.contiguous ? static_cast<int>(start & 15) : 0));
}

template <class F, class T, class Out>
GPUBENCH_DEVICE LaneRows<T> lane_rows(const ForwardBlock<F, T, Out>& block, const ForwardShape& shape, const ForwardTurn& turn, int unit) {
    LaneRows<T> mine;
    mine.part = unit / F::team;
    const int group = lane_index() / block.across();
    mine.column = (unit % F::team * F::across + lane_index() - group * block.across()) * F::items;
    mine.first = (mine.part * block.groups() + group) * shape.group_rows;
    const int left = turn.rows(shape) - mine.first;
    mine.count = left < shape.group_rows ? left : shape.group_rows;
    if (mine.column >= block.columns || group >= block.groups()) mine.count = 0;
    mine.source = staged_tile(block, shape, turn) + mine.first * block.columns + mine.column;
    return mine;
}

// A part's rows, summed in place in the stage, leave for y.
template <class F, class T, class Out>
GPUBENCH_DEVICE void store_part(const ForwardBlock<F, T, Out>& block, const ForwardShape& shape, const ForwardTurn& turn, int part) {
    const int first = part * block.groups() * shape.group_rows;
    int rows = turn.rows(shape) - first;
    if (rows > block.groups() * shape.group_rows) rows = block.groups() * shape.group_rows;
    if (rows <= 0) return;
    store_run<2>(staged_tile(block, shape, turn) + first * block.columns, block.target + (turn.row(shape) + first) * block.columns,
                 rows * block.columns);
}

}  // namespace gpubench::cumsum
