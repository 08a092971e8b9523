// The functions of the elementwise operator, one functor each; the operator's table names them.
//
// A functor takes its operands and the two scalar parameters p0 and p1, all of the type C in which the work is done, and
// returns a C. Conversion from and to the dtypes in memory is the kernel's. A functor that has no meaning for a kind of
// type (the sine of an integer, the maximum of complex numbers) does not compile for it.
#pragma once

#include "gpubench/arithmetic.cuh"
#include "gpubench/rough.cuh"
#include "gpubench/vector.cuh"

namespace gpubench::functions {

// --- one operand -----------------------------------------------------------------------------------------------------

struct copy {
    template <class C>
    GPUBENCH_DEVICE C operator()(C a, C, C) const {
        return a;
    }
};

// The negative of an integer, which wraps: of the least one it is that number. ptxas of CUDA 13.0 leaves the cut to 16 bits
// out where the result is then widened, if it sees that what is cut is a negative or an absolute value.
template <class C>
GPUBENCH_DEVICE C wrapped_negative(C a) {
    if constexpr (sizeof(C) == 2) return static_cast<C>(opaque(-static_cast<int>(a)));
    else return subtract(C(0), a);
}

struct neg {
    template <class C>
    GPUBENCH_DEVICE C operator()(C a, C, C) const {
        if constexpr (is_integer<C>) return wrapped_negative(a);
        else return -a;
    }
};

struct abs {
    template <class C>
    GPUBENCH_DEVICE C operator()(C a, C, C) const {
        if constexpr (is_complex<C>) return convert<C>(math::hypot(a.real, a.imag));
        else if constexpr (is_integer<C>) return a < C(0) ? wrapped_negative(a) : a;
        else return math::abs(a);
    }
};

struct exp {
    template <Float C>
    GPUBENCH_DEVICE C operator()(C a, C, C) const {
        return math::exp(a);
    }
};

struct log {
    template <Float C>
    GPUBENCH_DEVICE C operator()(C a, C, C) const {
        return math::log(a);
    }
};

struct sqrt {
    template <Float C>
    GPUBENCH_DEVICE C operator()(C a, C, C) const {
        return math::sqrt(a);
    }
};

struct rsqrt {
    template <Float C>
    GPUBENCH_DEVICE C operator()(C a, C, C) const {
        return math::rsqrt(a);
    }
};

struct sin {
    template <Float C>
    GPUBENCH_DEVICE C operator()(C a, C, C) const {
        return math::sin(a);
    }
};

struct tanh {
    template <Float C>
    GPUBENCH_DEVICE C operator()(C a, C, C) const {
        return math::tanh(a);
    }
};

// a / b for b of 1 and more, to within 2 units of a's last place: without the steps that make a quotient exact, and their branch.
GPUBENCH_DEVICE Rough share(Rough a, Rough b) { return Rough(a.value * approximate_reciprocal(b.value)); }
GPUBENCH_DEVICE float share(float a, float b) { return a * approximate_reciprocal(b); }
GPUBENCH_DEVICE double share(double a, double b) {
    const double divisor = b > 0x1p1000 ? 0x1p1000 : b;  // infinity times its reciprocal, 0, would be NaN
    double part = approximate_reciprocal(b);
    part = math::fma(part, math::fma(-divisor, part, 1.0), part);
    part = math::fma(part, math::fma(-divisor, part, 1.0), part);
    return a * part;
}

struct sigmoid {  // of negative numbers as exp(a) / (1 + exp(a)): exp(-a) would overflow where the result still has digits
    template <Float C>
    GPUBENCH_DEVICE C operator()(C a, C, C) const {
        const bool negative = a < C(0);
        const C power = math::exp(negative ? a : -a);
        return share(negative ? power : C(1), C(1) + power);
    }
};

struct relu {  // NaN compares false and stays
    template <class C>
    GPUBENCH_DEVICE C operator()(C a, C, C) const {
        return a < C(0) ? C(0) : a;
    }
};

// The tanh form, 0.5 a (1 + tanh(z)) with z = sqrt(2 / pi) (a + 0.044715 a^3) (Hendrycks and Gimpel 2016), written as
// a / (1 + exp(-2 z)): the same number, with nothing cancelled where tanh(z) is near -1.
struct gelu {
    template <Float C>
    GPUBENCH_DEVICE C operator()(C a, C, C) const {
        const C twice_z = C(1.5957691216057308) * (a + C(0.044715) * a * a * a);
        return share(a, C(1) + math::exp(-twice_z));
    }
};

struct silu {
    template <Float C>
    GPUBENCH_DEVICE C operator()(C a, C, C) const {
        return share(a, C(1) + math::exp(-a));
    }
};

struct clamp {  // low = p0, high = p1; NaN compares false and stays
    template <class C>
    GPUBENCH_DEVICE C operator()(C a, C p0, C p1) const {
        const C raised = a < p0 ? p0 : a;
        return p1 < raised ? p1 : raised;
    }
};

// --- two operands ----------------------------------------------------------------------------------------------------

struct add {
    template <class C>
    GPUBENCH_DEVICE C operator()(C a, C b, C, C) const {
        return gpubench::add(a, b);
    }
};

struct sub {
    template <class C>
    GPUBENCH_DEVICE C operator()(C a, C b, C, C) const {
        return subtract(a, b);
    }
};

struct mul {
    template <class C>
    GPUBENCH_DEVICE C operator()(C a, C b, C, C) const {
        return multiply(a, b);
    }
};

struct div {  // integers: toward zero, 0 for a divisor of 0; the smallest number by -1 wraps
    template <class C>
    GPUBENCH_DEVICE C operator()(C a, C b, C, C) const {
        if constexpr (is_integer<C>) {
            if (b == C(0)) return C(0);
            if (a < C(0) && b == C(-1)) return subtract(C(0), a);
            return static_cast<C>(a / b);
        } else {
            return a / b;
        }
    }
};

struct maximum {  // NaN if one of the two is
    template <class C>
    GPUBENCH_DEVICE C operator()(C a, C b, C, C) const {
        return a > b || math::is_nan(a) ? a : b;
    }
};

struct minimum {
    template <class C>
    GPUBENCH_DEVICE C operator()(C a, C b, C, C) const {
        return a < b || math::is_nan(a) ? a : b;
    }
};

struct pow {  // integers: by squaring, wrapping; a negative exponent gives the truncated quotient
    template <class C>
    GPUBENCH_DEVICE C operator()(C a, C b, C, C) const {
        if constexpr (is_integer<C>) {
            // Some bits of the exponent at a time, without a branch: each lane has its own.
            constexpr int bits = sizeof(C) == 1 ? 8 : 4;
            using W = conditional_t<sizeof(C) == 8, uint64, uint32>;
            const bool quotient = b < C(0);
            W result = 1, square = static_cast<W>(a), left = static_cast<W>(quotient ? b & 1 : b);
            do {
                GPUBENCH_UNROLL
                for (int bit = 0; bit < bits; ++bit, square *= square) result *= (left >> bit & 1) != 0 ? square : W{1};
                left >>= bits;
            } while (sizeof(C) > 1 && left != 0);
            return quotient && a != C(1) && a != C(-1) ? C(0) : static_cast<C>(result);
        } else {
            return math::pow(a, b);
        }
    }
};

struct lerp {  // weight = p0; from the nearer end, so that weight 1 gives b exactly
    template <class C>
    GPUBENCH_DEVICE C operator()(C a, C b, C p0, C) const {
        if constexpr (is_complex<C>) {
            return p0.real < real_t<C>(0.5) ? a + p0 * (b - a) : b - (b - a) * (convert<C>(real_t<C>(1)) - p0);
        } else {
            return p0 < C(0.5) ? a + p0 * (b - a) : b - (b - a) * (C(1) - p0);
        }
    }
};

// --- three operands --------------------------------------------------------------------------------------------------

struct addcmul {  // a + value b c, value = p0
    template <class C>
    GPUBENCH_DEVICE C operator()(C a, C b, C c, C p0, C) const {
        return gpubench::add(a, multiply(multiply(p0, b), c));
    }
};

struct where {  // b where a is not zero, c elsewhere
    template <class C>
    GPUBENCH_DEVICE C operator()(C a, C b, C c, C, C) const {
        return a == C{} ? c : b;
    }
};

// The same, of numbers that are wanted at once. Of a choice between two loaded ones ptxas makes a load that waits for the
// condition, which is loaded as well: of little that is a second trip to memory, of much it may bring fewer bytes.
struct where_at_once {
    template <class C>
    GPUBENCH_DEVICE C operator()(C a, C b, C c, C, C) const {
        using Part = Word<sizeof(C) < 4 ? sizeof(C) : 4>;
        constexpr int parts = sizeof(C) / sizeof(Part);
        const int mask = opaque(a == C{} ? 0 : -1);
        auto found = bit_cast<Vector<Part, parts>>(b);
        const auto others = bit_cast<Vector<Part, parts>>(c);
        GPUBENCH_UNROLL
        for (int i = 0; i < parts; ++i) found[i] = static_cast<Part>((found[i] & mask) | (others[i] & ~mask));
        return bit_cast<C>(found);
    }
};

}  // namespace gpubench::functions
