// How the blocks that share outputs bring their sums together: each publishes its own as words, and the last one in the grid's
// order waits for the others' and adds them in their order. A block waits only for blocks that started before it.
//
// Words bear the number of their launch, so that those of a launch that was ended early are as good as empty; and who has
// read them sets them to zero, since the replays of a graph bear one number.
#pragma once

#include "gpubench/grid/published.cuh"
#include "reduce_sum/terms.cuh"

namespace gpubench::sum {

// Zero in place of the words of one value.
template <class A>
GPUBENCH_DEVICE void clear(char* place) {
    using W = typename PublishedWords<A>::W;
    GPUBENCH_UNROLL
    for (int i = 0; i < Published<A>::count; ++i) store_relaxed(reinterpret_cast<W*>(place) + i, W{});
}

// Ask for words long before they are read: what others publish is part of a sector, which the L2 cache completes from memory.
GPUBENCH_DEVICE void ask_for(const void* words, int64 bytes, int thread, int threads) {
    GPUBENCH_NO_UNROLL
    for (int64 at = thread * 32; at < bytes; at += threads * 32) prefetch(static_cast<const char*>(words) + at);
}

// The sum of the words `first`, `first` + step ... before `stop`, as soon as this launch has written them: several are on
// their way at once. `apart`: bytes from a word to the next.
template <class A>
GPUBENCH_DEVICE A collect(void* words, uint32 launch, int64 apart, int first, int step, int stop) {
    constexpr int window = Published<A>::narrow ? 8 : 4 / Published<A>::count;
    A total{};
    for (int next = first; next < stop; next += window * step) {
        char* const from = static_cast<char*>(words) + next * apart;
        PublishedWords<A> seen[window];
        bool there = false;
        while (!there) {
            there = true;
            GPUBENCH_UNROLL
            for (int w = 0; w < window; ++w) {
                if (next + w * step < stop) seen[w].read(from + w * step * apart);
                else seen[w].clear(launch);
            }
            GPUBENCH_UNROLL
            for (int w = 0; w < window; ++w) there = there && seen[w].written_by(launch);
        }
        GPUBENCH_UNROLL
        for (int w = 0; w < window; ++w) {
            total = add(total, seen[w].value());
            if (next + w * step < stop) clear<A>(from + w * step * apart);
        }
    }
    return total;
}

}  // namespace gpubench::sum
