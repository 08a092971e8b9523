// Which places of a list a sample takes: by a hash, so that no list that merely repeats itself meets the sample in step, of a seed that
// nobody knows who makes a list, so that none is made against it.
#pragma once

#include "gpubench/warp.cuh"

namespace gpubench {

// The warp's seed for a list of this length: another at each launch, but on the host device, where only lengths differ.
GPUBENCH_DEVICE uint32 sampling_seed(uint32 length) { return length ^ shuffle(full_mask, chance(), 0); }

// A number of 32 bits for place number `place` of a sample. Source: MurmurHash3's last steps (A. Appleby).
GPUBENCH_DEVICE uint32 sampling_hash(uint32 place, uint32 seed) {
    const uint32 hash = (place ^ seed * 2654435769u) * 2246822507u;
    return (hash ^ hash >> 13) * 3266489909u;
}

// One of so many places, each as likely.
GPUBENCH_DEVICE uint32 sampled_place(uint32 place, uint32 seed, uint32 places) {
    return multiply_high(sampling_hash(place, seed), places);
}

}  // namespace gpubench
