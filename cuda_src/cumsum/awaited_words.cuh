// How a thread reads sums that other blocks publish: lists of words, several on their way at once.
#pragma once

#include "cumsum/items.cuh"

namespace gpubench::cumsum {

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
    // Add up what was asked for, once all of it is there. What is missing is asked for again all at once: under load a trip
    // takes a microsecond and more.
    GPUBENCH_DEVICE void take(uint32 launch, A& sum) {
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
        for (int w = 0; w < Window; ++w) sum = add(sum, words[w].sum());
        next += Window * Step;
    }
    GPUBENCH_DEVICE bool more() const { return next < stop; }

    // Add up all of the list, of which nothing has been asked for. Lanes may return one after the other.
    GPUBENCH_DEVICE void take_all(uint32 launch, A& sum) {
        while (more()) {
            ask(launch);
            take(launch, sum);
        }
    }
};

}  // namespace gpubench::cumsum
