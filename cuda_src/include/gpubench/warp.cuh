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

// Totals of the lanes up to and with each lane, in segments of `width` lanes. (warp_inclusive_scan, for code that scans
// several vectors in a row: see `opaque`.)
template <class A, class Combine>
GPUBENCH_DEVICE A scan_lanes(A value, Combine combine, int width = warp_size) {
    const int place = opaque(lane_index()) & (width - 1);
    GPUBENCH_UNROLL
    for (int delta = 1; delta < warp_size; delta *= 2) {
        if (delta >= width) break;
        const A before = shuffle_up(full_mask, value, delta, width);
        if (place >= delta) value = combine(before, value);
    }
    return value;
}

// The total of all lanes, for every lane, where `combine` commutes: then no lane needs to know on which side it stands.
template <class A, class Combine>
GPUBENCH_DEVICE A combine_lanes(A value, Combine combine) {
    GPUBENCH_UNROLL
    for (int bits = 1; bits < warp_size; bits *= 2) value = combine(value, shuffle_xor(full_mask, value, bits));
    return value;
}

// The largest of all lanes' numbers, for every lane.
GPUBENCH_DEVICE int largest_of_lanes(int value) {
    return combine_lanes(value, [](int a, int b) { return a > b ? a : b; });
}

// What comes before a lane's vector: `run` before the first lane's, and the totals of the lanes before for the others, of
// which `upto` is what `scan_lanes` gave. Then `run` is moved on behind the warp's vectors.
template <class A, class Combine>
GPUBENCH_DEVICE A before_lane(A upto, A& run, Combine combine) {
    const A left = shuffle_up(full_mask, upto, 1);
    A before = run;
    if (opaque(lane_index()) > 0) before = combine(run, left);
    run = combine(run, shuffle(full_mask, upto, warp_size - 1));
    return before;
}

}  // namespace gpubench
