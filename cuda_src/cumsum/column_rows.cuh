// How a warp takes rows that lie side by side in shared memory: they come by one copy, lanes side by side take a row, groups
// of lanes consecutive rows, and what was summed in place leaves as one run.
//
// F, in all templates: the numbers of a kernel. F::A type of sums, F::items columns of a lane, F::at_once rows of a lane under
// way; F::packed: lanes and groups of them are as many as the columns allow, else F::across lanes, a power of two.
#pragma once

#include "gpubench/pipeline.cuh"
#include "cumsum/items.cuh"
#include "cumsum/strip.cuh"

namespace gpubench::cumsum {

// The rows of a stage that the calling lane takes, of one vector of columns; none beside the last column.
template <class T>
struct LaneRows {
    T* source;
    int column, part;
    int first, count;
};

// F::at_once of the lane's rows from `source` on, of which `count` exist; those beyond are zero.
template <bool Whole, class F, class T>
GPUBENCH_DEVICE void load_some(Packed<T, F::items> (&raw)[F::at_once], const T* source, int count, int pitch) {
    GPUBENCH_UNROLL
    for (int k = 0; k < F::at_once; ++k) {
        if constexpr (!Whole) raw[k] = Packed<T, F::items>{};
        if (Whole || k < count) raw[k] = load_packed<F::items>(source + k * pitch);
    }
}

template <bool Whole, class F, class T>
GPUBENCH_DEVICE void sum_some(Vector<typename F::A, F::items>& sum, const T* source, int count, int pitch) {
    Packed<T, F::items> raw[F::at_once];
    load_some<Whole, F>(raw, source, count, pitch);
    GPUBENCH_UNROLL
    for (int k = 0; k < F::at_once; ++k) add_vector(sum, unpack_items<F::items, typename F::A>(raw[k]));
}

// The sums of the lane's rows. No question is asked of each row while F::at_once of them exist.
template <class F, class T>
GPUBENCH_DEVICE Vector<typename F::A, F::items> sum_lane(const LaneRows<T>& mine, int pitch) {
    Vector<typename F::A, F::items> sum{};
    const T* source = mine.source;
    int row = 0;
    GPUBENCH_NO_UNROLL
    for (; row + F::at_once <= mine.count; row += F::at_once) {
        sum_some<true, F>(sum, source, F::at_once, pitch);
        source += F::at_once * pitch;
    }
    if (row < mine.count) sum_some<false, F>(sum, source, mine.count - row, pitch);
    warp_barrier();  // lanes with fewer rows wait for the others
    return sum;
}

// From the sums of each lane's rows to those of the groups before it in the warp.
template <class F>
GPUBENCH_DEVICE void sums_before_group(Vector<typename F::A, F::items>& sum, int across, int lanes) {
    using A = typename F::A;
    GPUBENCH_NO_UNROLL  // unrolled, the shuffles of all items are under way at once, and registers run out
    for (int delta = across; delta < lanes; delta *= 2) {
        GPUBENCH_UNROLL
        for (int j = 0; j < F::items; ++j) {
            const int place = opaque(lane_index());
            const A other = shuffle_up(full_mask, sum[j], delta);
            if (place >= delta) sum[j] = add(other, sum[j]);
        }
    }
    GPUBENCH_UNROLL
    for (int j = 0; j < F::items; ++j) {
        const int place = opaque(lane_index());
        const A left = shuffle_up(full_mask, sum[j], across % warp_size);
        sum[j] = A{};
        if (place >= across) sum[j] = left;
    }
}

// The sums of all groups, for the first of them.
template <class F>
GPUBENCH_DEVICE void sum_groups(Vector<typename F::A, F::items>& sum, int across, int lanes) {
    if constexpr (F::packed) {
        const int place = opaque(lane_index());
        for (int delta = across; delta < lanes; delta *= 2) {
            GPUBENCH_UNROLL
            for (int j = 0; j < F::items; ++j) {
                const typename F::A other = shuffle_down(full_mask, sum[j], delta);
                if (place + delta < lanes) sum[j] = add(sum[j], other);
            }
        }
    } else {
        GPUBENCH_UNROLL
        for (int j = 0; j < F::items; ++j) {
            GPUBENCH_UNROLL
            for (int bits = F::across; bits < warp_size; bits *= 2) sum[j] = add(sum[j], shuffle_xor(full_mask, sum[j], bits));
        }
    }
}

template <bool Whole, class F, class T, class Out>
GPUBENCH_DEVICE void add_some(Vector<typename F::A, F::items>& sum, const T* source, int count, int columns, Out* place, long long pitch) {
    Packed<T, F::items> raw[F::at_once];
    load_some<Whole, F>(raw, source, count, columns);
    GPUBENCH_UNROLL
    for (int k = 0; k < F::at_once; ++k) {
        add_vector(sum, unpack_items<F::items, typename F::A>(raw[k]));
        if (Whole || k < count) store_packed(place + k * pitch, pack_items<F::items, Out>(sum));
    }
}

// Add up the lane's rows from `sum` on, each into a row of `place`; `sum` is moved on behind them.
template <class F, class T, class Out>
GPUBENCH_DEVICE void add_rows(Vector<typename F::A, F::items>& sum, const LaneRows<T>& mine, int columns, Out* place, long long pitch) {
    const T* source = mine.source;
    int row = 0;
    GPUBENCH_NO_UNROLL
    for (; row + F::at_once <= mine.count; row += F::at_once) {
        add_some<true, F>(sum, source, F::at_once, columns, place, pitch);
        source += F::at_once * columns;
        place += F::at_once * pitch;
    }
    if (row < mine.count) add_some<false, F>(sum, source, mine.count - row, columns, place, pitch);
    warp_barrier();
}

// `count` elements side by side, which the warp has written to shared memory, leave for y as one run: whole vectors wherever
// it begins.
template <int AtOnce, class T, class Out>
GPUBENCH_DEVICE void store_run(const T* source, Out* target, int count) {
    constexpr int V = vector_items<T, Out>;
    const int begin = empty_slots<V>(target, 0);
    const int end = begin + count;
    target -= begin;
    source -= begin;
    const bool whole = is_aligned(source, V * static_cast<int>(sizeof(T)));
    for (int base = lane_index() * V; base - lane_index() * V < end; base += AtOnce * warp_size * V) {
        const Span span{base, warp_size * V, begin - base, end - base};
        Packed<T, V> raw[AtOnce];
        load_span<V, AtOnce>(raw, source, span, whole);
        GPUBENCH_UNROLL
        for (int k = 0; k < AtOnce; ++k) store_packed_items<V>(target, span, k, raw[k]);
    }
}

// Rows side by side, at any alignment: whole 16 bytes by one copy; the last few elements of x, which none holds, one by one.
// `streaming`: the L2 cache gives them up first.
template <class T>
GPUBENCH_DEVICE void copy_run(char* stage, const T* start, const T* stop, const T* end_of_x, PhaseBarrier* full, bool streaming) {
    const uint64 low = reinterpret_cast<uint64>(start) & ~uint64{15};
    const uint64 limit = reinterpret_cast<uint64>(end_of_x) & ~uint64{15};
    uint64 high = (reinterpret_cast<uint64>(stop) + 15) & ~uint64{15};
    if (high > limit) high = limit;
    if (high < low) high = low;
    const T* rest = reinterpret_cast<const T*>(high);
    if (rest < start) rest = start;
    rest += lane_index();
    if (rest < stop) *reinterpret_cast<T*>(stage + (reinterpret_cast<uint64>(rest) - low)) = *rest;
    warp_copy(stage, reinterpret_cast<const void*>(low), static_cast<uint32>(high - low), full, streaming);
}

}  // namespace gpubench::cumsum
