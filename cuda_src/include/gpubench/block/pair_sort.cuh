// A short list of pairs in the shared memory of a block, put in order where it stands.
//
// Source: bitonic sorting networks (Batcher, 1968), whose first half of each merge takes mirrored partners, so that all compare alike.
#pragma once

#include "gpubench/pairs.cuh"

namespace gpubench {

// Sort `count` pairs, a power of two, by all threads of the block, which see the list before it and in order behind it. Partners up to
// 32 apart are one warp's in every step, so that it waits for itself alone.
GPUBENCH_DEVICE void sort_pairs(Pair* list, uint32 count) {
    for (uint32 width = 2; width <= count; width *= 2) {
        for (uint32 half = width / 2; half > 0; half /= 2) {
            for (uint32 k = thread_index_x(); k < count / 2; k += block_size_x()) {
                const uint32 inside = k & (half - 1), low = 2 * k - inside;
                const uint32 high = half * 2 == width ? low + width - 1 - 2 * inside : low + half;
                const Pair a = list[low], b = list[high];
                if (a > b) {
                    list[low] = b;
                    list[high] = a;
                }
            }
            if (half > warp_size || (half == 1 && width > warp_size)) block_barrier();
            else warp_barrier();
        }
    }
    block_barrier();
}

}  // namespace gpubench
