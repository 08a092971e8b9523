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
#include "gpubench/grid/gather.cuh"
#include "gpubench/movement/bulk_run.cuh"
#include "cumsum/ring_tiles.cuh"

namespace gpubench::cumsum {

// What the roles of a block share.
template <class A>
struct Shared {
    char* stages;
    StageBarriers full, summed, ready, empty;  // copied; summed; carries known; read
    uint32* arrived;  // reducers that are done with the stage
    A *sums, *carries;  // one a stage and consumer
    int first;          // this block's first tile
    uint32 launch;      // number of this launch, from 1; the producer does without
};

template <class R, int Stages, class T, class Out>
GPUBENCH_DEVICE void produce(const T* x, const Out* y, const RingRows& rows, const Shared<typename R::A>& shared) {
    for (Walk<Stages> walk(rows, shared.first); walk.more(); walk.advance()) {
        const int stage = walk.stage();
        shared.empty.wait(stage, walk.parity() ^ 1);  // at once in the first round
        const Tile tile = tile_at<R>(rows, y, walk);
        const T* const slot_0 = x + tile.row * rows.x_pitch + tile.first;
        const T* const start = slot_0 + tile.begin;
        char* const place = shared.stages + stage * R::stage_bytes + stage_lead(x, rows, tile) + tile.begin * static_cast<int>(sizeof(T));
        char* const target = place - (reinterpret_cast<uint64>(start) & 15);  // where the 16 bytes begin that hold the first element
        copy_run(target, start, slot_0 + tile.end, x + rows.elements, shared.full.at(stage), rows.streaming != 0);
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
            sum = add(sum, reduce_items<R::N>(unpack_sides<typename R::Sum, R::side>(raw[k]), Add{}));
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
        shared.full.wait(stage, walk.parity());
        for (int consumer = warp; consumer < Consumers; consumer += Reducers) {
            const A sum = part_sum<R, Vectors>(source, tile, consumer * R::part);
            if (lane_index() == 0) shared.sums[stage * Consumers + consumer] = sum;
        }
        if (!last_to_arrive(shared.arrived + stage, Reducers, warp)) continue;
        const A mine = lane_index() < Consumers ? shared.sums[stage * Consumers + lane_index()] : A{};
        const A total = combine_lanes(mine, Add{});
        if (lane_index() == 0) publish(published_at<A>(published, walk.index()), shared.launch, total);
        shared.summed.arrive(stage);
    }
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
        shared.summed.wait(stage, walk.parity());
        running = add(running, combine_lanes(gather_between(published, shared.launch, previous, walk.index(), A{}, Add{}), Add{}));
        const A mine = lane_index() < Consumers ? shared.sums[stage * Consumers + lane_index()] : A{};
        const A upto = scan_lanes(mine, Add{});
        const A left = shuffle_up(full_mask, upto, 1);
        if (lane_index() < Consumers) {
            shared.carries[stage * Consumers + lane_index()] = lane_index() == 0 ? running : add(running, left);
        }
        running = add(running, shuffle(full_mask, upto, warp_size - 1));
        block_memory_fence();
        shared.ready.arrive(stage);
    }
}

// The carry of the consumer's part, once it is known; then the stage is free.
template <class A, int Consumers, int Stages>
GPUBENCH_DEVICE A take_carry(const Shared<A>& shared, const Walk<Stages>& walk, int warp) {
    shared.ready.wait(walk.stage(), walk.parity());
    const A carry = shared.carries[walk.stage() * Consumers + warp];
    shared.empty.arrive(walk.stage());
    return carry;
}

