// What the roles of a block of column_forward.cu share: the cut, the ring, and how a warp takes its rows of a stage.
#pragma once

#include "gpubench/pipeline.cuh"
#include "cumsum/items.cuh"
#include "cumsum/strip.cuh"

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
    static constexpr bool packed = Items == 1 && Lanes < warp_size;  // lanes and groups are as many as the columns allow
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
    static constexpr bool staged = is_same<T, Out> && Lanes <= warp_size && width * static_cast<int>(sizeof(T)) < 128;
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
    PhaseBarrier *full, *summed, *ready, *empty;  // one a stage: copied; summed; carries known; read
    PhaseBarrier* met;                            // of the linkers
    uint32* arrived;                              // reducers that are done with the stage
    A *before, *carries;  // a stage's: sums of the parts before each part; sums, then carries of the columns
    A* slices;            // the linkers' exchange
    uint32 launch;        // number of this launch, from 1; the producers do without
    char *tile_words, *group_words;  // of the strip: sums of tiles, of joined tiles

    // Columns that have sums, whether they exist or not.
    GPUBENCH_DEVICE int width() const { return F::packed ? columns : F::width; }
    // Lanes side by side in a warp; groups of them.
    GPUBENCH_DEVICE int across() const { return F::packed ? columns : F::across; }
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

// The rows of a stage that the calling lane takes, of one vector of columns; none beside the last column.
template <class T>
struct LaneRows {
    T* source;
    int column, part;
    int first, count;
};

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

// F::at_once of the lane's rows from `source` on, of which `count` exist; those beyond are zero.
template <bool Whole, class F, class T>
GPUBENCH_DEVICE void load_some(Packed<T, F::items> (&raw)[F::at_once], const T* source, int count, int pitch) {
    GPUBENCH_UNROLL
    for (int k = 0; k < F::at_once; ++k) {
        if constexpr (!Whole) raw[k] = Packed<T, F::items>{};
        if (Whole || k < count) raw[k] = load_packed<F::items>(source + k * pitch);
    }
}

template <bool Whole, class F, class T>
GPUBENCH_DEVICE void sum_some(Vector<typename F::A, F::items>& sum, const T* source, int count, int pitch) {
    Packed<T, F::items> raw[F::at_once];
    load_some<Whole, F>(raw, source, count, pitch);
    GPUBENCH_UNROLL
    for (int k = 0; k < F::at_once; ++k) add_vector(sum, unpack_items<F::items, typename F::A>(raw[k]));
}

// The sums of the lane's rows. No question is asked of each row while F::at_once of them exist.
template <class F, class T>
GPUBENCH_DEVICE Vector<typename F::A, F::items> sum_lane(const LaneRows<T>& mine, int pitch) {
    Vector<typename F::A, F::items> sum{};
    const T* source = mine.source;
    int row = 0;
    GPUBENCH_NO_UNROLL
    for (; row + F::at_once <= mine.count; row += F::at_once) {
        sum_some<true, F>(sum, source, F::at_once, pitch);
        source += F::at_once * pitch;
    }
    if (row < mine.count) sum_some<false, F>(sum, source, mine.count - row, pitch);
    warp_barrier();  // lanes with fewer rows wait for the others
    return sum;
}

// From the sums of each lane's rows to those of the groups before it in the warp.
template <class F>
GPUBENCH_DEVICE void sums_before_group(Vector<typename F::A, F::items>& sum, int across, int lanes) {
    using A = typename F::A;
    GPUBENCH_NO_UNROLL  // unrolled, the shuffles of all items are under way at once, and registers run out
    for (int delta = across; delta < lanes; delta *= 2) {
        GPUBENCH_UNROLL
        for (int j = 0; j < F::items; ++j) {
            const int place = opaque(lane_index());
            const A other = shuffle_up(full_mask, sum[j], delta);
            if (place >= delta) sum[j] = add(other, sum[j]);
        }
    }
    GPUBENCH_UNROLL
    for (int j = 0; j < F::items; ++j) {
        const int place = opaque(lane_index());
        const A left = shuffle_up(full_mask, sum[j], across % warp_size);
        sum[j] = A{};
        if (place >= across) sum[j] = left;
    }
}

