// Functions of real numbers for float and double, at the accuracy of the platform's C library (no fast forms).
#pragma once

#include "gpubench/platform.cuh"
#include "gpubench/traits.cuh"

namespace gpubench::math {

GPUBENCH_DEVICE float exp(float x) { return ::expf(x); }
GPUBENCH_DEVICE double exp(double x) { return ::exp(x); }
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
GPUBENCH_DEVICE float pow(float x, float y) { return ::powf(x, y); }
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
