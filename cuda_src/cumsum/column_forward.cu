// cumsum, variant `column_forward`: sums down columns, few and long ones above all, by blocks whose warps have roles.
//
// Data: carry_forward.cu with a row of columns in the place of an element. A strip of columns is cut into tiles of rows;
// `share` resident blocks take its tiles in turn. Producers keep a ring of stages in shared memory full by bulk copies:
// one a tile where the strip is the whole of rows that lie side by side (any alignment), else one a row (on 16 bytes).
// Reducers sum the columns of each part of a stage as it lands; the last of them turns the parts' sums into those before
// each part and publishes one word a column. Linkers carry the sums forward over the tiles in between. Consumers take a
// part each: lanes side by side a row, groups of lanes consecutive rows, joined by shuffles; they add the carry and store
// by vectors. Narrow rows are summed in place in the stage and leave as one run of whole vectors.
// Where many blocks share a strip the words travel in two steps: joiners of the block that takes the last of `joined` tiles
// publish the sum of them all, so a block reads about 2 * sqrt(share) words a column and tile in place of `share`.
// One block a strip (`share` 1): nothing is exchanged, the carry is the linkers' running sum.
// Against one ring of stages whose warps all wait, sum, publish, fold, add and store, one after the other and between block
// barriers: here each step is hidden behind the others. On one H200, float32: 262144 x 64 47.1 us (55 by that ring), 1000000
// x 32 81.4 (97), 1000000 x 9 32.2 (48); a copy of the same bytes 36, 65 and 21.
// The loops over tiles are not unrolled: copies of what a role does were a fifth of the machine code, and 0.6 % of the time.
// Fixed tiles and a fixed order of additions: bitwise the same from run to run. All blocks of a shared strip must be resident.
#include "gpubench/arithmetic.cuh"
#include "cumsum/column_forward.cuh"

