// A strided tensor without its pointer, passed to kernels by value.
#pragma once

#include "gpubench/integer_divider.cuh"

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
GPUBENCH_LAYOUT(Strided, 136, strides, 72);

// The same for fewer than 2^31 elements, dims fastest first: multiplications in place of divisions, and no loop, where a
// thread has little else to do. 168 bytes with C layout. No dims: one element.
struct DividedStrided {
    int dims;
    IntegerDivider sizes[max_dims];
    long long strides[max_dims];

    GPUBENCH_DEVICE long long offset(uint32 index) const {
        long long result = 0;
        for_places(index, [&](int dim, uint32 place) { result += static_cast<long long>(place) * strides[dim]; });
        return result;
    }
    // The same of this tensor and another one of the same sizes, which are divided by once.
    GPUBENCH_DEVICE void offsets(const DividedStrided& other, uint32 index, long long& own, long long& others) const {
        own = others = 0;
        for_places(index, [&](int dim, uint32 place) {
            own += static_cast<long long>(place) * strides[dim];
            others += static_cast<long long>(place) * other.strides[dim];
        });
    }

private:
    // use(dim, place) for the place of an element in each dim.
    template <class Use>
    GPUBENCH_DEVICE void for_places(uint32 index, const Use& use) const {
        GPUBENCH_UNROLL  // every size and stride is a fixed place in constant memory
        for (int dim = 0; dim < max_dims; ++dim) {
            if (dim == dims) break;
            const IntegerDivider::Result place = sizes[dim].divide(index);
            index = place.quotient;
            use(dim, place.remainder);
        }
    }
};
GPUBENCH_LAYOUT(DividedStrided, 168, strides, 104);

// Where rows begin: a pitch apart, from each group of them to the next by `further` more, 0 without groups, and from each outer
// group of so many of these by `beyond` more, 0 without. Grouped rows are fewer than 2^31. 48 bytes with C layout.
struct RowPlaces {
    long long pitch, further, beyond;
    IntegerDivider group, groups;

    // Asked: without groups nothing else is read, 0.1 us sooner where it is the first of a launch to be read. Not asked: fewer
    // registers.
    template <bool Asked = true>
    GPUBENCH_DEVICE long long offset(long long row) const {
        const long long place = row * pitch;
        if (Asked && further == 0) return place;
        const uint32 number = group.divide(static_cast<uint32>(row)).quotient;
        return place + number * further + groups.divide(number).quotient * beyond;
    }
};
GPUBENCH_LAYOUT(RowPlaces, 48, groups, 36);

}  // namespace gpubench
