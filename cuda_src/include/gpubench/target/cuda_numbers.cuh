// Bits and 16-bit conversions on a GPU. Part of target/cuda.cuh.
#pragma once

namespace gpubench {

GPUBENCH_DEVICE int count_leading_zeros(uint32 value) { return __clz(static_cast<int>(value)); }
GPUBENCH_DEVICE int count_leading_zeros(uint64 value) { return __clzll(static_cast<int64>(value)); }
GPUBENCH_DEVICE int count_trailing_zeros(uint32 value) { return __clz(static_cast<int>(__brev(value))); }
GPUBENCH_DEVICE int count_trailing_zeros(uint64 value) { return __clzll(static_cast<int64>(__brevll(value))); }
GPUBENCH_DEVICE int population_count(uint32 value) { return __popc(value); }
GPUBENCH_DEVICE int population_count(uint64 value) { return __popcll(value); }
GPUBENCH_DEVICE uint32 select_bytes(uint32 low, uint32 high, uint32 selector) { return __byte_perm(low, high, selector); }
GPUBENCH_DEVICE uint32 multiply_high(uint32 a, uint32 b) { return __umulhi(a, b); }
GPUBENCH_DEVICE uint64 multiply_high(uint64 a, uint64 b) { return __umul64hi(a, b); }

template <class T>
GPUBENCH_DEVICE int32 dot_items(uint32 items, uint32 weights, int32 sum) {
    constexpr bool is_signed = static_cast<T>(-1) < static_cast<T>(0);
    if constexpr (sizeof(T) == 1 && is_signed) return __dp4a(static_cast<int32>(items), static_cast<int32>(weights), sum);
    else if constexpr (sizeof(T) == 1) return static_cast<int32>(__dp4a(items, weights, static_cast<uint32>(sum)));
    else if constexpr (is_signed) return __dp2a_lo(static_cast<int32>(items), static_cast<int32>(weights), sum);
    else return static_cast<int32>(__dp2a_lo(items, weights, static_cast<uint32>(sum)));
}

GPUBENCH_DEVICE float rounded_product(float a, float b) { return __fmul_rn(a, b); }

GPUBENCH_DEVICE float reciprocal_sqrt(float value) { return ::rsqrtf(value); }
GPUBENCH_DEVICE double reciprocal_sqrt(double value) { return ::rsqrt(value); }

GPUBENCH_DEVICE float approximate_exp2(float value) {
    float result;
    asm("ex2.approx.f32 %0, %1;" : "=f"(result) : "f"(value));
    return result;
}
GPUBENCH_DEVICE float approximate_large_exp2(float value) {
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
    return result;
}
GPUBENCH_DEVICE float approximate_log2(float value) {
    float result;
    asm("lg2.approx.f32 %0, %1;" : "=f"(result) : "f"(value));
    return result;
}
GPUBENCH_DEVICE float approximate_sqrt(float value) {
    float result;
    asm("sqrt.approx.f32 %0, %1;" : "=f"(result) : "f"(value));
    return result;
}
GPUBENCH_DEVICE float approximate_quotient(float value, float divisor) {
    float result;
    asm("div.full.f32 %0, %1, %2;" : "=f"(result) : "f"(value), "f"(divisor));
    return result;
}
GPUBENCH_DEVICE float approximate_reciprocal(float value) {
    float result;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
    return result;
}
GPUBENCH_DEVICE double approximate_reciprocal(double value) {
    double result;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(result) : "d"(value));
    return result;
}

GPUBENCH_DEVICE float half_to_float(uint16 bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}
GPUBENCH_DEVICE uint16 float_to_half(float value) {
    uint16 bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}
GPUBENCH_DEVICE uint16 double_to_half(double value) {
    uint16 bits;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(value));
    return bits;
}

GPUBENCH_DEVICE FloatPair halves_to_floats(uint32 word) {
    FloatPair pair;
    asm("{ .reg .b16 low, high; mov.b32 {low, high}, %2; cvt.f32.f16 %0, low; cvt.f32.f16 %1, high; }"
        : "=f"(pair.low), "=f"(pair.high)
        : "r"(word));
    return pair;
}
GPUBENCH_DEVICE uint32 floats_to_halves(FloatPair pair) {
    if constexpr (architecture >= 800) {  // sm_75 converts one at a time
        uint32 word;
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(pair.high), "f"(pair.low));
        return word;
    } else {
        return float_to_half(pair.low) | static_cast<uint32>(float_to_half(pair.high)) << 16;
    }
}

GPUBENCH_DEVICE float bfloat16_to_float(uint16 bits) { return bits16::bfloat16_to_float(bits); }
GPUBENCH_DEVICE uint16 float_to_bfloat16(float value) {
    if constexpr (architecture >= 800) {  // sm_75 has no such conversion
        uint16 bits;
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
        return bits;
    } else {
        return bits16::float_to_bfloat16(value);
    }
}
GPUBENCH_DEVICE FloatPair bfloat16s_to_floats(uint32 word) { return bits16::bfloat16s_to_floats(word); }
GPUBENCH_DEVICE uint32 floats_to_bfloat16s(FloatPair pair) {
    if constexpr (architecture >= 800) {
        uint32 word;
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(pair.high), "f"(pair.low));
        return word;
    } else {
        return bits16::float_to_bfloat16(pair.low) | static_cast<uint32>(bits16::float_to_bfloat16(pair.high)) << 16;
    }
}
GPUBENCH_DEVICE uint16 double_to_bfloat16(double value) {
    return float_to_bfloat16(bits16::double_to_float_odd(value));
}

}  // namespace gpubench
