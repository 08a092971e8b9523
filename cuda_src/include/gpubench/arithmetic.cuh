// Sums, differences and products that mean the same on every target: integers wrap (a plain signed sum that overflows
// has no meaning in C++), everything else rounds as its type does.
#pragma once

#include "gpubench/types.cuh"

namespace gpubench {

template <class T>
GPUBENCH_DEVICE T add(T a, T b) {
    if constexpr (is_integer<T>) {
        return static_cast<T>(static_cast<unsigned_t<T>>(a) + static_cast<unsigned_t<T>>(b));
    } else {
        return a + b;
    }
}

template <class T>
GPUBENCH_DEVICE T subtract(T a, T b) {
    if constexpr (is_integer<T>) {
        return static_cast<T>(static_cast<unsigned_t<T>>(a) - static_cast<unsigned_t<T>>(b));
    } else {
        return a - b;
    }
}

template <class T>
GPUBENCH_DEVICE T multiply(T a, T b) {
    if constexpr (is_integer<T>) {  // through 64 bits: two uint16 would be multiplied as int, and could overflow it
        return static_cast<T>(static_cast<uint64>(a) * static_cast<uint64>(b));
    } else {
        return a * b;
    }
}

// The sum as a function object, for reductions and scans.
struct Add {
    template <class T>
    GPUBENCH_DEVICE T operator()(T a, T b) const {
        return add(a, b);
    }
};

}  // namespace gpubench
