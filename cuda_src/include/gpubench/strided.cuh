// A strided tensor without its pointer, passed to kernels by value.
#pragma once

#include "gpubench/platform.cuh"

namespace gpubench {

constexpr int max_dims = 8;

// Dims slowest first, strides in elements. 136 bytes with C layout: the host packs the same. No dims: one element.
struct Strided {
    int dims;
    int padding;
    long long sizes[max_dims];
    long long strides[max_dims];

    // The distance in elements from the first element to the one with this row-major number.
    GPUBENCH_DEVICE long long offset(long long index) const {
        long long result = 0;
        GPUBENCH_NO_UNROLL  // a copy of the division for each dim would only cost instruction cache and compile time
        for (int dim = dims - 1; dim > 0; --dim) {
            const long long size = sizes[dim];
            const long long rest = index / size;
            result += (index - rest * size) * strides[dim];
            index = rest;
        }
        return dims > 0 ? result + index * strides[0] : result;  // what is left over belongs to the slowest dim
    }
};
static_assert(sizeof(Strided) == 136, "the host packs 136 bytes");

}  // namespace gpubench
