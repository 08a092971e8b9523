// A tile of a one-dimensional array in the registers of a block, and its scan: what the one-dimensional variants share.
#pragma once

#include "gpubench/arithmetic.cuh"
#include "gpubench/block/scan.cuh"

namespace gpubench::cumsum {

// Each warp owns 32 * N neighbouring elements and exchanges them through its own slice of shared memory: global memory
// is accessed with neighbouring lanes at neighbouring elements, while each lane ends with N neighbouring ones. After
// every 32 elements of a slice one place stays empty, so that lanes N elements apart meet different banks.
template <int N>
constexpr int slice_places = 33 * N;

GPUBENCH_DEVICE int padded(int place) { return place + place / warp_size; }

template <class T, int N>
struct TileItems {
    T values[N];
};

// How many of a warp's 32 * N elements exist, of a tile of which `remaining` do.
template <int N>
GPUBENCH_DEVICE int warp_share(long long remaining, int warp) {
    const long long share = remaining - static_cast<long long>(warp) * (warp_size * N);
    return share <= 0 ? 0 : share < warp_size * N ? static_cast<int>(share) : warp_size * N;
}

// Bring a warp's part of a tile into registers, zero where there is none. `part`: its first element.
template <int N, class T>
GPUBENCH_DEVICE TileItems<T, N> load_warp(const T* part, int share, T* slice) {
    TileItems<T, N> striped;
    GPUBENCH_UNROLL
    for (int i = 0; i < N; ++i) {
        const int place = i * warp_size + lane_index();
        striped.values[i] = place < share ? part[place] : T{};
    }
    warp_barrier();
    GPUBENCH_UNROLL
    for (int i = 0; i < N; ++i) slice[padded(i * warp_size + lane_index())] = striped.values[i];
    warp_barrier();
    TileItems<T, N> items;
    GPUBENCH_UNROLL
    for (int i = 0; i < N; ++i) items.values[i] = slice[padded(lane_index() * N + i)];
    return items;
}

// The way back.
template <int N, class T>
GPUBENCH_DEVICE void store_warp(T* part, int share, const TileItems<T, N>& items, T* slice) {
    warp_barrier();
    GPUBENCH_UNROLL
    for (int i = 0; i < N; ++i) slice[padded(lane_index() * N + i)] = items.values[i];
    warp_barrier();
    GPUBENCH_UNROLL
    for (int i = 0; i < N; ++i) {
        const int place = i * warp_size + lane_index();
        if (place < share) part[place] = slice[padded(place)];
    }
}

// The sum of a thread's items.
template <class A, int N, class T>
GPUBENCH_DEVICE A total_of(const TileItems<T, N>& items) {
    A sum = convert<A>(items.values[0]);
    GPUBENCH_UNROLL
    for (int i = 1; i < N; ++i) sum = add(sum, convert<A>(items.values[i]));
    return sum;
}

// Replace a thread's items by their running sums after `before`; each is rounded to T, the sum itself is not.
template <class A, int N, class T>
GPUBENCH_DEVICE void run_sums(TileItems<T, N>& items, A before) {
    A sum = before;
    GPUBENCH_UNROLL
    for (int i = 0; i < N; ++i) {
        sum = add(sum, convert<A>(items.values[i]));
        items.values[i] = convert<T>(sum);
    }
}

}  // namespace gpubench::cumsum
