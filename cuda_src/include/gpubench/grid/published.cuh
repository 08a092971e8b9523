// Words by which blocks tell each other values within a launch, and tickets that number launches and blocks.
#pragma once

#include "gpubench/platform.cuh"

namespace gpubench {

// A value that other blocks may read, and the launch in which it was written, in words that each move indivisibly: 64 bits
// for values of up to 4 bytes, otherwise 128 bits for each 8 bytes. Nobody resets them: what bears the number of an
// earlier launch is as good as empty.
template <class A>
struct Published {
    static constexpr bool narrow = sizeof(A) <= 4;
    static constexpr int count = narrow ? 1 : static_cast<int>(sizeof(A) / 8);
    static constexpr int bytes = narrow ? 8 : 16 * count;
};

// The words of a value as they were read: whoever reads several asks for all of them before looking at any.
template <class A>
struct PublishedWords {
    using W = Word<Published<A>::narrow ? 8 : 16>;
    W words[Published<A>::count];

    GPUBENCH_DEVICE void read(const void* place) {
        GPUBENCH_UNROLL
        for (int i = 0; i < Published<A>::count; ++i) words[i] = load_relaxed(static_cast<const W*>(place) + i);
    }
    // As if the launch had written a value of zero bits, which `combine` takes as nothing wherever this is used.
    GPUBENCH_DEVICE void clear(uint32 launch) {
        GPUBENCH_UNROLL
        for (int i = 0; i < Published<A>::count; ++i) {
            if constexpr (Published<A>::narrow) words[i] = uint64{launch} << 32;
            else words[i] = Word128{0, launch};
        }
    }
    GPUBENCH_DEVICE bool written_by(uint32 launch) const {
        if constexpr (Published<A>::narrow) {
            return static_cast<uint32>(words[0] >> 32) == launch;
        } else {
            bool all = true;
            GPUBENCH_UNROLL
            for (int i = 0; i < Published<A>::count; ++i) all = all && words[i].high == launch;
            return all;
        }
    }
    GPUBENCH_DEVICE A value() const {
        if constexpr (Published<A>::narrow) {
            return bit_cast<A>(static_cast<uint32>(words[0]));
        } else {
            struct Parts {
                uint64 parts[Published<A>::count];
            };
            Parts parts;
            GPUBENCH_UNROLL
            for (int i = 0; i < Published<A>::count; ++i) parts.parts[i] = words[i].low;
            return bit_cast<A>(parts);
        }
    }
};

template <class A>
GPUBENCH_DEVICE void publish(void* place, uint32 launch, A value) {
    if constexpr (Published<A>::narrow) {
        store_relaxed(static_cast<uint64*>(place), uint64{launch} << 32 | bit_cast<uint32>(value));
    } else {
        struct Parts {
            uint64 parts[Published<A>::count];
        };
        const Parts parts = bit_cast<Parts>(value);
        GPUBENCH_UNROLL
        for (int i = 0; i < Published<A>::count; ++i) {
            store_relaxed(static_cast<Word128*>(place) + i, Word128{parts.parts[i], launch});
        }
    }
}

// Read the value at `place`; false when this launch has not written it yet.
template <class A>
GPUBENCH_DEVICE bool read_published(const void* place, uint32 launch, A& value) {
    PublishedWords<A> words;
    words.read(place);
    value = words.value();
    return words.written_by(launch);
}

// The number of a launch, from 1, from the ticket that a block took: each block of each launch takes one of `launches`.
// Taking it is a trip through the L2 cache, so it begins before the first loads, and is waited for behind them.
GPUBENCH_DEVICE uint64 take_ticket(uint64* launches) { return fetch_add(launches, uint64{1}); }
GPUBENCH_DEVICE uint32 launch_number(uint64 ticket) {
    return static_cast<uint32>(ticket / static_cast<uint64>(grid_size_x())) + 1;
}

// The number of the launch for all threads of the block, from thread 0's ticket. shared: one place of shared memory.
GPUBENCH_DEVICE uint32 share_launch_number(uint64 ticket, uint32* shared) {
    if (thread_index_x() == 0) shared[0] = launch_number(ticket);
    block_barrier();
    return shared[0];
}

template <class A>
GPUBENCH_DEVICE void* published_at(void* base, long long index) {
    return static_cast<char*>(base) + index * Published<A>::bytes;
}

}  // namespace gpubench
