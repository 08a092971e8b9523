// __half and __nv_bfloat16 with their pairs, arithmetic and the usual functions, as cuda_fp16.h and cuda_bf16.h have
// them: each operation rounds once from float. What stands here is what kernels commonly use, not all of those headers.
#pragma once

#define GPUBENCH_HALF(Name, to_float, from_float, from_double)                                    \
    struct Name {                                                                                 \
        unsigned short gpubench_bits;                                                             \
        Name() = default;                                                                         \
        Name(float value) : gpubench_bits(gpubench::from_float(value)) {}                         \
        Name(double value) : gpubench_bits(gpubench::from_double(value)) {}                       \
        Name(int value) : Name(static_cast<double>(value)) {}                                     \
        Name(unsigned value) : Name(static_cast<double>(value)) {}                                \
        Name(long long value) : Name(static_cast<double>(value)) {}                               \
        operator float() const { return gpubench::to_float(gpubench_bits); }                      \
        Name& operator=(float value) { return *this = Name(value); }                              \
        Name& operator+=(Name other) { return *this = Name(float(*this) + float(other)); }        \
        Name& operator-=(Name other) { return *this = Name(float(*this) - float(other)); }        \
        Name& operator*=(Name other) { return *this = Name(float(*this) * float(other)); }        \
        Name& operator/=(Name other) { return *this = Name(float(*this) / float(other)); }        \
    };                                                                                            \
    inline Name operator+(Name a, Name b) { return Name(float(a) + float(b)); }                   \
    inline Name operator-(Name a, Name b) { return Name(float(a) - float(b)); }                   \
    inline Name operator*(Name a, Name b) { return Name(float(a) * float(b)); }                   \
    inline Name operator/(Name a, Name b) { return Name(float(a) / float(b)); }                   \
    inline Name operator-(Name a) { return Name(-float(a)); }                                     \
    inline bool operator<(Name a, Name b) { return float(a) < float(b); }                         \
    inline bool operator>(Name a, Name b) { return float(a) > float(b); }                         \
    inline bool operator<=(Name a, Name b) { return float(a) <= float(b); }                       \
    inline bool operator>=(Name a, Name b) { return float(a) >= float(b); }                       \
    inline bool operator==(Name a, Name b) { return float(a) == float(b); }                       \
    inline bool operator!=(Name a, Name b) { return float(a) != float(b); }                       \
    inline Name __hadd(Name a, Name b) { return a + b; }                                          \
    inline Name __hsub(Name a, Name b) { return a - b; }                                          \
    inline Name __hmul(Name a, Name b) { return a * b; }                                          \
    inline Name __hdiv(Name a, Name b) { return a / b; }                                          \
    inline Name __hneg(Name a) { return -a; }                                                     \
    inline Name __habs(Name a) { return Name(fabsf(float(a))); }                                  \
    inline Name __hmax(Name a, Name b) { return Name(fmaxf(float(a), float(b))); }                \
    inline Name __hmin(Name a, Name b) { return Name(fminf(float(a), float(b))); }                \
    inline Name __hfma(Name a, Name b, Name c) { return Name(fmaf(float(a), float(b), float(c))); } \
    inline bool __hlt(Name a, Name b) { return a < b; }                                           \
    inline bool __hgt(Name a, Name b) { return a > b; }                                           \
    inline bool __hle(Name a, Name b) { return a <= b; }                                          \
    inline bool __hge(Name a, Name b) { return a >= b; }                                          \
    inline bool __heq(Name a, Name b) { return a == b; }                                          \
    inline bool __hisnan(Name a) { return float(a) != float(a); }                                 \
    inline Name hexp(Name a) { return Name(expf(float(a))); }                                     \
    inline Name hlog(Name a) { return Name(logf(float(a))); }                                     \
    inline Name hsqrt(Name a) { return Name(sqrtf(float(a))); }                                   \
    inline Name hrsqrt(Name a) { return Name(1.0f / sqrtf(float(a))); }                           \
    inline Name hrcp(Name a) { return Name(1.0f / float(a)); }                                    \
    struct alignas(4) Name##2 {                                                                   \
        Name x, y;                                                                                \
        Name##2() = default;                                                                      \
        Name##2(Name x, Name y) : x(x), y(y) {}                                                   \
    };                                                                                            \
    inline Name##2 operator+(Name##2 a, Name##2 b) { return {a.x + b.x, a.y + b.y}; }             \
    inline Name##2 operator-(Name##2 a, Name##2 b) { return {a.x - b.x, a.y - b.y}; }             \
    inline Name##2 operator*(Name##2 a, Name##2 b) { return {a.x * b.x, a.y * b.y}; }             \
    inline Name##2 __hadd2(Name##2 a, Name##2 b) { return a + b; }                                \
    inline Name##2 __hsub2(Name##2 a, Name##2 b) { return a - b; }                                \
    inline Name##2 __hmul2(Name##2 a, Name##2 b) { return a * b; }                                \
    inline Name##2 __hmax2(Name##2 a, Name##2 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; } \
    inline Name##2 __hmin2(Name##2 a, Name##2 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; } \
    inline Name##2 __hfma2(Name##2 a, Name##2 b, Name##2 c) {                                     \
        return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};                                    \
    }

