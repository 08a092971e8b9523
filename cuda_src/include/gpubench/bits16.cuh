// 16-bit floats by integer arithmetic: what the targets use where the machine has no instruction for it.
// All conversions round once, to nearest even; NaN stays NaN (made quiet), overflow gives infinity.
// Included by the targets; everyone else includes types.cuh.
#pragma once

namespace gpubench::bits16 {

GPUBENCH_DEVICE float half_to_float(uint16 bits) {
    const uint32 sign = static_cast<uint32>(bits & 0x8000u) << 16;
    const uint32 exponent = (bits >> 10) & 0x1fu;
    const uint32 fraction = bits & 0x3ffu;
    if (exponent == 0) {  // zero or subnormal: a whole number of 2^-24
        const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
        return bit_cast<float>(sign | bit_cast<uint32>(magnitude));
    }
    const uint32 wide = exponent == 31 ? 0x7f800000u : (exponent + 112u) << 23;
    return bit_cast<float>(sign | wide | fraction << 13);
}

GPUBENCH_DEVICE uint16 float_to_half(float value) {
    const uint32 bits = bit_cast<uint32>(value);
    const uint32 sign = (bits >> 16) & 0x8000u;
    uint32 magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return static_cast<uint16>(sign | 0x7e00u);   // NaN
    if (magnitude >= 0x477ff000u) return static_cast<uint16>(sign | 0x7c00u);  // 65520 and more round to infinity
    if (magnitude < 0x38800000u) {  // below 2^-14: adding 0.5, whose last place is 2^-24, rounds as the result must
        const float shifted = bit_cast<float>(magnitude) + 0.5f;
        return static_cast<uint16>(sign | (bit_cast<uint32>(shifted) - 0x3f000000u));
    }
    magnitude += 0xfffu + ((magnitude >> 13) & 1u);
    return static_cast<uint16>(sign | ((magnitude - 0x38000000u) >> 13));
}

GPUBENCH_DEVICE float bfloat16_to_float(uint16 bits) { return bit_cast<float>(static_cast<uint32>(bits) << 16); }

// Of two side by side, the first in the lower half of the word.
GPUBENCH_DEVICE FloatPair bfloat16s_to_floats(uint32 word) {
    return {bit_cast<float>(word << 16), bit_cast<float>(word & 0xffff0000u)};
}

GPUBENCH_DEVICE uint16 float_to_bfloat16(float value) {
    const uint32 bits = bit_cast<uint32>(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16>(bits >> 16 | 0x40u);  // NaN
    return static_cast<uint16>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// double -> float rounded to odd: truncated, with the last bit set when anything was lost. A later rounding to a
// format that is two or more bits narrower is then the same as one rounding from double.
GPUBENCH_DEVICE float double_to_float_odd(double value) {
    const float nearest = static_cast<float>(value);
    const double back = static_cast<double>(nearest);
    if (back == value || value != value) return nearest;
    uint32 bits = bit_cast<uint32>(nearest);
    const bool away = value < 0 ? back < value : back > value;  // rounded away from zero
    bits -= away ? 1u : 0u;
    return bit_cast<float>(bits | 1u);
}

}  // namespace gpubench::bits16
