// cumsum, variant `carry_forward`: one row, or a few long ones, in a single pass by blocks that stay.
//
// Data: rows are cut into tiles; the blocks, one an SM, take tiles in turn (block b: tiles b, b + G, b + 2 G ...). Inside
// a block each warp has one role. The producer keeps a ring of stages in shared memory full by bulk copies. Reducers sum
// a stage as soon as it lands and publish the tile's sum in one word. The linker carries forward the sum up to the
// block's own previous tile and adds the sums of the G - 1 tiles in between, which the other blocks publish meanwhile: no
// tile waits for the end of another, so no chain runs through the grid. Consumers scan their part of a stage with the
// carry known and store it, coalesced. Every element is read once and written once. 8- and 16-bit integers are summed and
// scanned by words of several elements (movement/narrow.cuh).
// After decoupled look-back (Merrill and Garland 2016), whose chain of inclusive prefixes bounds it; here only sums of
// tiles travel. Fixed tiles and a fixed order of additions: bitwise the same from run to run, at no price.
// On one H200, 2^28 float32: decoupled look-back 714 us (0.71 of a device copy), this 545 us (0.93).
// All blocks must be resident at once (one an SM, by its shared memory; the host side launches no more).
#include "gpubench/grid/published.cuh"
#include "cumsum/ring_tiles.cuh"

namespace gpubench::cumsum {

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
    for (Walk<Stages> walk(rows, shared.first); walk.more(); walk.advance()) {
        const int stage = walk.stage();
        phase_wait(shared.empty + stage, walk.parity() ^ 1);  // at once in the first round
        const Tile tile = tile_at<R>(rows, y, walk);
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
        warp_copy(target + offset, reinterpret_cast<const void*>(low), static_cast<uint32>(high - low), shared.full + stage,
                  rows.streaming != 0);
    }
}

// The sum of the part of a tile that starts at slot `start`, for every lane.
template <class R, int Vectors, class T>
GPUBENCH_DEVICE typename R::A part_sum(const Source<T>& source, const Tile& tile, int start) {
    using A = typename R::A;
    if constexpr (R::packed) {
        typename R::Part part;
        part.load(source.slots + start, source.aligned, tile.begin - start, tile.end - start);
        return A{combine_lanes(part.sum(), Add{})};
    } else {
        constexpr int V = R::V;
        A sum{};
        Packed<T, V> raw[Vectors];
        load_span<V, Vectors>(raw, source.slots, part_span<R>(tile, start), source.aligned);
        GPUBENCH_UNROLL
        for (int k = 0; k < Vectors; ++k) {
            sum = add(sum, reduce_items<V>(unpack_items<V, A>(raw[k]), Add{}));
        }
        return combine_lanes(sum, Add{});
    }
}

template <class R, int Consumers, int Reducers, int Vectors, int Stages, class T, class Out>
GPUBENCH_DEVICE void reduce(const T* x, const Out* y, const RingRows& rows, const Shared<typename R::A>& shared, int warp,
                            void* published) {
    using A = typename R::A;
    for (Walk<Stages> walk(rows, shared.first); walk.more(); walk.advance()) {
        const int stage = walk.stage();
        const Tile tile = tile_at<R>(rows, y, walk);
        const Source<T> source = stage_source<R>(x, rows, tile, shared.stages, stage);
        phase_wait(shared.full + stage, walk.parity());
        for (int consumer = warp; consumer < Consumers; consumer += Reducers) {
            const A sum = part_sum<R, Vectors>(source, tile, consumer * R::part);
            if (lane_index() == 0) shared.sums[stage * Consumers + consumer] = sum;
        }
        if (!last_to_arrive(shared.arrived + stage, Reducers, warp)) continue;
        const A mine = lane_index() < Consumers ? shared.sums[stage * Consumers + lane_index()] : A{};
        const A total = combine_lanes(mine, Add{});
        if (lane_index() == 0) publish(published_at<A>(published, walk.index()), shared.launch, total);
        phase_arrive(shared.summed + stage);
    }
}

