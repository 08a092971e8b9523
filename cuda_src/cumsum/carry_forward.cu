// cumsum, variant `carry_forward`: one row, or a few long ones, in a single pass by blocks that stay.
//
// Data: rows are cut into tiles; the blocks, one an SM, take tiles in turn (block b: tiles b, b + G, b + 2 G ...). Inside
// a block each warp has one role. The producer keeps a ring of stages in shared memory full by bulk copies. Reducers sum
// a stage as soon as it lands and publish the tile's sum in one word. The linker carries forward the sum up to the
// block's own previous tile and adds the sums of the G - 1 tiles in between, which the other blocks publish meanwhile: no
// tile waits for the end of another, so no chain runs through the grid. Consumers scan their part of a stage with the
// carry known and store it, coalesced. Every element is read once and written once.
// After decoupled look-back (Merrill and Garland 2016), whose chain of inclusive prefixes bounds it; here only sums of
// tiles travel. Fixed tiles and a fixed order of additions: bitwise the same from run to run, at no price.
// On one H200, 2^28 float32: decoupled look-back 714 us (0.71 of a device copy), this 545 us (0.93).
// All blocks must be resident at once (one an SM, by its shared memory; the host side launches no more).
#include "gpubench/pipeline.cuh"
#include "cumsum/items.cuh"

