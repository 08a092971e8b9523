// CUDA's functions of bits and numbers that the C library lacks, or has under another name.
#pragma once

#define GPUBENCH_PICK(T)                                   \
    inline T min(T a, T b) { return b < a ? b : a; }       \
    inline T max(T a, T b) { return a < b ? b : a; }
GPUBENCH_PICK(int)
GPUBENCH_PICK(unsigned)
GPUBENCH_PICK(long)
GPUBENCH_PICK(unsigned long)
GPUBENCH_PICK(long long)
GPUBENCH_PICK(unsigned long long)
#undef GPUBENCH_PICK
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }

inline int __popc(unsigned value) { return __builtin_popcount(value); }
inline int __popcll(unsigned long long value) { return __builtin_popcountll(value); }
inline int __clz(int value) { return value == 0 ? 32 : __builtin_clz(static_cast<unsigned>(value)); }
inline int __clzll(long long value) { return value == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(value)); }
inline int __ffs(int value) { return __builtin_ffs(value); }
inline int __ffsll(long long value) { return __builtin_ffsll(value); }
inline unsigned __brev(unsigned value) {
    unsigned result = 0;
    for (int i = 0; i < 32; ++i) result |= (value >> i & 1u) << (31 - i);
    return result;
}
inline unsigned long long __brevll(unsigned long long value) {
    return static_cast<unsigned long long>(__brev(static_cast<unsigned>(value))) << 32 | __brev(static_cast<unsigned>(value >> 32));
}
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
    return gpubench::select_bytes(low, high, selector & 0x7777u);
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by) {
    const unsigned long long both = static_cast<unsigned long long>(high) << 32 | low;
    return static_cast<unsigned>(both << (by & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
    const unsigned long long both = static_cast<unsigned long long>(high) << 32 | low;
    return static_cast<unsigned>(both >> (by & 31));
}
inline unsigned __umulhi(unsigned a, unsigned b) { return gpubench::multiply_high(a, b); }
inline int __mulhi(int a, int b) { return static_cast<int>(static_cast<long long>(a) * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline int __mul24(int a, int b) { return a * b; }
inline unsigned __umul24(unsigned a, unsigned b) { return a * b; }

inline int __float_as_int(float value) { return __builtin_bit_cast(int, value); }
inline unsigned __float_as_uint(float value) { return __builtin_bit_cast(unsigned, value); }
inline float __int_as_float(int value) { return __builtin_bit_cast(float, value); }
inline float __uint_as_float(unsigned value) { return __builtin_bit_cast(float, value); }
inline long long __double_as_longlong(double value) { return __builtin_bit_cast(long long, value); }
inline double __longlong_as_double(long long value) { return __builtin_bit_cast(double, value); }
inline int __float2int_rn(float value) { return static_cast<int>(nearbyintf(value)); }
inline int __float2int_rz(float value) { return static_cast<int>(value); }
inline int __float2int_rd(float value) { return static_cast<int>(floorf(value)); }
inline int __float2int_ru(float value) { return static_cast<int>(ceilf(value)); }
inline unsigned __float2uint_rn(float value) { return static_cast<unsigned>(nearbyintf(value)); }
inline unsigned __float2uint_rz(float value) { return static_cast<unsigned>(value); }
inline float __int2float_rn(int value) { return static_cast<float>(value); }
inline float __uint2float_rn(unsigned value) { return static_cast<float>(value); }
inline float __ll2float_rn(long long value) { return static_cast<float>(value); }
inline float __double2float_rn(double value) { return static_cast<float>(value); }

inline float rsqrtf(float value) { return gpubench::reciprocal_sqrt(value); }
inline double rsqrt(double value) { return gpubench::reciprocal_sqrt(value); }
inline float __expf(float value) { return expf(value); }
inline float __exp10f(float value) { return powf(10.0f, value); }
inline float __logf(float value) { return logf(value); }
inline float __log2f(float value) { return log2f(value); }
inline float __log10f(float value) { return log10f(value); }
inline float __sinf(float value) { return sinf(value); }
inline float __cosf(float value) { return cosf(value); }
inline float __tanf(float value) { return tanf(value); }
inline float __powf(float base, float exponent) { return powf(base, exponent); }
inline void __sincosf(float value, float* sine, float* cosine) {
    *sine = sinf(value);
    *cosine = cosf(value);
}
inline float __saturatef(float value) { return !(value > 0.0f) ? 0.0f : value < 1.0f ? value : 1.0f; }
inline float __fdividef(float a, float b) { return a / b; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __frcp_rn(float value) { return 1.0f / value; }
inline float __fsqrt_rn(float value) { return sqrtf(value); }
inline float __frsqrt_rn(float value) { return 1.0f / sqrtf(value); }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }

#define CUDART_INF_F (__builtin_huge_valf())
#define CUDART_NAN_F (__builtin_nanf(""))
#define CUDART_INF (__builtin_huge_val())
#define CUDART_NAN (__builtin_nan(""))
#define CUDART_PI_F 3.141592654f
#define CUDART_PI 3.1415926535897931e+0
