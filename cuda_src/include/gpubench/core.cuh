// Names that need no target, only its macros: integers by width, 16 bytes as one word, bits seen as another type.
// Included by the targets; everyone else includes platform.cuh.
#pragma once

namespace gpubench {

using int8 = signed char;
using uint8 = unsigned char;
using int16 = short;
using uint16 = unsigned short;
using int32 = int;
using uint32 = unsigned int;
using int64 = long long;
using uint64 = unsigned long long;

constexpr int warp_size = 32;
constexpr uint32 full_mask = 0xffffffffu;

// 16 bytes that move as one. `low` lies at the lower address.
struct alignas(16) Word128 {
    uint64 low;
    uint64 high;
};

// Two floats, as the conversions of two 16-bit floats in a word give and take them.
struct FloatPair {
    float low, high;
};

// How an access treats the caches; platform.cuh says what each means.
enum class Cache { normal, read_only, streaming, no_allocate, first_out };

// What a background copy brings beside what it copies: the rest of a line of 128 bytes into the L2 cache, nothing, or what it copies into
// the L1 cache as well, for others that copy out of the same sector.
enum class Beside { rest_of_line, nothing, in_l1 };

// The unsigned word of so many bytes.
template <int Bytes>
struct WordOf;
template <>
struct WordOf<1> {
    using type = uint8;
};
template <>
struct WordOf<2> {
    using type = uint16;
};
template <>
struct WordOf<4> {
    using type = uint32;
};
template <>
struct WordOf<8> {
    using type = uint64;
};
template <>
struct WordOf<16> {
    using type = Word128;
};
template <int Bytes>
using Word = typename WordOf<Bytes>::type;

// The same bits as another type of the same size.
template <class To, class From>
GPUBENCH_DEVICE constexpr To bit_cast(const From& from) {
    static_assert(sizeof(To) == sizeof(From), "bit_cast keeps the size");
    return __builtin_bit_cast(To, from);
}

}  // namespace gpubench
