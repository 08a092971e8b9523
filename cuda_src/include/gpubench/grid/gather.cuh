// How a block gathers what other blocks of its launch publish: one hop, whatever their number, several words on their way
// at once. The blocks that publish must be resident, or have started before.
#pragma once

#include "gpubench/block/reduce.cuh"
#include "gpubench/grid/published.cuh"
#include "gpubench/vector.cuh"

namespace gpubench {

// The words from number `next` on, every Step-th before `stop`: asked for, Window at once, and later awaited. A word
// stands Width words behind the one before it.
template <class A, int Width, int Step, int Window>
struct AwaitedWords {
    static constexpr int apart = Width * Published<A>::bytes;
    const char* place;  // of word 0
    int next, stop;
    PublishedWords<A> words[Window];

    GPUBENCH_DEVICE void ask(uint32 launch) {
        const char* const from = place + static_cast<long long>(next) * apart;
        GPUBENCH_UNROLL
        for (int w = 0; w < Window; ++w) {
            words[w].clear(launch);
            if (next + w * Step < stop) words[w].read(from + w * (Step * apart));
        }
    }
    // Combine what was asked for, once all of it is there. What is missing is asked for again all at once: under load a trip
    // takes a microsecond and more.
    template <class Combine>
    GPUBENCH_DEVICE void take(uint32 launch, A& total, Combine combine) {
        while (true) {
            bool there = true;
            GPUBENCH_UNROLL
            for (int w = 0; w < Window; ++w) there = there && words[w].written_by(launch);
            if (there) break;
            const char* const from = place + static_cast<long long>(next) * apart;
            GPUBENCH_UNROLL
            for (int w = 0; w < Window; ++w) {
                if (!words[w].written_by(launch)) words[w].read(from + w * (Step * apart));
            }
        }
        GPUBENCH_UNROLL
        for (int w = 0; w < Window; ++w) total = combine(total, words[w].value());
        next += Window * Step;
    }
    GPUBENCH_DEVICE bool more() const { return next < stop; }

    // Combine all of the list, of which nothing has been asked for. Lanes may return one after the other.
    template <class Combine>
    GPUBENCH_DEVICE void take_all(uint32 launch, A& total, Combine combine) {
        while (more()) {
            ask(launch);
            take(launch, total, combine);
        }
    }
};

// The total of what the blocks `first` to `block` - 1 publish, for all threads: each thread reads those of its own, all at
// once. Once a kernel: it has shared memory of its own.
template <int Warps, class A, class Combine>
GPUBENCH_DEVICE A gather_before(uint32 launch, void* words, int first, int block, A identity, Combine combine) {
    GPUBENCH_SHARED(A, parts, Warps);
    A before = identity;
    for (int other = first + thread_index_x(); other < block; other += Warps * warp_size) {
        A value;
        while (!read_published(published_at<A>(words, other), launch, value)) {
        }
        before = combine(before, value);
    }
    warp_barrier();  // lanes that had to wait longer rejoin the others
    return block_reduce<Warps>(before, parts, combine);
}

// Each lane's share of what the tiles `after` + 1 to `index` - 1 publish, several reads under way at once. What is missing is asked for
// one word after the other: all at once, as AwaitedWords does, loads the L2 cache more (2^28 float32 561 us for 554).
template <class A, class Combine>
GPUBENCH_DEVICE A gather_between(void* published, uint32 launch, int after, int index, A identity, Combine combine) {
    constexpr int window = 5;
    A total = identity;
    for (int top = index - 1; top > after; top -= window * warp_size) {
        A values[window];
        bool there[window];
        GPUBENCH_UNROLL
        for (int w = 0; w < window; ++w) {
            const int other = top - w * warp_size - lane_index();
            values[w] = identity;
            there[w] = other <= after || read_published(published_at<A>(published, other), launch, values[w]);
        }
        GPUBENCH_UNROLL
        for (int w = 0; w < window; ++w) {
            const int other = top - w * warp_size - lane_index();
            while (!there[w]) there[w] = read_published(published_at<A>(published, other), launch, values[w]);
            total = combine(total, values[w]);
        }
        warp_barrier();  // lanes that had to wait longer rejoin the others
    }
    return total;
}

// The totals of all columns of a Strip (movement/strips.cuh) over its tiles `after` + 1 to `tile` - 1, for the calling
// thread's columns; `first` is the number of tile 0. parts: shared memory, S::slices rows of columns.
template <class S, class Combine>
GPUBENCH_DEVICE Vector<typename S::A, S::items> gather_columns(void* published, uint32 launch, long long first, int after, int tile,
                                                               typename S::A* parts, Combine combine) {
    using A = typename S::A;
    const int thread = thread_index_x();
    for (int column = thread % S::columns; column < S::columns && thread < S::slices * S::columns; column += S::warps * warp_size) {
        const int slice = thread / S::columns;
        A total{};
        for (int other = after + 1 + slice; other < tile; other += 4 * S::slices) {
            A values[4];
            bool there[4];
            GPUBENCH_UNROLL
            for (int w = 0; w < 4; ++w) {
                const int one = other + w * S::slices;
                values[w] = A{};
                there[w] = one >= tile || read_published(published_at<A>(published, (first + one) * S::columns + column), launch, values[w]);
            }
            GPUBENCH_UNROLL
            for (int w = 0; w < 4; ++w) {
                const int one = other + w * S::slices;
                while (!there[w]) there[w] = read_published(published_at<A>(published, (first + one) * S::columns + column), launch, values[w]);
                total = combine(total, values[w]);
            }
        }
        parts[slice * S::columns + column] = total;
    }
    block_barrier();
    Vector<A, S::items> result{};
    GPUBENCH_UNROLL
    for (int j = 0; j < S::items; ++j) {
        const int column = thread % S::lanes * S::items + j;
        result[j] = parts[column];
        for (int slice = 1; slice < S::slices; ++slice) result[j] = combine(result[j], parts[slice * S::columns + column]);
    }
    return result;
}

// Tell the other blocks the columns' totals of a tile: its first Lanes threads do. `place` is the tile's number of all.
template <class S>
GPUBENCH_DEVICE void publish_columns(void* published, uint32 launch, long long place, const Vector<typename S::A, S::items>& total) {
    if (thread_index_x() >= S::lanes) return;
    GPUBENCH_UNROLL
    for (int j = 0; j < S::items; ++j) {
        publish(published_at<typename S::A>(published, place * S::columns + thread_index_x() * S::items + j), launch, total[j]);
    }
}

}  // namespace gpubench
