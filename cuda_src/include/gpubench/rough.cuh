// A float whose functions are close enough for results that are rounded to 16 bits: a few instructions of the hardware's
// approximations in place of the C library's 15 to 60. The functors of functions.cuh take it as any other type.
//
// Errors are relative, in units of 2^-24, and hold on every input that is a 16-bit float; zeros, infinities and NaN come out as
// in the C library. Where an approximation's own error is absolute (the logarithm near 1, the sine near its zeros), a short
// series takes its place. A test holds all of it against float64 over all 65,536 inputs of both dtypes.
#pragma once

#include "gpubench/power.cuh"
#include "gpubench/types.cuh"

namespace gpubench {

struct Rough {
    float value;

    GPUBENCH_DEVICE constexpr explicit Rough(float number) : value(number) {}
    GPUBENCH_DEVICE constexpr explicit Rough(double number) : value(static_cast<float>(number)) {}
    GPUBENCH_DEVICE constexpr explicit Rough(int number) : value(static_cast<float>(number)) {}
};

template <>
constexpr bool is_float<Rough> = true;

GPUBENCH_DEVICE bool operator<(Rough a, Rough b) { return a.value < b.value; }
GPUBENCH_DEVICE Rough operator-(Rough a) { return Rough(-a.value); }
GPUBENCH_DEVICE Rough operator+(Rough a, Rough b) { return Rough(a.value + b.value); }
GPUBENCH_DEVICE Rough operator*(Rough a, Rough b) { return Rough(a.value * b.value); }
GPUBENCH_DEVICE Rough operator/(Rough a, Rough b) { return Rough(approximate_quotient(a.value, b.value)); }

namespace rough {

constexpr float log2_e = 1.44269504f, ln_2 = 0.693147181f;

// Where |x - 1| is below this, logarithms come from a series in x - 1, which is exact.
constexpr float near_one = 0.125f;

// ln(1 + t) / t.
GPUBENCH_DEVICE float log_series(float t) {
    float sum = math::fma(t, -1.0f / 6, 1.0f / 5);
    sum = math::fma(t, sum, -1.0f / 4);
    sum = math::fma(t, sum, 1.0f / 3);
    sum = math::fma(t, sum, -1.0f / 2);
    return math::fma(t, sum, 1.0f);
}

// Of a number that is not negative.
GPUBENCH_DEVICE float log2(float x) {
    const float t = x - 1.0f;
    return math::abs(t) < near_one ? t * log_series(t) * log2_e : approximate_log2(x);
}

// sin(x) for |x| up to 65536: less the nearest multiple of pi, whose parity is the sign.
GPUBENCH_DEVICE float sin_reduced(float x) {
    constexpr float whole = 12582912.0f;  // 1.5 x 2^23: what is added to it becomes a whole number in the last bits
    const float shifted = math::fma(x, 0.318309886f, whole), turns = shifted - whole;
    const float r = math::fma(turns, 8.74227766e-8f, math::fma(turns, -3.14159274f, x)), square = r * r;
    float sum = math::fma(square, 2.75573192e-6f, -1.98412698e-4f);
    sum = math::fma(square, sum, 8.33333333e-3f);
    sum = math::fma(square, sum, -1.66666667e-1f);
    const float sine = r * math::fma(square, sum, 1.0f);
    return bit_cast<float>(bit_cast<uint32>(sine) ^ bit_cast<uint32>(shifted) << 31);
}

// tanh(x) for |x| below 0.5.
GPUBENCH_DEVICE float tanh_series(float x) {
    const float square = x * x;
    float sum = math::fma(square, 62.0f / 2835, -17.0f / 315);
    sum = math::fma(square, sum, 2.0f / 15);
    sum = math::fma(square, sum, -1.0f / 3);
    return x * math::fma(square, sum, 1.0f);
}

}  // namespace rough

namespace math {

GPUBENCH_DEVICE Rough exp(Rough x) { return Rough(approximate_exp2(x.value * rough::log2_e)); }

GPUBENCH_DEVICE Rough sqrt(Rough x) { return Rough(approximate_sqrt(x.value)); }

GPUBENCH_DEVICE Rough log(Rough x) {
    const float t = x.value - 1.0f;
    return Rough(math::abs(t) < rough::near_one ? t * rough::log_series(t) : approximate_log2(x.value) * rough::ln_2);
}

GPUBENCH_DEVICE Rough sin(Rough x) {
    if (math::abs(x.value) <= 65536.0f) return Rough(rough::sin_reduced(x.value));
    return Rough(math::sin(x.value));
}

GPUBENCH_DEVICE Rough tanh(Rough x) {
    const float size = math::abs(x.value);
    const float large = 1.0f - 2.0f * approximate_reciprocal(1.0f + approximate_large_exp2(2.0f * rough::log2_e * size));
    const float sized = bit_cast<float>(bit_cast<uint32>(large) | (bit_cast<uint32>(x.value) & 0x80000000u));
    return Rough(size < 0.5f ? rough::tanh_series(x.value) : sized);
}

GPUBENCH_DEVICE Rough pow(Rough base, Rough exponent) {
    const float x = base.value, y = exponent.value;
    return Rough(finished_power(approximate_exp2(y * rough::log2(math::abs(x))), x, y));
}

}  // namespace math

}  // namespace gpubench
