// Division by a number that the host knows and the compiler does not, as a multiplication and a shift.
#pragma once

#include "gpubench/platform.cuh"

namespace gpubench {

// With shift = ceil(log2 divisor) and magic = floor(2^32 (2^shift - divisor) / divisor) + 1, the quotient of n is
// (n + floor(n magic / 2^32)) >> shift (Granlund and Montgomery, "Division by Invariant Integers using
// Multiplication", 1994, figure 4.1 without its guard against overflow). Right for 1 <= divisor < 2^31 and
// n < 2^31: then the sum does not overflow. 12 bytes with C layout: the host works the numbers out and packs them.
struct IntegerDivider {
    uint32 divisor;
    uint32 magic;
    uint32 shift;

    struct Result {
        uint32 quotient;
        uint32 remainder;
    };

    GPUBENCH_DEVICE Result divide(uint32 n) const {
        const uint32 quotient = (multiply_high(n, magic) + n) >> shift;
        return {quotient, n - quotient * divisor};
    }
};
GPUBENCH_LAYOUT(IntegerDivider, 12, shift, 8);

}  // namespace gpubench
