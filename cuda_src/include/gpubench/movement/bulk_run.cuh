// A run of elements side by side, at any alignment, by one bulk copy into shared memory, and back by whole vectors.
#pragma once

#include "gpubench/movement/span.cuh"
#include "gpubench/movement/stages.cuh"

namespace gpubench {

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

// Zero in place of the word of 32 bits that an end of a run cuts, where the copy does not bring what stands beside the run.
template <class T>
GPUBENCH_DEVICE void clear_word(char* stage, const T* start, const T* edge, const T* end_of_x) {
    const uint64 place = reinterpret_cast<uint64>(edge), word = place & ~uint64{3}, low = reinterpret_cast<uint64>(start) & ~uint64{15};
    if (word < place && word >= (reinterpret_cast<uint64>(end_of_x) & ~uint64{15})) *reinterpret_cast<uint32*>(stage + (word - low)) = 0;
}

// A run for the whole block, by its first warp; it lies, as it does in memory, from the address that is returned, and may be read
// by whole words of 32 bits. Once a kernel.
template <class T>
GPUBENCH_DEVICE const T* land_run(char* stage, const T* start, const T* stop, const T* end_of_x, bool streaming) {
    GPUBENCH_SHARED(PhaseBarrier, landed, 1);
    if (thread_index_x() == 0) {
        phase_init(landed, 1);
        phase_init_done();
        clear_word(stage, start, start, end_of_x);
        clear_word(stage, start, stop, end_of_x);
    }
    block_barrier();
    if (thread_index_x() < warp_size) copy_run(stage, start, stop, end_of_x, landed, streaming);
    phase_wait(landed, 0);
    return reinterpret_cast<const T*>(stage + reinterpret_cast<uint64>(start) % 16);
}

// A warp's part of `rows` rows that are longer than the piece of `columns` elements which is wanted of each: `part` rows from
// number * part on, by one copy a row. Rows begin on 16 bytes, `step` elements apart, and end so.
template <class T>
GPUBENCH_DEVICE void copy_part_of_rows(char* stage, const T* start, int rows, int columns, long long step, int part, int number,
                                       PhaseBarrier* full) {
    const int first = number * part;
    const int left = rows - first;
    const int mine = left < 0 ? 0 : left < part ? left : part;
    const uint32 row_bytes = static_cast<uint32>(columns) * static_cast<uint32>(sizeof(T));
    warp_copy_rows(stage + first * static_cast<int>(row_bytes), start + first * step, mine, row_bytes,
                   step * static_cast<long long>(sizeof(T)), full);
}

// Make the warp's own barrier and ask for its stage: `slots` elements from 16 bytes of the source on, of which the first
// `exist` exist; the others become zero. `streaming`: the L2 cache gives them up first.
template <class T>
GPUBENCH_DEVICE void open_stage(T* stage, const T* source, int slots, long long exist, const StageBarriers& landed, bool streaming) {
    const int here = exist < 0 ? 0 : exist < slots ? static_cast<int>(exist) : slots;
    make_warp_barriers<1>(landed);
    for (int slot = here + lane_index(); slot < slots; slot += warp_size) stage[slot] = T{};
    copy_run(reinterpret_cast<char*>(stage), source, source + here, source + here, landed.at(0), streaming);
}

// A lane's vector of the warp's vectors 32 k to 32 k + 31 in a stage.
template <int V, class T>
GPUBENCH_DEVICE Packed<T, V> load_staged(const T* stage, int k, int lane) {
    return load_packed<V>(stage + k * (warp_size * V) + lane * V);
}

// The first `bytes` of a warp's stage, from and to registers: as they are in memory, whatever they mean.
template <int Vectors>
GPUBENCH_DEVICE void keep_stage(Word128 (&kept)[Vectors], const char* stage, int bytes) {
    GPUBENCH_UNROLL
    for (int k = 0; k < Vectors; ++k) {
        const int at = (k * warp_size + lane_index()) * 16;
        if (at < bytes) kept[k] = load_word(reinterpret_cast<const Word128*>(stage + at));
    }
}
template <int Vectors>
GPUBENCH_DEVICE void put_back(const Word128 (&kept)[Vectors], char* stage, int bytes) {
    warp_barrier();  // the stage is read by other lanes
    GPUBENCH_UNROLL
    for (int k = 0; k < Vectors; ++k) {
        const int at = (k * warp_size + lane_index()) * 16;
        if (at < bytes) store_word(reinterpret_cast<Word128*>(stage + at), kept[k]);
    }
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

}  // namespace gpubench
