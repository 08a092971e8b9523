// What is brought to the parts of a range: a located row, and what goes with it, of one, two or four words of 32 bits.
//
// A row and one word stand in one word of 64 bits. More words stand in an array of their own, one access each, and the rows in another one
// behind it: neighbours lie side by side in either, in memory as in shared memory.
#pragma once

#include "gpubench/pairs.cuh"
#include "gpubench/traits.cuh"
#include "gpubench/vector.cuh"

namespace gpubench {

constexpr uint32 no_offset = 0xffffu;  // of an entry that pads a run

GPUBENCH_DEVICE uint32 part_of(uint32 located) { return located >> 16; }
GPUBENCH_DEVICE uint32 offset_of(uint32 located) { return located & 0xffffu; }

template <int Words>
struct WideEntry {
    uint32 row;  // located
    Word<4 * Words> value;
};

template <int Words>
using PartEntry = conditional_t<Words == 1, Pair, WideEntry<Words>>;

template <int Words>
GPUBENCH_DEVICE PartEntry<Words> make_entry(uint32 row, Word<4 * Words> value) {
    if constexpr (Words == 1) return make_pair(row, value);
    else return {row, value};
}
template <int Words>
GPUBENCH_DEVICE uint32 row_of(const WideEntry<Words>& entry) { return entry.row; }
GPUBENCH_DEVICE uint32 value_of(Pair pair) { return position_of(pair); }
template <int Words>
GPUBENCH_DEVICE Word<4 * Words> value_of(const WideEntry<Words>& entry) { return entry.value; }

// `room` entries in shared or global memory, on 16 bytes; room: any number in shared memory, a multiple of eight for whole sectors.
template <int Words>
struct PartEntries {
    using Value = Word<4 * Words>;
    Value* values;
    uint32* rows;

    GPUBENCH_DEVICE PartEntries(uint64* memory, uint32 room)
        : values(reinterpret_cast<Value*>(memory)), rows(reinterpret_cast<uint32*>(values + room)) {}

    GPUBENCH_DEVICE uint32* behind(uint32 room) const { return rows + room; }
    GPUBENCH_DEVICE PartEntry<Words> get(uint32 i) const { return {rows[i], load_word(values + i)}; }
    GPUBENCH_DEVICE void set(uint32 i, const PartEntry<Words>& entry) const {
        rows[i] = entry.row;
        store_word(values + i, entry.value);
    }
    // An entry of global memory that is read once: see load_existing.
    GPUBENCH_DEVICE PartEntry<Words> take(uint32 i, bool exists) const {
        return {load_existing<Cache::first_out>(rows + i, exists), load_existing<Cache::first_out>(values + i, exists)};
    }
};

template <>
struct PartEntries<1> {
    Pair* pairs;

    GPUBENCH_DEVICE PartEntries(uint64* memory, uint32) : pairs(memory) {}

    GPUBENCH_DEVICE uint32* behind(uint32 room) const { return reinterpret_cast<uint32*>(pairs + room); }
    GPUBENCH_DEVICE Pair get(uint32 i) const { return pairs[i]; }
    GPUBENCH_DEVICE void set(uint32 i, Pair pair) const { pairs[i] = pair; }
    GPUBENCH_DEVICE Pair take(uint32 i, bool exists) const { return load_existing<Cache::first_out>(pairs + i, exists); }
};

}  // namespace gpubench
