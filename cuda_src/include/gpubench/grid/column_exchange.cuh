// How resident blocks tell each other the totals of a few columns, once: one hop, whatever their number.
#pragma once

#include "gpubench/grid/published.cuh"

namespace gpubench {

// The words of one column from block `next` on, every step-th before `stop`, of which the first is at `place`: those that are
// missing are asked for again, all at once.
template <class R, class Combine>
GPUBENCH_DEVICE typename R::A gather_column(const char* place, long long pitch, int next, int stop, int step, uint32 launch,
                                            Combine combine) {
    using A = typename R::A;
    A total{};
    for (; next < stop; next += R::window * step) {
        PublishedWords<A> words[R::window];
        GPUBENCH_UNROLL
        for (int w = 0; w < R::window; ++w) words[w].clear(next + w * step < stop ? launch - 1 : launch);
        bool there = false;
        while (!there) {
            there = true;
            GPUBENCH_UNROLL
            for (int w = 0; w < R::window; ++w) {
                if (!words[w].written_by(launch)) words[w].read(place + (next + w * step) * pitch);
            }
            GPUBENCH_UNROLL
            for (int w = 0; w < R::window; ++w) there = there && words[w].written_by(launch);
        }
        GPUBENCH_UNROLL
        for (int w = 0; w < R::window; ++w) total = combine(total, words[w].value());
    }
    return total;
}

// Column `column` of a table of `count` rows, combined in their order.
template <int AtOnce, class A, class Combine>
GPUBENCH_DEVICE A reduce_table(const A* table, int column, int columns, int count, Combine combine) {
    A total{};
    GPUBENCH_NO_UNROLL
    for (int row = 0; row < count; row += AtOnce) {
        A values[AtOnce];
        GPUBENCH_UNROLL
        for (int k = 0; k < AtOnce; ++k) {
            values[k] = A{};
            if (row + k < count) values[k] = table[(row + k) * columns + column];
        }
        GPUBENCH_UNROLL
        for (int k = 0; k < AtOnce; ++k) total = combine(total, values[k]);
    }
    return total;
}

// Tell the other blocks this one's totals; those of its warps become the totals before each warp. By a thread a column.
template <class R, class Combine>
GPUBENCH_DEVICE void publish_column(typename R::A* totals, int columns, int column, char* words, uint32 launch, Combine combine) {
    using A = typename R::A;
    constexpr int at_once = 8;
    static_assert(R::warps % at_once == 0);
    A total{};
    GPUBENCH_UNROLL
    for (int warp = 0; warp < R::warps; warp += at_once) {
        A values[at_once];
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) values[k] = totals[(warp + k) * columns + column];
        GPUBENCH_UNROLL
        for (int k = 0; k < at_once; ++k) {
            totals[(warp + k) * columns + column] = total;
            total = combine(total, values[k]);
        }
    }
    publish(words + column * Published<A>::bytes, launch, total);
}

// One hop: the totals of the columns in all blocks before this one, for all threads, in the first of `parts`. totals: a row of
// columns a warp of shared memory; words: of the first block; `slices` parts of the words of a column are read side by side.
// Behind a barrier. R: A, warps, and window, the words under way at once.
template <class R, class Combine>
GPUBENCH_DEVICE void exchange_columns(typename R::A* totals, typename R::A* parts, int columns, int slices, int block, char* words,
                                      uint32 launch, Combine combine) {
    using A = typename R::A;
    const int thread = thread_index_x();
    const long long pitch = static_cast<long long>(columns) * Published<A>::bytes;
    if (thread / warp_size * warp_size < columns) {  // a branch of its own, or the compiler may publish later
        if (thread < columns) publish_column<R>(totals, columns, thread, words + block * pitch, launch, combine);
        warp_barrier();
    }
    const int slice = thread / columns, column = thread - slice * columns;
    if (slice < slices) {
        const char* const place = words + column * Published<A>::bytes;
        parts[thread] = gather_column<R>(place, pitch, slice, block, slices, launch, combine);
    }
    warp_barrier();  // lanes that had to wait longer rejoin the others
    block_barrier();
    if (thread < columns) parts[thread] = reduce_table<8>(parts, thread, columns, slices, combine);
    block_barrier();
}

}  // namespace gpubench
