"""The few headers of the C library that CUDA sources include out of habit, as a compiler without one can take them.

NVRTC knows the mathematics, printf and the built-in variables by itself, so most of these are empty.
"""

from __future__ import annotations

from collections.abc import Mapping

_INTEGERS = """#pragma once
typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long int64_t;
typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t;
typedef unsigned long uint64_t; typedef unsigned long uintptr_t; typedef long intptr_t;
namespace std {
using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t;
using ::uint8_t; using ::uint16_t; using ::uint32_t; using ::uint64_t; using ::uintptr_t; using ::intptr_t;
}
"""
_SIZES = "#pragma once\ntypedef decltype(sizeof(0)) size_t;\ntypedef decltype((char*)0 - (char*)0) ptrdiff_t;\n"
_FLOATS = """#pragma once
#define FLT_MAX 3.402823466e+38F
#define FLT_MIN 1.175494351e-38F
#define FLT_EPSILON 1.192092896e-07F
#define DBL_MAX 1.7976931348623158e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-016
"""
_LIMITS = """#pragma once
#define INT_MAX 2147483647
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 4294967295U
#define LLONG_MAX 9223372036854775807LL
#define LLONG_MIN (-LLONG_MAX - 1)
#define ULLONG_MAX 18446744073709551615ULL
"""
_NOTHING = "#pragma once\n"
_MATHEMATICS = """#pragma once
#ifndef INFINITY
#define INFINITY (__builtin_huge_valf())
#define NAN (__builtin_nanf(""))
#endif
"""
_ASSERT = "#pragma once\n#ifndef assert\n#define assert(condition) ((condition) ? (void)0 : __trap())\n#endif\n"

STANDARD: Mapping[str, str] = {
    "stdint.h": _INTEGERS,
    "cstdint": _INTEGERS,
    "stddef.h": _SIZES,
    "cstddef": _SIZES,
    "float.h": _FLOATS,
    "cfloat": _FLOATS,
    "limits.h": _LIMITS,
    "climits": _LIMITS,
    "math.h": _MATHEMATICS,
    "cmath": _MATHEMATICS,
    "assert.h": _ASSERT,
    "cassert": _ASSERT,
    "stdio.h": _NOTHING,
    "cstdio": _NOTHING,
    "cuda_runtime.h": _NOTHING,
    "cuda_runtime_api.h": _NOTHING,
    "cuda.h": _NOTHING,
    "device_launch_parameters.h": _NOTHING,
}
"""Text by the name in the `#include`."""
