// Functions of real numbers for float and double, at the accuracy of the platform's C library (no fast forms).
//
// The exponential of a double is written out without a branch, so that a thread's elements are worked out side by side and share
// the constants, which take two instructions each.
#pragma once

#include "gpubench/platform.cuh"
#include "gpubench/traits.cuh"

namespace gpubench::math {

GPUBENCH_DEVICE float exp(float x) { return ::expf(x); }
// 2^k e^r with |r| <= ln(2) / 2; e^r is a polynomial through the Chebyshev points, to within 2^-55. Two factors, for a result may be
// subnormal.
GPUBENCH_DEVICE double exp(double x) {
    constexpr double whole = 0x1.8p52;  // what is added to it becomes a whole number in the last bits
    const double low = x < -750.0 ? -750.0 : x, bounded = low > 710.0 ? 710.0 : low;  // 0 and infinity from there on; NaN stays
    const double shifted = ::fma(bounded, 1.4426950408889634, whole), turns = shifted - whole;
    const double r = ::fma(turns, -2.3190468138462996e-17, ::fma(turns, -0.6931471805599453, bounded));
    double sum = ::fma(r, 2.5100421692999058e-08, 2.7620089989897447e-07);
    sum = ::fma(r, sum, 2.7557268354939504e-06);
    sum = ::fma(r, sum, 2.480152129205187e-05);
    sum = ::fma(r, sum, 0.00019841269863157314);
    sum = ::fma(r, sum, 0.0013888888917217067);
    sum = ::fma(r, sum, 0.008333333333330022);
    sum = ::fma(r, sum, 0.041666666666624115);
    sum = ::fma(r, sum, 0.16666666666666669);
    sum = ::fma(r, sum, 0.5000000000000001);
    sum = ::fma(r, ::fma(r, sum, 1.0), 1.0);
    const int32 k = static_cast<int32>(bit_cast<uint64>(shifted)), half = k >> 1;
    const double first = bit_cast<double>(static_cast<uint64>(1023 + half) << 52);
    return sum * first * bit_cast<double>(static_cast<uint64>(1023 + k - half) << 52);
}
GPUBENCH_DEVICE float log(float x) { return ::logf(x); }
GPUBENCH_DEVICE double log(double x) { return ::log(x); }
GPUBENCH_DEVICE float sqrt(float x) { return ::sqrtf(x); }
GPUBENCH_DEVICE double sqrt(double x) { return ::sqrt(x); }
GPUBENCH_DEVICE float rsqrt(float x) { return reciprocal_sqrt(x); }
GPUBENCH_DEVICE double rsqrt(double x) { return reciprocal_sqrt(x); }
GPUBENCH_DEVICE float sin(float x) { return ::sinf(x); }
GPUBENCH_DEVICE double sin(double x) { return ::sin(x); }
GPUBENCH_DEVICE float cos(float x) { return ::cosf(x); }
GPUBENCH_DEVICE double cos(double x) { return ::cos(x); }
GPUBENCH_DEVICE float tanh(float x) { return ::tanhf(x); }
GPUBENCH_DEVICE double tanh(double x) { return ::tanh(x); }
GPUBENCH_DEVICE double pow(double x, double y) { return ::pow(x, y); }
GPUBENCH_DEVICE float hypot(float x, float y) { return ::hypotf(x, y); }
GPUBENCH_DEVICE double hypot(double x, double y) { return ::hypot(x, y); }
GPUBENCH_DEVICE float abs(float x) { return ::fabsf(x); }
GPUBENCH_DEVICE double abs(double x) { return ::fabs(x); }
GPUBENCH_DEVICE float fma(float x, float y, float z) { return ::fmaf(x, y, z); }
GPUBENCH_DEVICE double fma(double x, double y, double z) { return ::fma(x, y, z); }

// True for NaN; false for every number that is not a float.
template <class T>
GPUBENCH_DEVICE bool is_nan(T x) {
    return x != x;
}

}  // namespace gpubench::math
