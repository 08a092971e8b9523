// Where elements along an axis lie in several tensors at once: an axis is one dim, or a few that are counted through as one.
#pragma once

#include "gpubench/integer_divider.cuh"

namespace gpubench {

constexpr int axis_tensors = 4;

// Dims fastest first, strides in elements, with C layout: the host packs the same. Tensor 0 is the output; what is not there has
// strides of 0. Numbers along the axis are below 2^31. How many dims there are the compiler knows: no loop and, for a
// single dim, no division. Offset: uint32 where no tensor reaches further, whose products are one instruction, not three.
template <int Dims, class Offset = int64>
struct Axis {
    static constexpr int dims = Dims;
    IntegerDivider sizes[Dims];
    Offset strides[Dims][axis_tensors];

    // The place of an element in each dim.
    GPUBENCH_DEVICE void places(uint32 number, uint32 (&at)[Dims]) const {
        GPUBENCH_UNROLL
        for (int dim = 0; dim + 1 < Dims; ++dim) {
            const IntegerDivider::Result place = sizes[dim].divide(number);
            at[dim] = place.remainder;
            number = place.quotient;
        }
        at[Dims - 1] = number;
    }
    // Go on to the next element.
    GPUBENCH_DEVICE void step(uint32 (&at)[Dims]) const {
        ++at[0];
        GPUBENCH_UNROLL
        for (int dim = 0; dim + 1 < Dims; ++dim) {
            const bool over = at[dim] >= sizes[dim].divisor;
            at[dim] = over ? 0 : at[dim];
            at[dim + 1] += over ? 1 : 0;
        }
    }
    // The distance from a tensor's first element.
    GPUBENCH_DEVICE Offset offset(const uint32 (&at)[Dims], int tensor) const {
        Offset distance = at[0] * strides[0][tensor];
        GPUBENCH_UNROLL
        for (int dim = 1; dim < Dims; ++dim) distance += at[dim] * strides[dim][tensor];
        return distance;
    }
    GPUBENCH_DEVICE Offset offset(uint32 number, int tensor) const {
        uint32 at[Dims];
        places(number, at);
        return offset(at, tensor);
    }
};
GPUBENCH_LAYOUT(Axis<1>, 48, strides, 16);

}  // namespace gpubench
