// What kind of type a template was given, and which type belongs to another.
#pragma once

#include "gpubench/platform.cuh"

namespace gpubench {

struct half;
struct bfloat16;
template <class R>
struct complex;

template <class A, class B>
constexpr bool is_same = false;
template <class A>
constexpr bool is_same<A, A> = true;

namespace detail {

template <bool First, class X, class Y>
struct Conditional {
    using type = X;
};
template <class X, class Y>
struct Conditional<false, X, Y> {
    using type = Y;
};

}  // namespace detail

// X where the condition holds, else Y.
template <bool First, class X, class Y>
using conditional_t = typename detail::Conditional<First, X, Y>::type;

template <class T>
constexpr bool is_integer = false;
template <>
constexpr bool is_integer<int8> = true;
template <>
constexpr bool is_integer<uint8> = true;
template <>
constexpr bool is_integer<int16> = true;
template <>
constexpr bool is_integer<uint16> = true;
template <>
constexpr bool is_integer<int32> = true;
template <>
constexpr bool is_integer<uint32> = true;
template <>
constexpr bool is_integer<int64> = true;
template <>
constexpr bool is_integer<uint64> = true;

template <class T>
constexpr bool is_float = is_same<T, float> || is_same<T, double>;

template <class T>
constexpr bool is_half = is_same<T, half> || is_same<T, bfloat16>;

template <class T>
constexpr bool is_complex = false;
template <class R>
constexpr bool is_complex<complex<R>> = true;

template <class T>
concept Integer = is_integer<T>;
template <class T>
concept Float = is_float<T>;
template <class T>
concept Half = is_half<T>;
template <class T>
concept Complex = is_complex<T>;

namespace detail {

template <class T>
struct AccumulatorOf {
    using type = T;
};
template <Integer T>
struct AccumulatorOf<T> {
    using type = int64;
};
template <Half T>
struct AccumulatorOf<T> {
    using type = float;
};

template <class T>
struct UnsignedOf {
    using type = Word<sizeof(T)>;
};

}  // namespace detail

// The type in which sums of T are formed: float for the 16-bit floats, long long for integers, T itself otherwise.
template <class T>
using accumulator_t = typename detail::AccumulatorOf<T>::type;

// The unsigned integer as wide as T.
template <Integer T>
using unsigned_t = typename detail::UnsignedOf<T>::type;

}  // namespace gpubench
