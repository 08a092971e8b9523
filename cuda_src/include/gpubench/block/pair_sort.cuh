// A short list of pairs in the shared memory of a block, put in the order of their rows where it stands, equal rows as they stood.
//
// Data: a pass sorts by a digit of seven bits. Warps have neighbouring parts of the list, `pair_rounds` pairs a lane in registers. Each
// counts its digits in a table of its own: lanes of one digit find each other by `match`, and what the table had before and the lanes in
// front say where a pair stands among its warp's. One warp, whose lanes have four digits each, turns the counts of all warps into where
// each warp's pairs of each digit begin. A bitonic network of 512 in its place was a quarter of the instructions of a launch each of whose
// blocks sorts the same list. (digit_sort.cuh has larger tiles, and blocks whose warps are known when it is compiled.)
//
// Source: ranking by counts of warps as in "Onesweep" (Adinets and Merrill, 2022).
#pragma once

#include "gpubench/block/scan.cuh"
#include "gpubench/pairs.cuh"

namespace gpubench {

constexpr int pair_digit_bits = 7, pair_digits = 1 << pair_digit_bits;
constexpr int pair_rounds = 2;                     // pairs of a lane, at most
constexpr int pair_count_words = pair_digits / 4;  // of 64 bits: a warp's counts
static_assert(pair_count_words == warp_size);

// Turn the counts of all warps, four of 16 bits in a word, into where each warp's pairs begin; by the lanes of one warp.
GPUBENCH_DEVICE void begin_pair_digits(uint64* counts, uint32 warps) {
    uint64* const own = counts + lane_index();
    uint64 all = 0;
    for (uint32 w = 0; w < warps; ++w) all += own[w * pair_count_words];
    uint64 upto = all + (all << 16);  // of the lane's digits up to each
    upto += upto << 32;
    const uint32 through = warp_inclusive_scan(static_cast<uint32>(upto >> 48), Together{});
    const uint64 before = through - static_cast<uint32>(upto >> 48);
    uint64 begin = (upto << 16) + before * 0x0001000100010001ull;
    for (uint32 w = 0; w < warps; ++w) {
        const uint64 mine = own[w * pair_count_words];
        own[w * pair_count_words] = begin;
        begin += mine;
    }
}

// Sort `count` pairs, up to `pair_rounds` for each thread of the block, by `passes` digits of their rows. counts: a warp's words for each
// warp. The block sees the list before it, and in order behind it.
GPUBENCH_DEVICE void sort_pairs(Pair* list, uint32 count, int passes, uint64* counts) {
    const uint32 warp = thread_index_x() / warp_size, warps = block_size_x() / warp_size;
    const uint32 start = warp * pair_rounds * warp_size, first = start + lane_index();
    uint16* const own = reinterpret_cast<uint16*>(counts + warp * pair_count_words);
    for (int pass = 0; pass < passes; ++pass) {
        const auto digit_of = [&](Pair pair) { return row_of(pair) >> pass * pair_digit_bits & (pair_digits - 1u); };
        Pair pairs[pair_rounds];
        uint32 ranks[pair_rounds];
        counts[warp * pair_count_words + lane_index()] = 0;
        warp_barrier();
        GPUBENCH_UNROLL
        for (int k = 0; k < pair_rounds; ++k) {
            const uint32 at = first + k * warp_size;
            if (start + k * warp_size >= count) break;
            pairs[k] = at < count ? list[at] : no_pair;  // behind all pairs, and not written
            const uint32 digit = digit_of(pairs[k]), equal = match_any(full_mask, digit), before = own[digit];
            ranks[k] = before + population_count(equal & lanes_before());
            warp_barrier();
            if ((equal & lanes_before()) == 0) own[digit] = static_cast<uint16>(before + population_count(equal));
            warp_barrier();
        }
        block_barrier();
        if (warp == 0) begin_pair_digits(counts, warps);
        block_barrier();
        GPUBENCH_UNROLL
        for (int k = 0; k < pair_rounds; ++k) {
            if (first + k * warp_size < count) list[own[digit_of(pairs[k])] + ranks[k]] = pairs[k];
        }
        block_barrier();
    }
}

}  // namespace gpubench
