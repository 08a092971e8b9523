// How column_forward.cu reads the sums that blocks tell each other: lists of words, several on their way at once.
#pragma once

#include "cumsum/column_forward.cuh"

namespace gpubench::cumsum {

// The words of one column from `next` on, every Step-th before `stop`: asked for, several at once, and later awaited.
template <class F, int Step, int Window>
struct ForwardWords {
    using A = typename F::A;
    const char* place;
    int next, stop;
    PublishedWords<A> words[Window];

    GPUBENCH_DEVICE void ask(uint32 launch) {
        const char* const from = place + static_cast<long long>(next) * (F::width * Published<A>::bytes);
        GPUBENCH_UNROLL
        for (int w = 0; w < Window; ++w) {
            words[w].clear(launch);
            if (next + w * Step < stop) words[w].read(from + w * (Step * F::width * Published<A>::bytes));
        }
    }
    // Add up what was asked for, once all of it is there.
    GPUBENCH_DEVICE void take(uint32 launch, A& sum) {
        while (true) {
            bool there = true;
            GPUBENCH_UNROLL
            for (int w = 0; w < Window; ++w) there = there && words[w].written_by(launch);
            if (there) break;
            ask(launch);
        }
        GPUBENCH_UNROLL
        for (int w = 0; w < Window; ++w) sum = add(sum, words[w].sum());
        next += Window * Step;
    }
    GPUBENCH_DEVICE bool more() const { return next < stop; }
};

template <class F>
using LinkerWords = ForwardWords<F, F::step, F::window>;

// All words of two lists, of which the first have been asked for; both lists' words are under way at once.
template <class F>
GPUBENCH_DEVICE void fold_words(LinkerWords<F>& one, LinkerWords<F>& other, uint32 launch, typename F::A& sum, typename F::A& other_sum) {
    while (true) {
        one.take(launch, sum);
        other.take(launch, other_sum);
        if (!one.more() && !other.more()) break;
        one.ask(launch);
        other.ask(launch);
    }
    warp_barrier();  // lanes that had to wait longer rejoin the others
}

}  // namespace gpubench::cumsum
