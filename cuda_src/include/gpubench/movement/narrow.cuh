// A warp's part of a tile of 8- or 16-bit integers, several of them in each register: how carry_forward sums and scans them.
//
// Data: a lane holds runs of up to 16 bytes of x, as words of 4 bytes. A dot product with ones, one instruction, adds up a
// word. The lanes scan the sums of their runs in 32 bits, which hold those of a part; each lane puts its words, each with
// the sum of the part before it, into shared memory. From there lane l takes the word that holds elements 2 l and 2 l + 1 of
// each 64, so that the warp stores whole lines of y: two dot products with the ones that stand up to an element give the
// sums (a product with zero is no harm to integers), and only the carry is added in 64 bits. Converting elements one by one, and scanning two of them a lane, takes
// four times the instructions.
#pragma once

#include "gpubench/arithmetic.cuh"
#include "gpubench/movement/span.cuh"
#include "gpubench/warp.cuh"

namespace gpubench {

// A word of x and the sum of the part before it.
struct alignas(8) PackedWord {
    int32 before;
    uint32 items;
};

// `Items` a lane.
template <class T, int Items>
struct PackedPart {
    static constexpr int V = 2;  // elements of an aligned vector of y
    static constexpr int per_word = sizeof(T) <= 2 ? 4 / static_cast<int>(sizeof(T)) : 1;  // wide types stay numbers only
    static constexpr int run = Items < 4 * per_word ? Items : 4 * per_word;  // elements side by side in a lane
    static constexpr int runs = Items / run;
    static constexpr int words = run / per_word;       // of a run
    static constexpr int pair = words < 2 ? words : 2;  // words that a lane stores as one

    // Lanes store 16 bytes side by side; the words behind the first two go into a second plane, 16 banks further on, so
    // that neither way meets a bank twice.
    static constexpr int plane = warp_size * pair + (words > pair ? 8 : 0);
    static constexpr int run_entries = words / pair * plane;
    static constexpr int entries = runs * run_entries;
    static GPUBENCH_DEVICE int entry(uint32 owner, uint32 word) {
        return static_cast<int>(word / pair * plane + owner * pair + word % pair);
    }

    // Step k stores vectors 32 k to 32 k + 31, of N elements, which `owners` lanes hold.
    template <int N>
    static GPUBENCH_DEVICE constexpr int step_entry(int k) {
        constexpr int owners = warp_size * N / run;
        return k * owners / warp_size * run_entries + k * owners % warp_size * pair;
    }

    struct Words {
        uint32 values[words];
    };
    struct Stored {
        PackedWord values[pair];
    };

    Words items[runs];

    // Whether all elements of a part exist.
    static GPUBENCH_DEVICE bool is_whole(int begin, int end) { return begin <= 0 && end >= warp_size * Items; }

    // source: slot 0 of the part, `aligned` to a run's bytes or not; of its slots, begin to end - 1 exist. Whole parts go a
    // way of their own, on which words never come apart into elements.
    GPUBENCH_DEVICE void load(const T* source, bool aligned, int begin, int end) {
        using Moved = Word<sizeof(Words)>;
        const int start = lane_index() * run;
        if (is_whole(begin, end) && aligned) {
            GPUBENCH_UNROLL
            for (int k = 0; k < runs; ++k) {
                items[k] = bit_cast<Words>(load_word(reinterpret_cast<const Moved*>(source + start + k * (warp_size * run))));
            }
        } else {
            Packed<T, run> raw[runs];
            load_span<run, runs>(raw, source, Span{start, warp_size * run, begin - start, end - start}, aligned);
            GPUBENCH_UNROLL
            for (int k = 0; k < runs; ++k) items[k] = bit_cast<Words>(raw[k]);
        }
    }

    GPUBENCH_DEVICE int32 sum() const {
        int32 result = 0;
        GPUBENCH_UNROLL
        for (int k = 0; k < runs; ++k) {
            GPUBENCH_UNROLL
            for (int w = 0; w < words; ++w) result = dot_items<T>(items[k].values[w], first_items(per_word), result);
        }
        return result;
    }

    // exchange: `entries` places of the warp, free of use. Returns the sum of the part.
    GPUBENCH_DEVICE int32 scan(PackedWord* exchange) const {
        int32 carry = 0;
        GPUBENCH_UNROLL
        for (int k = 0; k < runs; ++k) {
            int32 before[words];
            int32 sum = 0;
            GPUBENCH_UNROLL
            for (int w = 0; w < words; ++w) {
                before[w] = sum;
                sum = dot_items<T>(items[k].values[w], first_items(per_word), sum);
            }
            const int32 first = before_lane(scan_lanes(sum, Add{}), carry, Add{});
            GPUBENCH_UNROLL
            for (int w = 0; w < words; w += pair) {
                Stored stored;
                GPUBENCH_UNROLL
                for (int p = 0; p < pair; ++p) stored.values[p] = {add(first, before[w + p]), items[k].values[w + p]};
                using Moved = Word<sizeof(Stored)>;
                PackedWord* const place = exchange + k * run_entries + entry(lane_index(), w);
                store_word(reinterpret_cast<Moved*>(place), bit_cast<Moved>(stored));
            }
        }
        return carry;
    }

    // After a barrier of the warp. target: of slot 0 of the part, aligned to N elements; of its slots, begin to end - 1 exist.
    template <int N = V>
    static GPUBENCH_DEVICE void store(int64* target, const PackedWord* exchange, int64 carry, int begin, int end) {
        if (is_whole(begin, end)) store_slots<N, true>(target, exchange, carry, begin, end);
        else store_slots<N, false>(target, exchange, carry, begin, end);
    }

private:
    static GPUBENCH_DEVICE constexpr uint32 first_items(int count) { return 0x01010101u >> (32 - 8 * count); }

    template <int N, bool Whole>
    static GPUBENCH_DEVICE void store_slots(int64* target, const PackedWord* exchange, int64 carry, int begin, int end) {
        const uint32 slot = static_cast<uint32>(lane_index()) * N;  // unsigned: division by powers of two is a shift
        const int place = static_cast<int>(slot % per_word);       // of the vector's first element in its word
        const uint32 ones[V] = {first_items(place + 1), first_items(place + N)};
        const PackedWord* const source = exchange + entry(slot / run, slot / per_word % words);
        const int first = static_cast<int>(slot);
        const Span span{first, warp_size * N, begin - first, end - first};
        GPUBENCH_UNROLL
        for (int k = 0; k < Items / N; ++k) {
            const PackedWord word = bit_cast<PackedWord>(load_word(reinterpret_cast<const uint64*>(source + step_entry<N>(k))));
            Vector<int64, N> sums;
            GPUBENCH_UNROLL
            for (int j = 0; j < N; ++j) sums[j] = add(carry, int64{dot_items<T>(word.items, ones[j], word.before)});
            if constexpr (Whole) store_vector(target + slot + k * (warp_size * N), sums);
            else store_items<N>(target, span, k, sums);
        }
    }
};

}  // namespace gpubench
