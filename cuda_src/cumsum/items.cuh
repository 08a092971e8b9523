// What the scans of rows share: the vector in a thread's hands, how it comes and goes at any alignment, and the words by
// which blocks tell each other sums.
//
// A row is cut on the grid of 16-byte vectors of y, whatever the row's own start: slot 0 of a row is the vector boundary
// at or before its first element, so only the first and the last vector of a row are partial. x is read by vectors too
// where it stands on the same grid, else by words that two vectors share, and at the edges element by element.
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

// 8- and 16-bit integers whose sums have 64 bits: 32 hold those of a part of a row, far below 65536 elements.
template <class T, class A>
constexpr bool is_narrow = is_integer<T> && sizeof(T) < 4 && is_same<A, int64>;

// The type of sums inside a tile of fewer than 65536 elements.
template <class T, class A>
using tile_sum_t = conditional_t<is_narrow<T, A>, int32, A>;

// Elements between the vector boundary of y at or before `offset` and `offset`: the slots of a row that hold nothing.
template <int V, class Out>
GPUBENCH_DEVICE int empty_slots(const Out* y, long long offset) {
    return static_cast<int>((reinterpret_cast<uint64>(y) / sizeof(Out) + static_cast<uint64>(offset)) % V);
}

// Where a thread's vectors stand: `count` of them, `apart` elements from one to the next, the first at `first`. Of
// vector k the elements from begin - k * apart up to end - k * apart exist; only the edges of a row cut a vector.
struct Span {
    long long first;
    int apart;
    int begin, end;

    GPUBENCH_DEVICE int from(int k) const { return begin - k * apart; }
    GPUBENCH_DEVICE int to(int k) const { return end - k * apart; }
    template <int V>
    GPUBENCH_DEVICE bool full(int k) const { return from(k) <= 0 && to(k) >= V; }
    template <int V>
    GPUBENCH_DEVICE bool inside(int k) const { return from(k) <= -V && to(k) >= 2 * V; }  // with a vector on both sides
    template <int V>
    GPUBENCH_DEVICE bool cut(int k) const { return !full<V>(k) && to(k) > 0 && from(k) < V; }
};

// 16 bytes that do not stand on 16 bytes, cut out of the two aligned words that hold them. Neighbouring lanes share
// words, which the L1 cache joins: half the bytes that are asked for come from memory once.
template <int V, class T>
GPUBENCH_DEVICE Packed<T, V> load_across(const T* source) {
    const uint64 place = reinterpret_cast<uint64>(source);
    const Word128* const words = reinterpret_cast<const Word128*>(place & ~uint64{15});
    const Word128 first = load_word(words), second = load_word(words + 1);
    const bool upper = (place & 8) != 0;
    const uint32 bits = static_cast<uint32>(place & 7) * 8;
    const uint64 a = upper ? first.high : first.low, b = upper ? second.low : first.high, c = upper ? second.high : second.low;
    // shifted by one bit apart, since a shift by all 64 is not defined
    return bit_cast<Packed<T, V>>(Word128{a >> bits | b << 1 << (63 - bits), b >> bits | c << 1 << (63 - bits)});
}

// Vector k of the span, element by element; what does not exist is zero.
template <int V, class T>
GPUBENCH_DEVICE Packed<T, V> load_elements(const T* source, const Span& span, int k, long long step = 1) {
    Vector<T, V> items{};
    const T* place = source + (span.first + k * span.apart) * step;  // moved on: a multiplication each costs more than the rest
    GPUBENCH_UNROLL
    for (int j = 0; j < V; ++j, place += step) {
        if (j >= span.from(k) && j < span.to(k)) items[j] = *place;
    }
    return bit_cast<Packed<T, V>>(items);
}

// Load K vectors of a source whose vectors do not stand on 16 bytes, or whose elements are `step` apart. Vectors with a
// vector of the same row on both sides come by words, the others element by element, so that nothing outside is touched.
template <int V, int K, class T>
GPUBENCH_DEVICE void load_span_anyhow(Packed<T, V> (&raw)[K], const T* source, const Span& span, long long step) {
    constexpr bool has_words = sizeof(T) * V == 16 && sizeof(T) < 16;
    bool any_left = !has_words || step != 1;
    if constexpr (has_words) {
        if (step == 1) {
            GPUBENCH_UNROLL
            for (int k = 0; k < K; ++k) {
                if (span.inside<V>(k)) raw[k] = load_across<V>(source + span.first + k * span.apart);
                else any_left = true;
            }
        }
    }
    if (!any_left) return;
    GPUBENCH_UNROLL
    for (int k = 0; k < K; ++k) {
        if (has_words && step == 1 && span.inside<V>(k)) continue;
        raw[k] = load_elements<V>(source, span, k, step);
    }
}

// Load K vectors; what does not exist is zero and is not touched. `whole`: the source is aligned to the vector and its
// elements lie side by side. All full vectors are asked for before anything is waited for.
template <int V, int K, class T>
GPUBENCH_DEVICE void load_span(Packed<T, V> (&raw)[K], const T* source, const Span& span, bool whole, long long step = 1) {
    if (whole) {
        bool any_cut = false;
        GPUBENCH_UNROLL
        for (int k = 0; k < K; ++k) {
            raw[k] = Packed<T, V>{};
            if (span.full<V>(k)) raw[k] = load_packed<V>(source + span.first + k * span.apart);
            any_cut = any_cut || span.cut<V>(k);
        }
        if (!any_cut) return;
        GPUBENCH_UNROLL
        for (int k = 0; k < K; ++k) {
            if (span.cut<V>(k)) raw[k] = load_elements<V>(source, span, k);
        }
        return;
    }
    load_span_anyhow<V, K>(raw, source, span, step);
}