// The sums of all groups, for the first of them.
template <class F>
GPUBENCH_DEVICE void sum_groups(Vector<typename F::A, F::items>& sum, int across, int lanes) {
    if constexpr (F::packed) {
        const int place = opaque(lane_index());
        for (int delta = across; delta < lanes; delta *= 2) {
            const typename F::A other = shuffle_down(full_mask, sum[0], delta);
            if (place + delta < lanes) sum[0] = add(sum[0], other);
        }
    } else {
        GPUBENCH_UNROLL
        for (int j = 0; j < F::items; ++j) {
            GPUBENCH_UNROLL
            for (int bits = F::across; bits < warp_size; bits *= 2) sum[j] = add(sum[j], shuffle_xor(full_mask, sum[j], bits));
        }
    }
}

// The part's rows, summed in place in the stage, leave for y as one run: whole vectors wherever it begins.
template <class F, class T, class Out>
GPUBENCH_DEVICE void store_run(const ForwardBlock<F, T, Out>& block, const ForwardShape& shape, const ForwardTurn& turn, int part) {
    constexpr int V = vector_items<T, Out>;
    constexpr int K = 2;
    const int first = part * block.groups() * shape.group_rows;
    int rows = turn.rows(shape) - first;
    if (rows > block.groups() * shape.group_rows) rows = block.groups() * shape.group_rows;
    if (rows <= 0) return;
    Out* target = block.target + (turn.row(shape) + first) * block.columns;
    const int begin = empty_slots<V>(target, 0);
    const int end = begin + rows * block.columns;
    target -= begin;
    const T* const source = staged_tile(block, shape, turn) + first * block.columns - begin;
    const bool whole = is_aligned(source, V * static_cast<int>(sizeof(T)));
    for (int base = lane_index() * V; base - lane_index() * V < end; base += K * warp_size * V) {
        const Span span{base, warp_size * V, begin - base, end - base};
        Packed<T, V> raw[K];
        load_span<V, K>(raw, source, span, whole);
        GPUBENCH_UNROLL
        for (int k = 0; k < K; ++k) store_packed_items<V>(target, span, k, raw[k]);
    }
}

template <bool Whole, class F, class T, class Out>
GPUBENCH_DEVICE void add_some(Vector<typename F::A, F::items>& sum, const T* source, int count, int columns, Out* place, long long pitch) {
    Packed<T, F::items> raw[F::at_once];
    load_some<Whole, F>(raw, source, count, columns);
    GPUBENCH_UNROLL
    for (int k = 0; k < F::at_once; ++k) {
        add_vector(sum, unpack_items<F::items, typename F::A>(raw[k]));
        if (Whole || k < count) store_packed(place + k * pitch, pack_items<F::items, Out>(sum));
    }
}

// Add up the lane's rows from `sum` on, each into a row of `place`.
template <class F, class T, class Out>
GPUBENCH_DEVICE void add_rows(Vector<typename F::A, F::items> sum, const LaneRows<T>& mine, int columns, Out* place, long long pitch) {
    const T* source = mine.source;
    int row = 0;
    GPUBENCH_NO_UNROLL
    for (; row + F::at_once <= mine.count; row += F::at_once) {
        add_some<true, F>(sum, source, F::at_once, columns, place, pitch);
        source += F::at_once * columns;
        place += F::at_once * pitch;
    }
    if (row < mine.count) add_some<false, F>(sum, source, mine.count - row, columns, place, pitch);
    warp_barrier();
}

// Rows side by side, at any alignment: whole 16 bytes by one copy; the last few elements of x, which none holds, one by one.
template <class T>
GPUBENCH_DEVICE void copy_run(char* stage, const T* start, const T* stop, const T* end_of_x, PhaseBarrier* full, bool streaming) {
    const uint64 low = reinterpret_cast<uint64>(start) & ~uint64{15};
    const uint64 limit = reinterpret_cast<uint64>(end_of_x) & ~uint64{15};
    uint64 high = (reinterpret_cast<uint64>(stop) + 15) & ~uint64{15};
    if (high > limit) high = limit;
    if (high < low) high = low;
    const T* rest = reinterpret_cast<const T*>(high);
    if (rest < start) rest = start;
    rest += lane_index();
    if (rest < stop) *reinterpret_cast<T*>(stage + (reinterpret_cast<uint64>(rest) - low)) = *rest;
    const uint32 bytes = static_cast<uint32>(high - low);
    if (streaming) warp_copy<Cache::streaming>(stage, reinterpret_cast<const void*>(low), bytes, full);
    else warp_copy(stage, reinterpret_cast<const void*>(low), bytes, full);
}

}  // namespace gpubench::cumsum
