// From the number of an element to its distance from the first one, in bytes, for several operands at once.
#pragma once

#include "gpubench/integer_divider.cuh"

namespace gpubench {

constexpr int max_iterator_dims = 25;

// The first dims have code of their own; the few tensors that have more after merging walk the others in a loop. A copy of
// the division for each of 25 dims was two thirds of the machine code of the kernels that call it four times and more.
constexpr int unrolled_iterator_dims = 5;

// Dims fastest first (the other way round than in Strided); operand 0 is the output. Everything is 32 bits wide: the
// host cuts a larger tensor into several launches. 4 + 25 * (12 + 4 Operands) bytes with C layout.
template <int Operands>
struct OffsetCalculator {
    int dims;
    IntegerDivider sizes[max_iterator_dims];
    uint32 strides[max_iterator_dims][Operands];

    struct Offsets {
        uint32 bytes[Operands];
    };

    GPUBENCH_DEVICE Offsets offsets(uint32 index) const {
        Offsets result{};
        GPUBENCH_UNROLL  // every size and stride of these is a fixed place in constant memory
        for (int dim = 0; dim < unrolled_iterator_dims; ++dim) {
            if (dim == dims) return result;
            step(dim, index, result);
        }
        GPUBENCH_NO_UNROLL
        for (int dim = unrolled_iterator_dims; dim < dims; ++dim) step(dim, index, result);
        return result;
    }
    // Take the coordinate along one dim off `index`, and move all operands by it.
    GPUBENCH_DEVICE void step(int dim, uint32& index, Offsets& result) const {
        const IntegerDivider::Result place = sizes[dim].divide(index);
        index = place.quotient;
        GPUBENCH_UNROLL
        for (int operand = 0; operand < Operands; ++operand) result.bytes[operand] += place.remainder * strides[dim][operand];
    }
};
GPUBENCH_LAYOUT(OffsetCalculator<1>, 404, strides, 304);

// The element at a distance in bytes.
template <class T>
GPUBENCH_DEVICE T* at_byte(T* address, uint32 bytes) {
    return reinterpret_cast<T*>(reinterpret_cast<unsigned char*>(address) + bytes);
}
template <class T>
GPUBENCH_DEVICE const T* at_byte(const T* address, uint32 bytes) {
    return reinterpret_cast<const T*>(reinterpret_cast<const unsigned char*>(address) + bytes);
}
GPUBENCH_DEVICE void* at_byte(void* address, uint32 bytes) { return static_cast<unsigned char*>(address) + bytes; }
GPUBENCH_DEVICE const void* at_byte(const void* address, uint32 bytes) {
    return static_cast<const unsigned char*>(address) + bytes;
}

}  // namespace gpubench
