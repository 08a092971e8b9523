// Which places of a list a sample takes: by a hash, so that no list that merely repeats itself meets the sample in step.
#pragma once

#include "gpubench/platform.cuh"

namespace gpubench {

// A number of 32 bits for place number `place` of a sample. seed: the list's length, so that lists of other lengths are sampled at other
// places, and one list at the same ones each time. Source: MurmurHash3's last steps (A. Appleby).
GPUBENCH_DEVICE uint32 sampling_hash(uint32 place, uint32 seed) {
    const uint32 hash = (place ^ seed * 2654435769u) * 2246822507u;
    return (hash ^ hash >> 13) * 3266489909u;
}

// One of so many places, each as likely.
GPUBENCH_DEVICE uint32 sampled_place(uint32 place, uint32 seed, uint32 places) {
    return multiply_high(sampling_hash(place, seed), places);
}

}  // namespace gpubench
