// Elements whose dtype is known only while the kernel runs.
#pragma once

#include "gpubench/types.cuh"

namespace gpubench {

// The dtypes in the order of the host's table; the host passes the number.
enum class Dtype : int {
    uint8,
    int8,
    int16,
    int32,
    int64,
    float16,
    bfloat16,
    float32,
    float64,
    complex64,
    complex128,
};

// Read an element and convert it to To.
template <class To>
GPUBENCH_DEVICE To fetch(const void* address, Dtype dtype) {
    switch (dtype) {
        case Dtype::uint8: return convert<To>(*static_cast<const gpubench::uint8*>(address));
        case Dtype::int8: return convert<To>(*static_cast<const gpubench::int8*>(address));
        case Dtype::int16: return convert<To>(*static_cast<const gpubench::int16*>(address));
        case Dtype::int32: return convert<To>(*static_cast<const gpubench::int32*>(address));
        case Dtype::int64: return convert<To>(*static_cast<const gpubench::int64*>(address));
        case Dtype::float16: return convert<To>(*static_cast<const half*>(address));
        case Dtype::bfloat16: return convert<To>(*static_cast<const gpubench::bfloat16*>(address));
        case Dtype::float32: return convert<To>(*static_cast<const float*>(address));
        case Dtype::float64: return convert<To>(*static_cast<const double*>(address));
        case Dtype::complex64: return convert<To>(*static_cast<const complex<float>*>(address));
        case Dtype::complex128: return convert<To>(*static_cast<const complex<double>*>(address));
    }
    return To{};
}

// Convert a value to the dtype and write it.
template <class From>
GPUBENCH_DEVICE void store_as(void* address, Dtype dtype, From value) {
    switch (dtype) {
        case Dtype::uint8: *static_cast<gpubench::uint8*>(address) = convert<gpubench::uint8>(value); return;
        case Dtype::int8: *static_cast<gpubench::int8*>(address) = convert<gpubench::int8>(value); return;
        case Dtype::int16: *static_cast<gpubench::int16*>(address) = convert<gpubench::int16>(value); return;
        case Dtype::int32: *static_cast<gpubench::int32*>(address) = convert<gpubench::int32>(value); return;
        case Dtype::int64: *static_cast<gpubench::int64*>(address) = convert<gpubench::int64>(value); return;
        case Dtype::float16: *static_cast<half*>(address) = convert<half>(value); return;
        case Dtype::bfloat16: *static_cast<gpubench::bfloat16*>(address) = convert<gpubench::bfloat16>(value); return;
        case Dtype::float32: *static_cast<float*>(address) = convert<float>(value); return;
        case Dtype::float64: *static_cast<double*>(address) = convert<double>(value); return;
        case Dtype::complex64: *static_cast<complex<float>*>(address) = convert<complex<float>>(value); return;
        case Dtype::complex128: *static_cast<complex<double>*>(address) = convert<complex<double>>(value); return;
    }
}

}  // namespace gpubench