namespace gpubench::cumsum {

// The type of sums over a warp's part of a tile: 32 bits hold those of 8- and 16-bit integers (parts are far below 65536
// elements), which halves the shuffles.
template <class T, class A, bool Small = is_integer<T> && sizeof(T) <= 2>
struct PartSum {
    using type = A;
};
template <class T, class A>
struct PartSum<T, A, true> {
    using type = int32;
};
template <class T, class A>
using part_sum_t = typename PartSum<T, A>::type;

// The numbers of one instance. A warp's part of a tile is Vectors x 32 vectors of V elements; `tile` is the most that a
// tile holds. How long tiles are is told at run time, so that they fill whole turns of the blocks.
template <class T, class Out, int Consumers, int Vectors, int Stages>
struct Ring {
    using A = accumulator_t<Out>;
    static constexpr int V = vector_items<T, Out>;
    static constexpr int part = warp_size * Vectors * V;
    static constexpr int tile = Consumers * part;
    static constexpr int stage_bytes = (tile * static_cast<int>(sizeof(T)) + 48 + 15) / 16 * 16;
};

struct RingRows {
    long long length;   // of a row
    long long x_pitch;  // from row to row of x
    long long elements; // up to the last one of x that may be read
    int tiles_per_row;
    int tiles;
    int tile; // elements of a tile: whole vectors, at most Ring::tile
};

// One tile: where it stands. Slot s of it is element first + s of the row; only slots begin to end - 1 hold one.
struct Tile {
    int row, number;
    long long first;
    int begin, end;
};

template <class R, class Out>
GPUBENCH_DEVICE Tile tile_at(const RingRows& rows, const Out* y, int index) {
    Tile tile;
    tile.row = index / rows.tiles_per_row;
    tile.number = index - tile.row * rows.tiles_per_row;
    const int shift = empty_slots<R::V>(y, tile.row * rows.length);
    tile.first = static_cast<long long>(tile.number) * rows.tile - shift;
    tile.begin = tile.number == 0 ? shift : 0;
    const long long end = rows.length - tile.first;
    tile.end = end > rows.tile ? rows.tile : static_cast<int>(end);
    if (tile.end < tile.begin) tile.end = tile.begin;
    return tile;
}

// Where slot 0 of the tile stands in its stage: the copy keeps the address of x modulo 16.
template <class T>
GPUBENCH_DEVICE int stage_lead(const T* x, const RingRows& rows, const Tile& tile) {
    return 16 + static_cast<int>(reinterpret_cast<uint64>(x + tile.row * rows.x_pitch + tile.first) & 15);
}

// What the roles of a block share.
template <class A>
struct Shared {
    char* stages;
    PhaseBarrier *full, *summed, *ready, *empty;  // one a stage: copied; summed; carries known; read
    uint32* arrived;  // reducers that are done with the stage
    A *sums, *carries;  // one a stage and consumer
    int first;          // this block's first tile
    uint32 launch;      // number of this launch, from 1; the producer does without
};

template <class R, int Stages, class T, class Out>
GPUBENCH_DEVICE void produce(const T* x, const Out* y, const RingRows& rows, const Shared<typename R::A>& shared) {
    int turn = 0;
    for (int index = shared.first; index < rows.tiles; index += grid_size_x(), ++turn) {
        const int stage = turn % Stages;
        if (turn >= Stages) phase_wait(shared.empty + stage, (turn / Stages - 1) & 1);
        const Tile tile = tile_at<R>(rows, y, index);
        const T* const slot_0 = x + tile.row * rows.x_pitch + tile.first;
        char* const target = shared.stages + stage * R::stage_bytes + stage_lead(x, rows, tile);
        const uint64 low = reinterpret_cast<uint64>(slot_0 + tile.begin) & ~uint64{15};
        const uint64 stop = reinterpret_cast<uint64>(slot_0 + tile.end);
        const uint64 limit = reinterpret_cast<uint64>(x + rows.elements) & ~uint64{15};
        uint64 high = (stop + 15) & ~uint64{15};
        if (high > limit) high = limit;
        if (tile.end == tile.begin || high < low) high = low;
        // the last few elements of x, which no whole 16 bytes hold
        if (stop > high && tile.end > tile.begin) {
            int slot = static_cast<int>((static_cast<int64>(high - reinterpret_cast<uint64>(slot_0))) / static_cast<int>(sizeof(T)));
            if (slot < tile.begin) slot = tile.begin;
            slot += lane_index();
            if (slot < tile.end) reinterpret_cast<T*>(target)[slot] = slot_0[slot];
        }
        const int64 offset = static_cast<int64>(low - reinterpret_cast<uint64>(slot_0));
        warp_copy(target + offset, reinterpret_cast<const void*>(low), static_cast<uint32>(high - low), shared.full + stage);
    }
}

template <class R, int Consumers, int Reducers, int Vectors, int Stages, class T, class Out>
GPUBENCH_DEVICE void reduce(const T* x, const Out* y, const RingRows& rows, const Shared<typename R::A>& shared, int warp,
                            void* published) {
    using A = typename R::A;
    using Local = part_sum_t<T, A>;
    constexpr int V = R::V;
    int turn = 0;
    for (int index = shared.first; index < rows.tiles; index += grid_size_x(), ++turn) {
        const int stage = turn % Stages;
        const Tile tile = tile_at<R>(rows, y, index);
        const int lead = stage_lead(x, rows, tile);
        const T* const source = reinterpret_cast<const T*>(shared.stages + stage * R::stage_bytes + lead);
        const bool whole = lead % (V * static_cast<int>(sizeof(T))) == 0;
        phase_wait(shared.full + stage, (turn / Stages) & 1);
        for (int consumer = warp; consumer < Consumers; consumer += Reducers) {
            Local sum{};
            const int slot = consumer * R::part + lane_index() * V;
            const Span span{slot, warp_size * V, tile.begin - slot, tile.end - slot};
            Vector<T, V> raw[Vectors];
            load_span<V, Vectors>(raw, source, span, whole);
            GPUBENCH_UNROLL
            for (int k = 0; k < Vectors; ++k) {
                const Vector<Local, V> items = convert_items<V, Local>(raw[k]);
                Local local = items[0];
                GPUBENCH_UNROLL
                for (int j = 1; j < V; ++j) local = add(local, items[j]);
                sum = add(sum, local);
            }
            sum = sum_lanes(sum);
            if (lane_index() == 0) shared.sums[stage * Consumers + consumer] = convert<A>(sum);
        }
        bool last = false;
        if (lane_index() == 0) last = last_to_arrive(shared.arrived + stage, Reducers);
        if (!any(full_mask, last)) continue;
        const A mine = lane_index() < Consumers ? shared.sums[stage * Consumers + lane_index()] : A{};
        const A total = sum_lanes(mine);
        if (lane_index() == 0) {
            publish(published_at<A>(published, index), shared.launch, total);
            phase_arrive(shared.summed + stage);
        }
    }
}

// Each lane's share of the sums of tiles `after` + 1 to `index` - 1, several reads under way at once.
template <class A>
GPUBENCH_DEVICE A fold_between(void* published, uint32 launch, int after, int index) {
    constexpr int window = 5;
    A sum{};
    for (int top = index - 1; top > after; top -= window * warp_size) {
        A values[window];
        bool there[window];
        GPUBENCH_UNROLL
        for (int w = 0; w < window; ++w) {
            const int other = top - w * warp_size - lane_index();
            values[w] = A{};
            there[w] = other <= after || read_published(published_at<A>(published, other), launch, values[w]);
        }
        GPUBENCH_UNROLL
        for (int w = 0; w < window; ++w) {
            const int other = top - w * warp_size - lane_index();
            while (!there[w]) there[w] = read_published(published_at<A>(published, other), launch, values[w]);
            sum = add(sum, values[w]);
        }
        warp_barrier();  // lanes that had to wait longer rejoin the others
    }
    return sum;
}

template <class R, int Consumers, int Stages>
GPUBENCH_DEVICE void link(const RingRows& rows, const Shared<typename R::A>& shared, void* published) {
    using A = typename R::A;
    int turn = 0, previous = -1;
    A running{};  // the sum of the row up to and with tile `previous`
    for (int index = shared.first; index < rows.tiles; previous = index, index += grid_size_x(), ++turn) {
        const int stage = turn % Stages;
        const int row_start = index - index % rows.tiles_per_row;
        if (previous < row_start) {
            previous = row_start - 1;
            running = A{};
        }
        phase_wait(shared.summed + stage, (turn / Stages) & 1);
        const A between = fold_between<A>(published, shared.launch, previous, index);
        running = add(running, sum_lanes(between));
        const A mine = lane_index() < Consumers ? shared.sums[stage * Consumers + lane_index()] : A{};
        const A upto = scan_lanes(mine);
        const A left = shuffle_up(full_mask, upto, 1);
        if (lane_index() < Consumers) {
            shared.carries[stage * Consumers + lane_index()] = lane_index() == 0 ? running : add(running, left);
        }
        running = add(running, shuffle(full_mask, upto, warp_size - 1));
        block_memory_fence();
        warp_barrier();
        if (lane_index() == 0) phase_arrive(shared.ready + stage);
    }
}

template <class R, int Consumers, int Vectors, int Stages, class T, class Out>
GPUBENCH_DEVICE void consume(const T* x, Out* y, const RingRows& rows, const Shared<typename R::A>& shared, int warp) {
    using A = typename R::A;
    using Local = part_sum_t<T, A>;
    constexpr int V = R::V;
    int turn = 0;
    for (int index = shared.first; index < rows.tiles; index += grid_size_x(), ++turn) {
        const int stage = turn % Stages;
        const Tile tile = tile_at<R>(rows, y, index);
        const int lead = stage_lead(x, rows, tile);
        const T* const source = reinterpret_cast<const T*>(shared.stages + stage * R::stage_bytes + lead);
        const bool whole = lead % (V * static_cast<int>(sizeof(T))) == 0;
        const int start = warp * R::part + lane_index() * V;
        phase_wait(shared.full + stage, (turn / Stages) & 1);
        const Span span{start, warp_size * V, tile.begin - start, tile.end - start};
        Vector<T, V> raw[Vectors];
        load_span<V, Vectors>(raw, source, span, whole);
        Vector<Local, V> items[Vectors];
        GPUBENCH_UNROLL
        for (int k = 0; k < Vectors; ++k) {
            items[k] = convert_items<V, Local>(raw[k]);
            scan_items<V>(items[k]);
        }
        phase_wait(shared.ready + stage, (turn / Stages) & 1);
        const A carry = shared.carries[stage * Consumers + warp];
        Local run{};
        if constexpr (is_same<A, Local>) run = carry;
        warp_barrier();
        if (lane_index() == 0) phase_arrive(shared.empty + stage);
        Out* const target = y + tile.row * rows.length + tile.first;
        GPUBENCH_UNROLL
        for (int k = 0; k < Vectors; ++k) {
            add_to_items<V>(items[k], before_lane(scan_lanes(items[k][V - 1]), run));
            Vector<A, V> sums = convert_items<V, A>(items[k]);
            if constexpr (!is_same<A, Local>) add_to_items<V>(sums, carry);
            store_items<V>(target, span, k, sums);
        }
    }
}

// launches: a counter of started blocks, and published: one sum a tile; both zero before the first launch.
template <class T, class Out, int Consumers, int Reducers, int Vectors, int Stages>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS((Consumers + Reducers + 2) * warp_size, 1)
    carry_forward(const T* x, Out* y, RingRows rows, uint64* launches, void* published) {
    using R = Ring<T, Out, Consumers, Vectors, Stages>;
    using A = typename R::A;
    GPUBENCH_DYNAMIC_SHARED(char, stages);
    GPUBENCH_SHARED(PhaseBarrier, barriers, 4 * Stages + 1);
    GPUBENCH_SHARED(uint32, arrived, Stages);
    GPUBENCH_SHARED(A, sums, Stages * Consumers);
    GPUBENCH_SHARED(A, carries, Stages * Consumers);
    GPUBENCH_SHARED(uint32, number, 1);
    if (thread_index_x() == 0) {
        for (int stage = 0; stage < Stages; ++stage) {
            phase_init(barriers + stage, 1);
            phase_init(barriers + Stages + stage, 1);
            phase_init(barriers + 2 * Stages + stage, 1);
            phase_init(barriers + 3 * Stages + stage, Consumers);
            arrived[stage] = 0;
        }
        phase_init(barriers + 4 * Stages, 1);
        phase_init_done();
    }
    block_barrier();
    Shared<A> shared{stages, barriers, barriers + Stages, barriers + 2 * Stages, barriers + 3 * Stages, arrived, sums, carries,
                     static_cast<int>(block_index_x()), 0};
    const int warp = thread_index_x() / warp_size;
    if (warp != Consumers + Reducers) {  // the producer starts at once
        if (thread_index_x() == 0) {
            number[0] = launch_number(take_ticket(launches));
            phase_arrive(barriers + 4 * Stages);
        }
        phase_wait(barriers + 4 * Stages, 0);
        shared.launch = number[0];
    }
    if (warp < Consumers) consume<R, Consumers, Vectors, Stages>(x, y, rows, shared, warp);
    else if (warp < Consumers + Reducers) reduce<R, Consumers, Reducers, Vectors, Stages>(x, y, rows, shared, warp - Consumers, published);
    else if (warp == Consumers + Reducers) produce<R, Stages>(x, y, rows, shared);
    else link<R, Consumers, Stages>(rows, shared, published);
}

}  // namespace gpubench::cumsum
