// Atomic sums for the dtypes that the platform does not know: beside the platform's atomic_add for integers, float and
// double. Each addition into a 16-bit float rounds to it. The two parts of a complex number are added one after the
// other: the sum is right, but a reader in between can see one part without the other.
#pragma once

#include "gpubench/types.cuh"

namespace gpubench {

GPUBENCH_DEVICE void atomic_add(half* address, half value) {
    atomic_add_half(reinterpret_cast<uint16*>(address), value.bits);
}

GPUBENCH_DEVICE void atomic_add(bfloat16* address, bfloat16 value) {
    atomic_add_bfloat16(reinterpret_cast<uint16*>(address), value.bits);
}

template <class R>
GPUBENCH_DEVICE void atomic_add(complex<R>* address, complex<R> value) {
    atomic_add(&address->real, value.real);
    atomic_add(&address->imag, value.imag);
}

}  // namespace gpubench
