// Rows by vectors: how a thread's vectors come and go at any alignment, with rows that cut them at their ends.
//
// A row is cut on the grid of 16-byte vectors of y, whatever the row's own start: slot 0 of a row is the vector boundary
// at or before its first element, so only the first and the last vector of a row are partial. x is read by vectors too
// where it stands on the same grid, else by words that two vectors share, and at the edges element by element.
#pragma once

#include "gpubench/items.cuh"

namespace gpubench {

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

}  // namespace gpubench
