// Rows of x that do not stand on the grid of y's vectors, where the 32 lanes of a warp hold neighbouring vectors.
//
//     y:      |0 1 2 3|4 5 6 7|8 9 . .|        a lane's vector of y
//     x:    |. . 0 1|2 3 4 5|6 7 8 9|          its word of x: the elements of two words, `distance` = 2 here
//     lane:    0       1       2               lane 0 takes 2 3 from lane 1, lane 1 takes 6 7 from lane 2
//
// Data: each lane loads the aligned words of x in the places of its vectors, all at once and each byte once; what lies in
// the next word comes by shuffles from the next lane. Behind the last lane stands lane 0's next word, so lane 0 loads one
// more. Words that an end of the row cuts are loaded element by element, so that nothing outside is touched. Against two
// overlapping words a vector (`load_across`): half the loads, half the registers, so that none waits for another.
#pragma once

#include "gpubench/movement/span.cuh"

namespace gpubench {

// A vector as what one shuffle moves: 32 bits each, or the whole of a shorter vector. Also what keeps two 16-bit elements in
// one register where ways of loading meet.
template <int Bytes>
struct Pieces {
    static constexpr int size = Bytes < 4 ? Bytes : 4, count = Bytes / size;
    using Piece = Word<size>;
    Piece pieces[count];
};

namespace detail {

template <int V, class T>
GPUBENCH_DEVICE Pieces<sizeof(T) * V> load_cut_word(const T* source, const Span& span, int k) {
    return bit_cast<Pieces<sizeof(T) * V>>(load_elements<V>(source, span, k));
}

// The words of a span of an aligned source, zero before; begin is at most apart. A lane holds at most one word that the
// row's end cuts, besides its first: loaded apart, so that no word needs code for its elements.
template <int V, int K, Cache C = Cache::normal, class T>
GPUBENCH_DEVICE void load_words(Pieces<sizeof(T) * V> (&words)[K], const T* source, const Span& span) {
    GPUBENCH_UNROLL
    for (int k = 0; k < K; ++k) {
        const bool full = k == 0 ? span.full<V>(0) : span.to(k) >= V;
        if (full) words[k] = bit_cast<Pieces<sizeof(T) * V>>(load_packed<V, C>(source + span.first + k * span.apart));
    }
    const int last = span.end / span.apart;
    const bool last_cut = last > 0 && last < K && span.cut<V>(last);
    if (!span.cut<V>(0) && !last_cut) return;
    if (span.cut<V>(0)) words[0] = load_cut_word<V>(source, span, 0);
    if (!last_cut) return;
    const Pieces<sizeof(T) * V> word = load_cut_word<V>(source, span, last);
    GPUBENCH_UNROLL
    for (int k = 1; k < K; ++k) {
        if (k == last) words[k] = word;
    }
}

// Two words side by side, from lower to higher pieces: move what begins `distance` elements behind the beginning to the
// front. By each power of two in the distance, chosen and not branched upon: of ways that meet, ptxas copies every piece.
template <int V, int Lanes, class T, class Piece, int N>
GPUBENCH_DEVICE void shift_pieces(Piece (&pieces)[N], int distance) {
    constexpr int size = sizeof(Piece), in_piece = size / static_cast<int>(sizeof(T));  // 0: elements of several pieces
    GPUBENCH_UNROLL
    for (int power = V / 2; power >= (in_piece > 0 ? in_piece : 1); power /= 2) {
        const int moved = power * static_cast<int>(sizeof(T)) / size;
        const bool always = V == 2 && Lanes == warp_size;  // of two elements the distance is one, or none for all lanes
        const bool move = always || (distance & power) != 0;
        GPUBENCH_UNROLL
        for (int i = 0; i + moved < N; ++i) pieces[i] = move ? pieces[i + moved] : pieces[i];
    }
    if constexpr (in_piece > 1) {
        const int bits = distance % in_piece * static_cast<int>(sizeof(T)) * 8;
        GPUBENCH_UNROLL
        for (int i = 0; i + 1 < N; ++i) {
            pieces[i] = static_cast<Piece>((uint64{pieces[i + 1]} << 8 * size | pieces[i]) >> bits);
        }
    }
}

// In the place of each word but the last: the vector that begins `distance` elements behind its beginning.
template <int V, int Lanes, class T, int K, class Word>
GPUBENCH_DEVICE void shift_words(Word (&words)[K], int distance) {
    constexpr int count = Word::count, needed = ((V - 1) * static_cast<int>(sizeof(T)) + Word::size - 1) / Word::size;
    GPUBENCH_UNROLL
    for (int k = 0; k + 1 < K; ++k) {
        const int lane = opaque(lane_index()) & (Lanes - 1);
        typename Word::Piece both[count + needed];
        GPUBENCH_UNROLL
        for (int i = 0; i < count; ++i) both[i] = words[k].pieces[i];
        GPUBENCH_UNROLL
        for (int i = 0; i < needed; ++i) {
            both[count + i] = lane == 0 ? words[k + 1].pieces[i] : both[i];
            if constexpr (Lanes > 1) both[count + i] = shuffle(full_mask, both[count + i], (lane + 1) & (Lanes - 1), Lanes);
        }
        shift_pieces<V, Lanes, T>(both, distance);
        GPUBENCH_UNROLL
        for (int i = 0; i < count; ++i) words[k].pieces[i] = both[i];
    }
}

}  // namespace detail

// load_span for a source that stands on the grid; the span's begin is at most its `apart`.
template <int V, int K, Cache C = Cache::normal, class T>
GPUBENCH_DEVICE void load_aligned_span(Packed<T, V> (&raw)[K], const T* source, const Span& span) {
    Pieces<sizeof(T) * V> words[K] = {};
    detail::load_words<V, K, C>(words, source, span);
    GPUBENCH_UNROLL
    for (int k = 0; k < K; ++k) raw[k] = bit_cast<Packed<T, V>>(words[k]);
}

// load_span for `Lanes` neighbours, a power of two from 2, of which lane l holds the vectors at span.first, Lanes * V apart, V
// elements behind those of lane l - 1; all lanes of the warp call. Of the source exist the elements from `begin` on, under
// V, and up to the span's end. `distance`: elements from a vector boundary of the source to each vector, the same for the
// Lanes neighbours.
template <int V, int K, int Lanes = warp_size, class T>
GPUBENCH_DEVICE void load_lanes_span(Packed<T, V> (&raw)[K], const T* source, const Span& span, int distance, long long begin = 0,
                                     long long step = 1) {
    constexpr int loaded = V > 1 ? K + 1 : K;
    Pieces<sizeof(T) * V> words[loaded] = {};
    if (step == 1) {
        constexpr int own = K * Lanes * V;  // the word behind those is for lane 0 alone, where any is needed
        const bool one_more = (lane_index() & (Lanes - 1)) == 0 && distance != 0;
        const long long first = span.first - distance;
        const int end = span.end + distance;
        const Span grid{first, Lanes * V, first < begin ? static_cast<int>(begin - first) : 0, one_more || end < own ? end : own};
        detail::load_words<V, loaded>(words, source, grid);
        if constexpr (V > 1) {
            const bool shifted = Lanes == warp_size ? distance != 0 : any(full_mask, distance != 0);
            if (shifted) detail::shift_words<V, Lanes, T>(words, distance);
        }
    }
    GPUBENCH_UNROLL
    for (int k = 0; k < K; ++k) raw[k] = bit_cast<Packed<T, V>>(words[k]);
    if (step != 1) load_span_anyhow<V, K>(raw, source, span, step);
}

// The elements at `start` of a flat array of `elements`, of which a warp uses `used`: a whole number of vectors, K * 32 at
// most, lane by lane as above. What lies behind them may be loaded, too.
template <int V, int K, class T>
GPUBENCH_DEVICE void load_flat_span(Packed<T, V> (&raw)[K], const T* x, long long start, int used, long long elements) {
    const int distance = empty_slots<V>(x, start), place = lane_index() * V;
    const int wanted = used + (distance > 0 ? V - distance : 0);  // so that they end with a word
    const long long left = elements - start;
    const int end = static_cast<int>(left < wanted ? left : wanted) - place;
    load_lanes_span<V, K>(raw, x, Span{start + place, warp_size * V, 0, end}, distance);
}

}  // namespace gpubench
