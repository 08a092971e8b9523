// The number types that the language lacks, and conversions between all dtypes.
//
// half and bfloat16 are 16 bits of storage: arithmetic goes through float, and each result is rounded to nearest even.
// None of these types has a constructor, so that they can live in shared memory and in unions: write half{bits},
// complex<float>{real, imag}, or convert<half>(x).
#pragma once

#include "gpubench/platform.cuh"
#include "gpubench/traits.cuh"

namespace gpubench {

struct half {
    uint16 bits;
};

struct bfloat16 {
    uint16 bits;
};

// The real part lies first. Aligned as a whole, so that one access moves both parts.
template <class R>
struct alignas(2 * sizeof(R)) complex {
    R real;
    R imag;
};

namespace detail {

// An integer whose rounding to double cannot spoil a second rounding to 8 bits: bits that a double would lose are
// gathered into the last one that it keeps.
GPUBENCH_DEVICE double int64_to_double_odd(int64 value) {
    const bool wide = value > (int64{1} << 53) || value < -(int64{1} << 53);
    if (!wide) return static_cast<double>(value);
    const int64 lost = value & 0x7ff;
    return static_cast<double>((value & ~int64{0x7ff}) | (lost != 0 ? 0x800 : 0));
}

// From float, double or an integer to a number of the language.
template <class To, class From>
GPUBENCH_DEVICE To convert_plain(From from) {
    if constexpr (is_float<From> && is_integer<To> && sizeof(To) < 4) {
        return static_cast<To>(static_cast<int32>(from));  // out of range wraps, as it does through int elsewhere
    } else {
        return static_cast<To>(from);
    }
}

template <class From>
GPUBENCH_DEVICE half convert_to_half(From from) {
    if constexpr (is_same<From, double>) return half{double_to_half(from)};
    else return half{float_to_half(static_cast<float>(from))};  // integers too: those that float rounds are infinite
}

template <class From>
GPUBENCH_DEVICE bfloat16 convert_to_bfloat16(From from) {
    if constexpr (is_same<From, double>) return bfloat16{double_to_bfloat16(from)};
    else if constexpr (is_same<From, int64>) return bfloat16{double_to_bfloat16(int64_to_double_odd(from))};
    else if constexpr (is_integer<From> && sizeof(From) >= 4) {
        return bfloat16{double_to_bfloat16(static_cast<double>(from))};  // int32: exact as a double
    } else return bfloat16{float_to_bfloat16(static_cast<float>(from))};
}

template <class T>
struct RealOf {
    using type = T;
};
template <class R>
struct RealOf<complex<R>> {
    using type = R;
};

}  // namespace detail

// The type of the parts of a complex type; T itself otherwise.
template <class T>
using real_t = typename detail::RealOf<T>::type;

// Convert between any two dtypes. Every conversion rounds at most once, to nearest even; float to integer truncates
// (a value that does not fit gives an unspecified number); complex to real keeps the real part.
template <class To, class From>
GPUBENCH_DEVICE To convert(From from) {
    if constexpr (is_same<To, From>) return from;
    else if constexpr (is_complex<From> && is_complex<To>) {
        return To{static_cast<real_t<To>>(from.real), static_cast<real_t<To>>(from.imag)};
    } else if constexpr (is_complex<From>) return convert<To>(from.real);
    else if constexpr (is_complex<To>) return To{convert<real_t<To>>(from), real_t<To>(0)};
    else if constexpr (is_same<From, half>) return convert<To>(half_to_float(from.bits));
    else if constexpr (is_same<From, bfloat16>) return convert<To>(bfloat16_to_float(from.bits));
    else if constexpr (is_same<To, half>) return detail::convert_to_half(from);
    else if constexpr (is_same<To, bfloat16>) return detail::convert_to_bfloat16(from);
    else return detail::convert_plain<To>(from);
}

template <Half T>
GPUBENCH_DEVICE T operator+(T a, T b) {
    return convert<T>(convert<float>(a) + convert<float>(b));
}
template <Half T>
GPUBENCH_DEVICE T operator-(T a, T b) {
    return convert<T>(convert<float>(a) - convert<float>(b));
}
template <Half T>
GPUBENCH_DEVICE T operator*(T a, T b) {
    return convert<T>(convert<float>(a) * convert<float>(b));
}
template <Half T>
GPUBENCH_DEVICE T operator/(T a, T b) {
    return convert<T>(convert<float>(a) / convert<float>(b));
}
template <Half T>
GPUBENCH_DEVICE T operator-(T a) {
    return T{static_cast<uint16>(a.bits ^ 0x8000u)};
}
template <Half T>
GPUBENCH_DEVICE bool operator<(T a, T b) {
    return convert<float>(a) < convert<float>(b);
}
template <Half T>
GPUBENCH_DEVICE bool operator==(T a, T b) {
    return convert<float>(a) == convert<float>(b);
}

template <class R>
GPUBENCH_DEVICE complex<R> operator+(complex<R> a, complex<R> b) {
    return {a.real + b.real, a.imag + b.imag};
}
template <class R>
GPUBENCH_DEVICE complex<R> operator-(complex<R> a, complex<R> b) {
    return {a.real - b.real, a.imag - b.imag};
}
template <class R>
GPUBENCH_DEVICE complex<R> operator-(complex<R> a) {
    return {-a.real, -a.imag};
}
template <class R>
GPUBENCH_DEVICE complex<R> operator*(complex<R> a, complex<R> b) {
    return {a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real};
}
template <class R>
GPUBENCH_DEVICE bool operator==(complex<R> a, complex<R> b) {
    return a.real == b.real && a.imag == b.imag;
}

// Smith's division (R. L. Smith, Algorithm 116, 1962): scaled by the larger part, so that the squares cannot overflow.
template <class R>
GPUBENCH_DEVICE complex<R> operator/(complex<R> a, complex<R> b) {
    const R real_size = b.real < R(0) ? -b.real : b.real;
    const R imag_size = b.imag < R(0) ? -b.imag : b.imag;
    if (real_size >= imag_size) {
        if (real_size == R(0)) return {a.real / real_size, a.imag / real_size};  // by zero: infinite or NaN by part
        const R ratio = b.imag / b.real;
        const R scale = R(1) / (b.real + b.imag * ratio);
        return {(a.real + a.imag * ratio) * scale, (a.imag - a.real * ratio) * scale};
    }
    const R ratio = b.real / b.imag;
    const R scale = R(1) / (b.imag + b.real * ratio);
    return {(a.real * ratio + a.imag) * scale, (a.imag * ratio - a.real) * scale};
}

}  // namespace gpubench