namespace gpubench::cumsum {

template <class F, class T, class Out>
GPUBENCH_DEVICE void produce(const ForwardBlock<F, T, Out>& block, const ForwardShape& shape, int producer) {
    if (block.contiguous && producer > 0) return;
    ForwardTurn turn{block.first, 0, 0, false};
    GPUBENCH_NO_UNROLL
    for (; turn.tile < shape.tiles; turn.next(shape)) {
        if (turn.again) block.empty.wait(turn.stage, turn.phase ^ 1);
        const int rows = turn.rows(shape);
        const T* const start = block.source + turn.row(shape) * shape.x_row;
        char* const stage = block.stages + turn.stage * shape.stage_bytes;
        if (block.contiguous) {
            copy_run(stage, start, start + static_cast<long long>(rows) * block.columns, block.limit, block.full.at(turn.stage),
                     shape.streaming != 0);
            continue;
        }
        copy_part_of_rows(stage, start, rows, block.columns, shape.x_row, (shape.tile_rows + F::producers - 1) / F::producers, producer,
                          block.full.at(turn.stage));
    }
}

// The last reducer of a stage: sums of the parts become sums before each part; the tile's sums are published.
template <class F, class T, class Out>
GPUBENCH_DEVICE void finish_sums(const ForwardBlock<F, T, Out>& block, const ForwardShape& shape, const ForwardTurn& turn) {
    using A = typename F::A;
    constexpr int parts_at_once = F::parts % 4 == 0 ? 4 : 3;
    static_assert(F::parts % parts_at_once == 0);
    GPUBENCH_NO_UNROLL
    for (int column = lane_index(); column < block.width(); column += warp_size) {
        A* const sums = block.before + turn.stage * (F::parts * F::width) + column;
        A sum{};
        for (int part = 0; part < F::parts; part += parts_at_once) {
            A values[parts_at_once];
            GPUBENCH_UNROLL
            for (int k = 0; k < parts_at_once; ++k) values[k] = sums[(part + k) * F::width];
            GPUBENCH_UNROLL
            for (int k = 0; k < parts_at_once; ++k) {
                sums[(part + k) * F::width] = sum;
                sum = add(sum, values[k]);
            }
        }
        if (shape.share > 1 && column < block.columns) publish(block.word(block.tile_words, turn.tile, column), block.launch, sum);
        block.carries[turn.stage * F::width + column] = sum;
    }
    block_memory_fence();
    block.summed.arrive(turn.stage);
}

template <class F, class T, class Out>
GPUBENCH_DEVICE void reduce(const ForwardBlock<F, T, Out>& block, const ForwardShape& shape, int warp) {
    using A = typename F::A;
    ForwardTurn turn{block.first, 0, 0, false};
    GPUBENCH_NO_UNROLL
    for (; turn.tile < shape.tiles; turn.next(shape)) {
        block.full.wait(turn.stage, turn.phase);
        GPUBENCH_NO_UNROLL
        for (int unit = warp; unit < F::consumers; unit += F::reducers) {
            const LaneRows<T> mine = lane_rows(block, shape, turn, unit);
            Vector<A, F::items> sum = reduce_rows<F>(mine, block.columns, Add{});
            A* const place = block.before + (turn.stage * F::parts + mine.part) * F::width + mine.column;
            reduce_lane_groups<F>(sum, block.across(), block.across() * block.groups(), Add{});
            if (lane_index() < block.across()) store_totals(place, sum);
        }
        if (last_to_arrive(block.arrived + turn.stage, F::reducers, warp)) finish_sums(block, shape, turn);
    }
}

template <class F>
using LinkerWords = AwaitedWords<typename F::A, F::width, F::step, F::window>;

// All words of two lists, of which the first have been asked for; both lists' words are under way at once.
template <class F>
GPUBENCH_DEVICE void fold_words(LinkerWords<F>& one, LinkerWords<F>& other, uint32 launch, typename F::A& sum, typename F::A& other_sum) {
    while (true) {
        one.take(launch, sum, Add{});
        other.take(launch, other_sum, Add{});
        if (!one.more() && !other.more()) break;
        one.ask(launch);
        other.ask(launch);
    }
    warp_barrier();  // lanes that had to wait longer rejoin the others
}

// Join two sums of each column over all linkers; the first F::width of them get the result.
template <class F, class T, class Out>
GPUBENCH_DEVICE void join_linkers(const ForwardBlock<F, T, Out>& block, int thread, uint32& meeting, typename F::A& one,
                                  typename F::A& other) {
    using A = typename F::A;
    GPUBENCH_UNROLL
    for (int bits = F::width; bits < warp_size; bits *= 2) {
        one = add(one, shuffle_xor(full_mask, one, bits));
        other = add(other, shuffle_xor(full_mask, other, bits));
    }
    if constexpr (F::slices == 1) return;
    A* const table = block.slices + meeting % 2 * (2 * F::linkers);
    table[thread] = one;
    table[F::linkers + thread] = other;
    block_memory_fence();
    block.met.arrive(0);
    block.met.wait(0, meeting++ % 2);
    if (thread >= F::wide) return;
    GPUBENCH_UNROLL
    for (int slice = 1; slice < F::slices; ++slice) {
        one = add(one, table[slice * F::wide + thread]);
        other = add(other, table[F::linkers + slice * F::wide + thread]);
    }
}

// One block a strip: the carry is the sum of the tiles so far.
template <class F, class T, class Out>
GPUBENCH_DEVICE void carry_on(const ForwardBlock<F, T, Out>& block, const ForwardShape& shape, int thread) {
    using A = typename F::A;
    if (thread >= F::wide) return;
    A running{};
    ForwardTurn turn{block.first, 0, 0, false};
    GPUBENCH_NO_UNROLL
    for (; turn.tile < shape.tiles; turn.next(shape)) {
        block.summed.wait(turn.stage, turn.phase);
        if (thread < block.width()) {
            A* const carry = block.carries + turn.stage * F::width + thread;  // the tile's sum, until the carry replaces it
            const A sum = *carry;
            *carry = running;
            running = add(running, sum);
        }
        block_memory_fence();
        block.ready.arrive(turn.stage);
    }
}

// The linkers: `thread` t reads words of column t % width. `running`: the sums of all joined tiles before `seen`. The words of
// the next tile are on their way while this one's carry is handed on.
template <class F, class T, class Out>
GPUBENCH_DEVICE void link(const ForwardBlock<F, T, Out>& block, const ForwardShape& shape, int thread) {
    using A = typename F::A;
    const int column = thread % F::width, skip = thread / F::width;
    const bool mine = column < block.columns;
    int seen = 0;
    uint32 meeting = 0;
    A running{};
    LinkerWords<F> inside, before;
    inside.place = block.word(block.tile_words, 0, column);
    before.place = block.word(block.group_words, 0, column);
    const auto look = [&](int tile) {
        const int group = tile / shape.joined;
        inside.next = group * shape.joined + skip;
        inside.stop = mine ? tile : 0;
        before.next = seen + skip;
        before.stop = mine ? group : 0;
        inside.ask(block.launch);
        before.ask(block.launch);
        seen = group;
    };
    ForwardTurn turn{block.first, 0, 0, false};
    if (turn.tile < shape.tiles) look(turn.tile);
    GPUBENCH_NO_UNROLL
    for (; turn.tile < shape.tiles; turn.next(shape)) {
        A near{}, far{};
        fold_words<F>(inside, before, block.launch, near, far);
        if (turn.tile + shape.share < shape.tiles) look(turn.tile + shape.share);
        join_linkers(block, thread, meeting, near, far);
        running = add(running, far);
        block.summed.wait(turn.stage, turn.phase);  // the reducers write where the carry goes
        if (thread < block.width()) block.carries[turn.stage * F::width + column] = add(running, near);
        if (thread >= F::wide) continue;
        block_memory_fence();
        block.ready.arrive(turn.stage);
    }
}

// The joiners of a block that takes the last of `joined` tiles: the sum of them all, for everyone. They know nothing of
// the ring, so that a sum is published as soon as the tiles have landed, however far the linkers are behind.
template <class F, class T, class Out>
GPUBENCH_DEVICE void join(const ForwardBlock<F, T, Out>& block, const ForwardShape& shape, int thread) {
    using A = typename F::A;
    if (shape.joined == 1) return;
    GPUBENCH_NO_UNROLL
    for (int tile = block.first; tile < shape.tiles; tile += shape.share) {
        const int group = tile / shape.joined, first = group * shape.joined;
        if (tile != first + shape.joined - 1) continue;
        GPUBENCH_NO_UNROLL
        for (int column = thread; column < block.columns; column += F::joiners) {
            AwaitedWords<A, F::width, 1, F::join_window> words{block.word(block.tile_words, 0, column), first, tile + 1, {}};
            A sum{};
            words.take_all(block.launch, sum, Add{});
            publish(block.word(block.group_words, group, column), block.launch, sum);
        }
        warp_barrier();
    }
}

template <class F, class T, class Out>
GPUBENCH_DEVICE void consume(const ForwardBlock<F, T, Out>& block, const ForwardShape& shape, int warp) {
    using A = typename F::A;
    ForwardTurn turn{block.first, 0, 0, false};
    GPUBENCH_NO_UNROLL
    for (; turn.tile < shape.tiles; turn.next(shape)) {
        const LaneRows<T> mine = lane_rows(block, shape, turn, warp);
        block.full.wait(turn.stage, turn.phase);
        Vector<A, F::items> sum = reduce_rows<F>(mine, block.columns, Add{});
        scan_lane_groups<F>(sum, block.across(), block.across() * block.groups(), Add{});
        block.ready.wait(turn.stage, turn.phase);
        const A* const before = block.before + (turn.stage * F::parts + mine.part) * F::width + mine.column;
        combine_items(sum, load_totals<F::items>(before), Add{});
        combine_items(sum, load_totals<F::items>(block.carries + turn.stage * F::width + mine.column), Add{});
        bool staged = false;
        if constexpr (F::staged) {
            staged = block.contiguous && block.columns * static_cast<int>(sizeof(T)) <= F::staged_bytes;
            if (staged) {
                scan_rows<F>(sum, mine, block.columns, mine.source, static_cast<long long>(block.columns), Add{});
                stage_written();
                warp_barrier();
                store_part(block, shape, turn, mine.part);
            }
        }
        if (!staged) {
            Out* const place = block.target + (turn.row(shape) + mine.first) * shape.inner + mine.column;
            scan_rows<F>(sum, mine, block.columns, place, shape.inner, Add{});
        }
        block.empty.arrive(turn.stage);
    }
}

// launches, published: workspace, zero before the first launch; used when `share` is more than 1.
template <class T, class Out, int Items, int Lanes, int Consumers, int Reducers, int Linkers, int Joiners, int Producers>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS((Consumers + Reducers + Linkers + Joiners + Producers) * warp_size, 1)
    column_forward(const T* x, Out* y, ForwardShape shape, uint64* launches, void* published) {
    using F = Forward<T, Out, Items, Lanes, Consumers, Reducers, Linkers, Joiners, Producers>;
    using A = typename F::A;
    GPUBENCH_DYNAMIC_SHARED(char, stages);
    GPUBENCH_SHARED(PhaseBarrier, barriers, 4 * most_stages + 2);
    GPUBENCH_SHARED(uint32, arrived, most_stages);
    GPUBENCH_SHARED(A, slices, 4 * F::linkers);
    GPUBENCH_SHARED(uint32, number, 1);
    const long long strip = block_index_x() / shape.share;
    const long long outer = static_cast<int>(strip) / static_cast<int>(shape.strips);  // fewer strips than 2^31, as blocks
    const long long column = (strip - outer * shape.strips) * F::width;
    const int columns = shape.inner - column < F::width ? static_cast<int>(shape.inner - column) : F::width;
    const bool contiguous = shape.x_row == columns;
    const StageBarriers full{barriers}, summed{barriers + most_stages}, ready{barriers + 2 * most_stages}, empty{barriers + 3 * most_stages};
    const StageBarriers met{barriers + 4 * most_stages};
    make_barriers([&] {
        GPUBENCH_NO_UNROLL
        for (int stage = 0; stage < shape.stages; ++stage) {
            full.make(stage, contiguous ? 1 : Producers);
            summed.make(stage, 1);
            ready.make(stage, F::carriers);
            empty.make(stage, Consumers);
            arrived[stage] = 0;
        }
        met.make(0, Linkers);
        met.make(1, 1);
    });
    A* const before = reinterpret_cast<A*>(stages + shape.stages * shape.stage_bytes);
    char* const words = static_cast<char*>(published);
    constexpr int row_of_words = F::width * Published<A>::bytes;  // all words of tiles stand before those of joined tiles
    const long long all_tiles = grid_size_x() / shape.share * static_cast<long long>(shape.tiles);
    char* const tile_words = words + strip * shape.tiles * row_of_words;
    char* const group_words = shape.joined == 1 ? tile_words : words + (all_tiles + strip * shape.groups) * row_of_words;
    ForwardBlock<F, T, Out> block{
        x + outer * shape.x_outer + column, x + shape.elements, y + outer * shape.length * shape.inner + column, columns,
        F::packed ? warp_size * Items / columns : 0, contiguous, static_cast<int>(block_index_x() - strip * shape.share), stages,
        full, summed, ready, empty, met,
        arrived, before, before + shape.stages * (F::parts * F::width), slices, 0, tile_words, group_words};
    const int warp = thread_index_x() / warp_size;
    constexpr int linker = Consumers + Reducers, joiner = linker + Linkers, producer = joiner + Joiners;  // their first warps
    if (shape.share > 1 && warp < producer) {  // the producers start at once
        if (thread_index_x() == 0) number[0] = launch_number(take_ticket(launches));
        follow_first_warp(met.at(1), warp);
        block.launch = number[0];
    }
    if (warp < Consumers) consume(block, shape, warp);
    else if (warp < linker) reduce(block, shape, warp - Consumers);
    else if (warp < joiner && shape.share == 1) carry_on(block, shape, thread_index_x() - linker * warp_size);
    else if (warp < joiner) link(block, shape, thread_index_x() - linker * warp_size);
    else if (warp < producer) join(block, shape, thread_index_x() - joiner * warp_size);
    else produce(block, shape, warp - producer);
}

}  // namespace gpubench::cumsum
