// What the kernels that walk strips of transposed operands are told of a problem.
#pragma once

#include "gpubench/strided.cuh"

namespace gpubench::cumsum {

struct TransposedShape {
    long long length, across;     // elements of a line; lines side by side
    long long x_along, x_across;  // distances in x
    long long y_along, y_across;  // distances in y
    long long strips;             // of as many lines as a block walks
};
static_assert(sizeof(TransposedShape) == 56 && __builtin_offsetof(TransposedShape, strips) == 48, "the host's Struct says so");

}  // namespace gpubench::cumsum