GPUBENCH_HALF(__half, half_to_float, float_to_half, double_to_half)
GPUBENCH_HALF(__nv_bfloat16, bfloat16_to_float, float_to_bfloat16, double_to_bfloat16)
#undef GPUBENCH_HALF

using half = __half;
using half2 = __half2;
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

inline __half __float2half(float value) { return __half(value); }
inline __half __float2half_rn(float value) { return __half(value); }
inline __half __double2half(double value) { return __half(value); }
inline __half __int2half_rn(int value) { return __half(value); }
inline float __half2float(__half value) { return float(value); }
inline __half2 __halves2half2(__half x, __half y) { return {x, y}; }
inline __half2 __half2half2(__half x) { return {x, x}; }
inline __half2 make_half2(__half x, __half y) { return {x, y}; }
inline __half2 __floats2half2_rn(float x, float y) { return {__half(x), __half(y)}; }
inline __half2 __float2half2_rn(float x) { return {__half(x), __half(x)}; }
inline __half2 __float22half2_rn(float2 value) { return {__half(value.x), __half(value.y)}; }
inline float2 __half22float2(__half2 value) { return {float(value.x), float(value.y)}; }
inline __half __low2half(__half2 value) { return value.x; }
inline __half __high2half(__half2 value) { return value.y; }
inline float __low2float(__half2 value) { return float(value.x); }
inline float __high2float(__half2 value) { return float(value.y); }
inline unsigned short __half_as_ushort(__half value) { return value.gpubench_bits; }
inline __half __ushort_as_half(unsigned short bits) {
    __half value;
    value.gpubench_bits = bits;
    return value;
}

inline __nv_bfloat16 __float2bfloat16(float value) { return __nv_bfloat16(value); }
inline __nv_bfloat16 __float2bfloat16_rn(float value) { return __nv_bfloat16(value); }
inline __nv_bfloat16 __double2bfloat16(double value) { return __nv_bfloat16(value); }
inline float __bfloat162float(__nv_bfloat16 value) { return float(value); }
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {__nv_bfloat16(x), __nv_bfloat16(y)}; }
inline __nv_bfloat162 __float22bfloat162_rn(float2 value) { return {__nv_bfloat16(value.x), __nv_bfloat16(value.y)}; }
inline float2 __bfloat1622float2(__nv_bfloat162 value) { return {float(value.x), float(value.y)}; }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 value) { return value.gpubench_bits; }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
    __nv_bfloat16 value;
    value.gpubench_bits = bits;
    return value;
}
