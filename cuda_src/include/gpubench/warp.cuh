// Reductions and scans over the lanes of a warp, by shuffles alone: no shared memory, no barrier.
// All 32 lanes must call. `combine` is associative; it is applied in the order of the lanes.
#pragma once

#include "gpubench/platform.cuh"

namespace gpubench {

// The lanes before this one, and those up to and with it, as masks.
GPUBENCH_DEVICE uint32 lanes_before() { return (1u << lane_index()) - 1u; }
GPUBENCH_DEVICE uint32 lanes_through() { return 0xffffffffu >> (warp_size - 1 - lane_index()); }

// Every lane of each segment of `width` lanes (a power of two) gets the segment's total, by a butterfly.
template <class T, class Combine>
GPUBENCH_DEVICE T warp_reduce_all(T value, Combine combine, int width = warp_size) {
    for (int bits = 1; bits < width; bits *= 2) {
        const T other = shuffle_xor(full_mask, value, bits);
        value = (lane_index() & bits) != 0 ? combine(other, value) : combine(value, other);
    }
    return value;
}

// The first lane of each segment of `width` lanes gets the segment's total; what the others get means nothing.
template <class T, class Combine>
GPUBENCH_DEVICE T warp_reduce(T value, Combine combine, int width = warp_size) {
    for (int delta = 1; delta < width; delta *= 2) value = combine(value, shuffle_down(full_mask, value, delta, width));
    return value;
}

// Each lane gets the total of its segment's lanes up to and with itself (Hillis and Steele 1986: log2 width steps).
template <class T, class Combine>
GPUBENCH_DEVICE T warp_inclusive_scan(T value, Combine combine, int width = warp_size) {
    const int place = lane_index() & (width - 1);
    for (int delta = 1; delta < width; delta *= 2) {
        const T before = shuffle_up(full_mask, value, delta, width);
        if (place >= delta) value = combine(before, value);
    }
    return value;
}

// Each lane gets the total of the lanes before it, the first one `identity`.
template <class T, class Combine>
GPUBENCH_DEVICE T warp_exclusive_scan(T value, Combine combine, T identity, int width = warp_size) {
    const T before = shuffle_up(full_mask, warp_inclusive_scan(value, combine, width), 1, width);
    return (lane_index() & (width - 1)) == 0 ? identity : before;
}

}  // namespace gpubench
