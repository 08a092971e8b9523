// What the scans of rows share: the vector in a thread's hands, how it comes and goes at any alignment, and the words by
// which blocks tell each other sums.
//
// A row is cut on the grid of 16-byte vectors of y, whatever the row's own start: slot 0 of a row is the vector boundary
// at or before its first element, so only the first and the last vector of a row are partial. x is read by vectors too
// where it stands on the same grid, else element by element (the L1 cache or shared memory joins the pieces).
#pragma once

#include "gpubench/arithmetic.cuh"
#include "gpubench/vector.cuh"
#include "gpubench/warp.cuh"

namespace gpubench::cumsum {

// Elements of one vector: 16 bytes of the wider of x and y.
template <class T, class Out>
constexpr int vector_items = 16 / (sizeof(T) > sizeof(Out) ? sizeof(T) : sizeof(Out)) > 0
                                 ? 16 / static_cast<int>(sizeof(T) > sizeof(Out) ? sizeof(T) : sizeof(Out))
                                 : 1;

// Elements between the vector boundary of y at or before `offset` and `offset`: the slots of a row that hold nothing.
template <int V, class Out>
GPUBENCH_DEVICE int empty_slots(const Out* y, long long offset) {
    return static_cast<int>((reinterpret_cast<uint64>(y) / sizeof(Out) + static_cast<uint64>(offset)) % V);
}

// V elements from source + first, in the accumulator's type. Those outside [begin, end) of the vector count as zero and
// are not touched. `whole`: the source is aligned to the vector and its elements lie side by side.
template <int V, class A, class T>
GPUBENCH_DEVICE Vector<A, V> load_items(const T* source, long long first, int begin, int end, bool whole,
                                        long long step = 1) {
    Vector<A, V> items;
    if (whole && begin <= 0 && end >= V) {
        const Vector<T, V> raw = load_vector<V>(source + first);
        GPUBENCH_UNROLL
        for (int j = 0; j < V; ++j) items[j] = convert<A>(raw[j]);
        return items;
    }
    GPUBENCH_UNROLL
    for (int j = 0; j < V; ++j) items[j] = j >= begin && j < end ? convert<A>(source[(first + j) * step]) : A{};
    return items;
}

// The counterpart: V sums to the vector at target + first; only [begin, end) of it.
template <int V, class Out, class A>
GPUBENCH_DEVICE void store_items(Out* target, long long first, int begin, int end, const Vector<A, V>& items) {
    if (begin <= 0 && end >= V) {
        Vector<Out, V> raw;
        GPUBENCH_UNROLL
        for (int j = 0; j < V; ++j) raw[j] = convert<Out>(items[j]);
        store_vector(target + first, raw);
        return;
    }
    GPUBENCH_UNROLL
    for (int j = 0; j < V; ++j) {
        if (j >= begin && j < end) target[first + j] = convert<Out>(items[j]);
    }
}

// Running sums within the vector.
template <int V, class A>
GPUBENCH_DEVICE void scan_items(Vector<A, V>& items) {
    GPUBENCH_UNROLL
    for (int j = 1; j < V; ++j) items[j] = add(items[j - 1], items[j]);
}

template <int V, class A>
GPUBENCH_DEVICE void add_to_items(Vector<A, V>& items, A before) {
    GPUBENCH_UNROLL
    for (int j = 0; j < V; ++j) items[j] = add(before, items[j]);
}

// A sum that other blocks may read, and the launch in which it was written, in words that each move indivisibly: 64 bits
// for sums of up to 4 bytes, otherwise 128 bits for each 8 bytes. Nobody resets them: what bears the number of an
// earlier launch is as good as empty.
template <class A>
struct Published {
    static constexpr bool narrow = sizeof(A) <= 4;
    static constexpr int count = narrow ? 1 : static_cast<int>(sizeof(A) / 8);
    struct Narrow {
        uint64 words[1];
    };
    struct Wide {
        Word128 words[count];
    };
    static constexpr int bytes = narrow ? 8 : 16 * count;
};

template <class A>
GPUBENCH_DEVICE void publish(void* place, uint32 launch, A sum) {
    if constexpr (Published<A>::narrow) {
        const uint64 word = uint64{launch} << 32 | bit_cast<uint32>(sum);
        store_relaxed(static_cast<uint64*>(place), word);
    } else {
        struct Parts {
            uint64 parts[Published<A>::count];
        };
        const Parts parts = bit_cast<Parts>(sum);
        GPUBENCH_UNROLL
        for (int i = 0; i < Published<A>::count; ++i) {
            store_relaxed(static_cast<Word128*>(place) + i, Word128{parts.parts[i], launch});
        }
    }
}

// Read the sum at `place`; false when this launch has not written it yet.
template <class A>
GPUBENCH_DEVICE bool read_published(const void* place, uint32 launch, A& sum) {
    if constexpr (Published<A>::narrow) {
        const uint64 word = load_relaxed(static_cast<const uint64*>(place));
        sum = bit_cast<A>(static_cast<uint32>(word));
        return static_cast<uint32>(word >> 32) == launch;
    } else {
        struct Parts {
            uint64 parts[Published<A>::count];
        };
        Parts parts;
        bool there = true;
        GPUBENCH_UNROLL
        for (int i = 0; i < Published<A>::count; ++i) {
            const Word128 word = load_relaxed(static_cast<const Word128*>(place) + i);
            parts.parts[i] = word.low;
            there = there && word.high == launch;
        }
        sum = bit_cast<A>(parts);
        return there;
    }
}

template <class A>
GPUBENCH_DEVICE void* published_at(void* base, long long index) {
    return static_cast<char*>(base) + index * Published<A>::bytes;
}

}  // namespace gpubench::cumsum