// Each lane's share of the sums of tiles `after` + 1 to `index` - 1, several reads under way at once. What is missing is asked for
// one word after the other: all at once, as AwaitedWords does, loads the L2 cache more (2^28 float32 561 us for 554).
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
    int previous = -1;
    A running{};  // the sum of the row up to and with tile `previous`
    for (Walk<Stages> walk(rows, shared.first); walk.more(); previous = walk.index(), walk.advance()) {
        const int stage = walk.stage();
        const int row_start = walk.index() - walk.number;
        if (previous < row_start) {
            previous = row_start - 1;
            running = A{};
        }
        phase_wait(shared.summed + stage, walk.parity());
        running = add(running, combine_lanes(fold_between<A>(published, shared.launch, previous, walk.index()), Add{}));
        const A mine = lane_index() < Consumers ? shared.sums[stage * Consumers + lane_index()] : A{};
        const A upto = scan_lanes(mine, Add{});
        const A left = shuffle_up(full_mask, upto, 1);
        if (lane_index() < Consumers) {
            shared.carries[stage * Consumers + lane_index()] = lane_index() == 0 ? running : add(running, left);
        }
        running = add(running, shuffle(full_mask, upto, warp_size - 1));
        block_memory_fence();
        phase_arrive(shared.ready + stage);
    }
}

// The carry of the consumer's part, once it is known; then the stage is free.
template <class A, int Consumers, int Stages>
GPUBENCH_DEVICE A take_carry(const Shared<A>& shared, const Walk<Stages>& walk, int warp) {
    phase_wait(shared.ready + walk.stage(), walk.parity());
    const A carry = shared.carries[walk.stage() * Consumers + warp];
    phase_arrive(shared.empty + walk.stage());
    return carry;
}

template <class R, int Consumers, int Vectors, int Stages, class T, class Out>
GPUBENCH_DEVICE void consume(const T* x, Out* y, const RingRows& rows, const Shared<typename R::A>& shared, int warp) {
    using A = typename R::A;
    const int start = warp * R::part;
    for (Walk<Stages> walk(rows, shared.first); walk.more(); walk.advance()) {
        const Tile tile = tile_at<R>(rows, y, walk);
        const Source<T> source = stage_source<R>(x, rows, tile, shared.stages, walk.stage());
        phase_wait(shared.full + walk.stage(), walk.parity());
        if constexpr (R::packed) {
            PackedWord* const exchange = reinterpret_cast<PackedWord*>(shared.stages + Stages * R::stage_bytes) + warp * R::Part::entries;
            typename R::Part part;
            part.load(source.slots + start, source.aligned, tile.begin - start, tile.end - start);
            part.scan(exchange);
            const A carry = take_carry<A, Consumers>(shared, walk, warp);
            R::Part::store(tile_target(y, rows, tile) + start, exchange, carry, tile.begin - start, tile.end - start);
        } else {
            constexpr int V = R::V;
            const Span span = part_span<R>(tile, start);
            Packed<T, V> raw[Vectors];
            load_span<V, Vectors>(raw, source.slots, span, source.aligned);
            Vector<A, V> items[Vectors];
            GPUBENCH_UNROLL
            for (int k = 0; k < Vectors; ++k) {
                items[k] = unpack_items<V, A>(raw[k]);
                scan_items<V>(items[k], Add{});
            }
            A run = take_carry<A, Consumers>(shared, walk, warp);
            GPUBENCH_UNROLL
            for (int k = 0; k < Vectors; ++k) {
                combine_before<V>(items[k], before_lane(scan_lanes(items[k][V - 1], Add{}), run, Add{}), Add{});
                store_items<V>(tile_target(y, rows, tile), span, k, items[k]);
            }
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
        if (thread_index_x() == 0) number[0] = launch_number(take_ticket(launches));
        if (warp == 0) phase_arrive(barriers + 4 * Stages);
        phase_wait(barriers + 4 * Stages, 0);
        shared.launch = number[0];
    }
    if (warp < Consumers) consume<R, Consumers, Vectors, Stages>(x, y, rows, shared, warp);
    else if (warp < Consumers + Reducers) reduce<R, Consumers, Reducers, Vectors, Stages>(x, y, rows, shared, warp - Consumers, published);
    else if (warp == Consumers + Reducers) produce<R, Stages>(x, y, rows, shared);
    else link<R, Consumers, Stages>(rows, shared, published);
}

}  // namespace gpubench::cumsum
