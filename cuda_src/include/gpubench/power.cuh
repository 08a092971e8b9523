// A float to the power of a float, without a branch: |x|^y = 2^(y log2 |x|), with log2 |x| as a sum of two floats, for y may be large.
//
// A thread's elements are worked out side by side, in two thirds of the C library's instructions, whose rare cases are branches that
// every warp of mixed numbers takes. Errors, relative, in units of 2^-24: at most 3.9 of 33 million random pairs on an H200, 0.7 in the
// mean, most of them the hardware exponential's; special numbers as in C (IEEE 754-2019, 9.2.1). A result below 2^-126 is rounded twice.
#pragma once

#include "gpubench/math.cuh"

namespace gpubench::math {

struct TwoFloats {  // the sum of both, the second at most half a unit in the last place of the first
    float high, low;
};

// log2 of a positive finite number, 2^e m with m from sqrt(1/2) to sqrt(2): e + 2 / ln(2) artanh((m - 1) / (m + 1)) (Muller, Elementary
// Functions, 2016, chapter 3), of which s is twice the argument. What s lacks comes of the remainder of its division.
GPUBENCH_DEVICE TwoFloats log2_in_two(float x) {
    constexpr float log2_e = 1.44269502f, log2_e_low = 1.92596303e-8f;
    constexpr int32 root_half = 0x3f3504f3;  // its bits
    const bool subnormal = x < 0x1p-126f;
    const int32 bits = bit_cast<int32>(subnormal ? x * 0x1p24f : x);
    const int32 exponent = static_cast<int32>(static_cast<uint32>(bits - root_half) & 0xff800000u);
    const float e = fma(static_cast<float>(exponent), 0x1p-23f, subnormal ? -24.0f : 0.0f);
    const float t = bit_cast<float>(bits - exponent) - 1.0f, divided = approximate_reciprocal(t + 2.0f);
    const float s = rounded_product(divided, t + t), unused = t - s;
    const float s_low = divided * fma(s, -t, unused + unused), square = s * s;
    float sum = fma(square, 6.5740076e-4f, 3.2179782e-3f);  // through the Chebyshev points, to within 2^-35
    sum = fma(square, sum, 1.8033743e-2f);
    sum = square * fma(square, sum, 1.2022459e-1f);
    const float first = fma(s, log2_e, e);
    float rest = fma(s, log2_e, e - first);
    rest = fma(s, log2_e_low, fma(s_low, log2_e, rest));
    rest = fma(s, sum, fma(s_low, 3.0f * sum, rest));
    const float high = first + rest;
    return {high, rest - (high - first)};
}

// From |x|^y to x^y: the sign of an odd power, NaN for fractions of a negative number, and 1 where C says so whatever the rest is.
GPUBENCH_DEVICE float finished_power(float power, float x, float y) {
    const float infinity = bit_cast<float>(0x7f800000u);
    const float over = fma(::truncf(y * 0.5f), -2.0f, y);  // NaN for infinities, which are even
    const bool odd = abs(over) == 1.0f, fraction = (abs(over) > 0.0f) & !odd;
    if (odd) power = bit_cast<float>(bit_cast<uint32>(power) | (bit_cast<uint32>(x) & 0x80000000u));
    if (fraction & (x < 0.0f) & (x > -infinity)) power = bit_cast<float>(0x7fc00000u);
    const bool is_one = (x == 1.0f) | (y == 0.0f) | ((x == -1.0f) & (abs(y) == infinity));
    return is_one ? 1.0f : power;
}

GPUBENCH_DEVICE float pow(float x, float y) {
    constexpr float largest = 0x1.fffffep6f;  // from 128 on the hardware's exponential is infinite, whatever is to come off
    constexpr float largest_float = 0x1.fffffep127f;
    const float infinity = bit_cast<float>(0x7f800000u), size = abs(x);
    TwoFloats log = log2_in_two(size);
    log.high = size < infinity ? log.high : size;
    log.high = size == 0.0f ? -infinity : log.high;
    const float whole = rounded_product(y, log.high), bounded = whole > largest ? largest : whole;
    const float rest = fma(y, log.low, fma(y, log.high, -bounded));
    const float near = approximate_exp2(bounded), sum = fma(near, rest * 0.693147181f, near);
    float power = rest < 0x1p-17f ? ::fminf(sum, largest_float) : sum;  // below 2^128 by less than the exponential is off
    if (abs(whole) == infinity) power = whole < 0.0f ? 0.0f : whole;
    return finished_power(power, x, y);
}

}  // namespace gpubench::math