template <class R, int Consumers, int Vectors, int Stages, class T, class Out>
GPUBENCH_DEVICE void consume(const T* x, Out* y, const RingRows& rows, const Shared<typename R::A>& shared, int warp) {
    using A = typename R::A;
    const int start = warp * R::part;
    for (Walk<Stages> walk(rows, shared.first); walk.more(); walk.advance()) {
        const Tile tile = tile_at<R>(rows, y, walk);
        const Source<T> source = stage_source<R>(x, rows, tile, shared.stages, walk.stage());
        shared.full.wait(walk.stage(), walk.parity());
        if constexpr (R::packed) {
            PackedWord* const exchange = reinterpret_cast<PackedWord*>(shared.stages + Stages * R::stage_bytes) + warp * R::Part::entries;
            typename R::Part part;
            part.load(source.slots + start, source.aligned, tile.begin - start, tile.end - start);
            part.scan(exchange);
            const A carry = take_carry<A, Consumers>(shared, walk, warp);
            R::Part::store(tile_target(y, rows, tile) + start, exchange, carry, tile.begin - start, tile.end - start);
        } else {
            constexpr int V = R::V, N = R::N;
            const Span span = part_span<R>(tile, start);
            Packed<T, V> raw[Vectors];
            load_span<V, Vectors>(raw, source.slots, span, source.aligned);
            Vector<A, N> items[Vectors];
            GPUBENCH_UNROLL
            for (int k = 0; k < Vectors; ++k) {
                items[k] = unpack_sides<typename R::Sum, R::side>(raw[k]);
                scan_items<N>(items[k], Add{});
            }
            A run = take_carry<A, Consumers>(shared, walk, warp);
            GPUBENCH_UNROLL
            for (int k = 0; k < Vectors; ++k) {
                combine_before<N>(items[k], before_lane(scan_lanes(items[k][N - 1], Add{}), run, Add{}), Add{});
                store_items<V>(tile_target(y, rows, tile), span, k, in_elements(items[k]));
            }
        }
    }
}

// launches: a counter of started blocks, and published: one sum a tile; both zero before the first launch.
// Side: so many columns stand side by side in a row, a power of two; y begins on as many elements.
template <class T, class Out, int Consumers, int Reducers, int Vectors, int Stages, int Side = 1>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS((Consumers + Reducers + 2) * warp_size, 1)
    carry_forward(const T* x, Out* y, RingRows rows, uint64* launches, void* published) {
    using R = Ring<T, Out, Consumers, Vectors, Stages, Side>;
    using A = typename R::A;
    GPUBENCH_DYNAMIC_SHARED(char, stages);
    GPUBENCH_SHARED(PhaseBarrier, barriers, 4 * Stages + 1);
    GPUBENCH_SHARED(uint32, arrived, Stages);
    GPUBENCH_SHARED(A, sums, Stages * Consumers);
    GPUBENCH_SHARED(A, carries, Stages * Consumers);
    GPUBENCH_SHARED(uint32, number, 1);
    const StageBarriers full{barriers}, summed{barriers + Stages}, ready{barriers + 2 * Stages}, empty{barriers + 3 * Stages};
    const StageBarriers told{barriers + 4 * Stages};
    make_barriers([&] {
        for (int stage = 0; stage < Stages; ++stage) {
            full.make(stage, 1);
            summed.make(stage, 1);
            ready.make(stage, 1);
            empty.make(stage, Consumers);
            arrived[stage] = 0;
        }
        told.make(0, 1);
    });
    Shared<A> shared{stages, full, summed, ready, empty, arrived, sums, carries, static_cast<int>(block_index_x()), 0};
    const int warp = thread_index_x() / warp_size;
    if (warp != Consumers + Reducers) {  // the producer starts at once
        if (thread_index_x() == 0) number[0] = launch_number(take_ticket(launches));
        follow_first_warp(told.at(0), warp);
        shared.launch = number[0];
    }
    if (warp < Consumers) consume<R, Consumers, Vectors, Stages>(x, y, rows, shared, warp);
    else if (warp < Consumers + Reducers) reduce<R, Consumers, Reducers, Vectors, Stages>(x, y, rows, shared, warp - Consumers, published);
    else if (warp == Consumers + Reducers) produce<R, Stages>(x, y, rows, shared);
    else link<R, Consumers, Stages>(rows, shared, published);
}

}  // namespace gpubench::cumsum
