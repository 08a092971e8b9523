// CUDA's vector types with their alignment and make_ functions, and dim3.
#pragma once

#define GPUBENCH_VECTORS(name, T, two, four)                                      \
    struct name##1 { T x; };                                                      \
    struct alignas(two) name##2 { T x, y; };                                      \
    struct name##3 { T x, y, z; };                                                \
    struct alignas(four) name##4 { T x, y, z, w; };                               \
    inline name##1 make_##name##1(T x) { return {x}; }                            \
    inline name##2 make_##name##2(T x, T y) { return {x, y}; }                    \
    inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }            \
    inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }

GPUBENCH_VECTORS(char, signed char, 2, 4)
GPUBENCH_VECTORS(uchar, unsigned char, 2, 4)
GPUBENCH_VECTORS(short, short, 4, 8)
GPUBENCH_VECTORS(ushort, unsigned short, 4, 8)
GPUBENCH_VECTORS(int, int, 8, 16)
GPUBENCH_VECTORS(uint, unsigned, 8, 16)
GPUBENCH_VECTORS(long, long, 16, 16)
GPUBENCH_VECTORS(ulong, unsigned long, 16, 16)
GPUBENCH_VECTORS(longlong, long long, 16, 16)
GPUBENCH_VECTORS(ulonglong, unsigned long long, 16, 16)
GPUBENCH_VECTORS(float, float, 8, 16)
GPUBENCH_VECTORS(double, double, 16, 16)
#undef GPUBENCH_VECTORS

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 index) : x(index.x), y(index.y), z(index.z) {}
    constexpr operator uint3() const { return {x, y, z}; }
};
