// The product of a source element and alpha.
#pragma once

#include "gpubench/arithmetic.cuh"
#include "gpubench/types.cuh"

namespace gpubench::index_add {

// alpha times a value: in the accumulator, rounded to T; both parts of a complex number are scaled.
template <class T>
GPUBENCH_DEVICE T scaled(T value, double alpha) {
    if constexpr (is_complex<T>) {
        const real_t<T> scale = static_cast<real_t<T>>(alpha);
        return T{value.real * scale, value.imag * scale};
    } else {
        using Accumulator = accumulator_t<T>;
        return convert<T>(multiply(convert<Accumulator>(value), convert<Accumulator>(alpha)));
    }
}

}  // namespace gpubench::index_add
