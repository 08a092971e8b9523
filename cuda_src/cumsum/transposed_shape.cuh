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
GPUBENCH_LAYOUT(TransposedShape, 56, strips, 48);

}  // namespace gpubench::cumsum