template <int V, class A, class T>
GPUBENCH_DEVICE Vector<A, V> convert_items(const Vector<T, V>& raw) {
    Vector<A, V> items;
    GPUBENCH_UNROLL
    for (int j = 0; j < V; ++j) items[j] = convert<A>(raw[j]);
    return items;
}

// 16-bit floats that are converted two at a time, from and to the words that hold them.
template <class T, class A, int V>
constexpr bool in_pairs = V % 2 == 0 && is_half<T> && is_same<A, float>;

template <int V, class A, class T>
GPUBENCH_DEVICE Vector<A, V> unpack_items(const Packed<T, V>& packed) {
    if constexpr (in_pairs<T, A, V>) {
        Vector<A, V> items;
        GPUBENCH_UNROLL
        for (int j = 0; j < V / 2; ++j) {
            const FloatPair pair = is_same<T, half> ? halves_to_floats(packed.word(j)) : bfloat16s_to_floats(packed.word(j));
            items[2 * j] = pair.low;
            items[2 * j + 1] = pair.high;
        }
        return items;
    } else {
        return convert_items<V, A>(bit_cast<Vector<T, V>>(packed));
    }
}

template <int V, class Out, class A>
GPUBENCH_DEVICE Packed<Out, V> pack_items(const Vector<A, V>& items) {
    if constexpr (in_pairs<Out, A, V>) {
        uint32 words[V / 2];
        GPUBENCH_UNROLL
        for (int j = 0; j < V / 2; ++j) {
            const FloatPair pair{items[2 * j], items[2 * j + 1]};
            words[j] = is_same<Out, half> ? floats_to_halves(pair) : floats_to_bfloat16s(pair);
        }
        return Packed<Out, V>::from(words);
    } else {
        return bit_cast<Packed<Out, V>>(convert_items<V, Out>(items));
    }
}

// The counterpart: vector k of the span; only what exists is written.
template <int V, class Out>
GPUBENCH_DEVICE void store_packed_items(Out* target, const Span& span, int k, const Packed<Out, V>& packed) {
    Out* const place = target + span.first + k * span.apart;
    if (span.full<V>(k)) {
        store_packed(place, packed);
    } else if (span.cut<V>(k)) {
        const Vector<Out, V> items = bit_cast<Vector<Out, V>>(packed);
        GPUBENCH_UNROLL
        for (int j = 0; j < V; ++j) {
            if (j >= span.from(k) && j < span.to(k)) place[j] = items[j];
        }
    }
}
template <int V, class Out, class A>
GPUBENCH_DEVICE void store_items(Out* target, const Span& span, int k, const Vector<A, V>& items) {
    store_packed_items<V>(target, span, k, pack_items<V, Out>(items));
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

// Sums over the lanes of a warp up to and with each lane, in segments of `width` lanes. (warp_inclusive_scan, for code
// that scans several vectors in a row: see `opaque`.)
template <class A>
GPUBENCH_DEVICE A scan_lanes(A value, int width = warp_size) {
    const int place = opaque(lane_index()) & (width - 1);
    GPUBENCH_UNROLL
    for (int delta = 1; delta < warp_size; delta *= 2) {
        if (delta >= width) break;
        const A before = shuffle_up(full_mask, value, delta, width);
        if (place >= delta) value = add(before, value);
    }
    return value;
}

// The sum over all lanes, for every lane. (Addition commutes, so no lane needs to know on which side it stands.)
template <class A>
GPUBENCH_DEVICE A sum_lanes(A value) {
    GPUBENCH_UNROLL
    for (int bits = 1; bits < warp_size; bits *= 2) value = add(value, shuffle_xor(full_mask, value, bits));
    return value;
}

// What comes before a vector: `run` before the first lane's, and the sums of the lanes before for the others, of which
// `upto` is the running sum over lanes. Then `run` is moved on behind the warp's vectors.
template <class A>
GPUBENCH_DEVICE A before_lane(A upto, A& run) {
    const A left = shuffle_up(full_mask, upto, 1);
    A before = run;
    if (opaque(lane_index()) > 0) before = add(run, left);
    run = add(run, shuffle(full_mask, upto, warp_size - 1));
    return before;
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

// The words of a sum as they were read: whoever reads several asks for all of them before looking at any.
template <class A>
struct PublishedWords {
    using W = Word<Published<A>::narrow ? 8 : 16>;
    W words[Published<A>::count];

    GPUBENCH_DEVICE void read(const void* place) {
        GPUBENCH_UNROLL
        for (int i = 0; i < Published<A>::count; ++i) words[i] = load_relaxed(static_cast<const W*>(place) + i);
    }
    // A sum of nothing, as if the launch had written it.
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
    GPUBENCH_DEVICE A sum() const {
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

// Read the sum at `place`; false when this launch has not written it yet.
template <class A>
GPUBENCH_DEVICE bool read_published(const void* place, uint32 launch, A& sum) {
    PublishedWords<A> words;
    words.read(place);
    sum = words.sum();
    return words.written_by(launch);
}

// The number of a launch, from 1, from the ticket that a block took: each block of each launch takes one of `launches`.
// Taking it is a trip through the L2 cache, so it begins before the first loads, and is waited for behind them.
GPUBENCH_DEVICE uint64 take_ticket(uint64* launches) { return fetch_add(launches, uint64{1}); }
GPUBENCH_DEVICE uint32 launch_number(uint64 ticket) {
    return static_cast<uint32>(ticket / static_cast<uint64>(grid_size_x())) + 1;
}

template <class A>
GPUBENCH_DEVICE void* published_at(void* base, long long index) {
    return static_cast<char*>(base) + index * Published<A>::bytes;
}

}  // namespace gpubench::cumsum
