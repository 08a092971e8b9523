// What PyTorch's two index_add kernels share: how a tensor is described, and the two ways through the source.
#pragma once

#include "gpubench/atomics.cuh"
#include "gpubench/grid.cuh"
#include "index_add/scaled.cuh"

namespace gpubench::index_add {

constexpr int max_tensor_dims = 25;

// Where a division's quotient is known, the remainder is one multiplication and one subtraction away: the text's proposal
// (Multiplied). The original asks for quotient and remainder apart, and leaves it to the compiler.
template <bool Multiplied, class Offset>
GPUBENCH_DEVICE Offset remainder(Offset number, Offset size, Offset quotient) {
    if constexpr (Multiplied) {
        return number - quotient * size;
    } else {
        return number % size;
    }
}

// A tensor without its indexed dim, whose size is set to 1 in place. Dims slowest first, strides in elements; `step` is
// the stride of the indexed dim. C layout: the host packs int dims (padded to the alignment of Offset), 25 sizes, 25
// strides, step.
template <class Offset>
struct TensorInfo {
    int dims;
    Offset sizes[max_tensor_dims];
    Offset strides[max_tensor_dims];
    Offset step;

    // Offset of an element by its row-major number: a remainder and a division for every dim but the slowest. Dims is
    // their number where the compiler may know it, 0 where it stands in `dims`.
    template <int Dims, bool Multiplied = false>
    GPUBENCH_DEVICE Offset offset(Offset number) const {
        Offset result = 0;
        if constexpr (Dims > 0) {
            GPUBENCH_UNROLL
            for (int dim = Dims - 1; dim > 0; --dim) {
                const Offset quotient = number / sizes[dim];
                result += remainder<Multiplied>(number, sizes[dim], quotient) * strides[dim];
                number = quotient;
            }
        } else {
            GPUBENCH_NO_UNROLL
            for (int dim = dims - 1; dim > 0; --dim) {
                const Offset quotient = number / sizes[dim];
                result += remainder<Multiplied>(number, sizes[dim], quotient) * strides[dim];
                number = quotient;
            }
        }
        return result + number * strides[0];
    }
};
GPUBENCH_LAYOUT(TensorInfo<unsigned int>, 208, step, 204);

// Index after index: each is read once by every thread, and the threads stride over its slice.
template <int Dims, bool Multiplied = false, class T, class Index, class Offset>
GPUBENCH_DEVICE void add_index_by_index(T* destination, const T* source, const Index* index,
                                        const TensorInfo<Offset>& to, const TensorInfo<Offset>& from, Offset indices,
                                        Offset slice, int64 size, double alpha) {
    for (Offset number = 0; number < indices; ++number) {
        const int64 row = static_cast<int64>(index[number]);
        if (row < 0 || row >= size) continue;
        T* const start = destination + static_cast<Offset>(row) * to.step;
        const T* const values = source + number * from.step;
        for (Offset i = static_cast<Offset>(grid_thread()); i < slice; i += static_cast<Offset>(grid_threads())) {
            atomic_add(start + to.template offset<Dims, Multiplied>(i),
                       scaled(values[from.template offset<Dims, Multiplied>(i)], alpha));
        }
    }
}

// The threads stride over the whole source. index_major: neighbours work on one slice; otherwise on one element of
// neighbouring slices, which is right where those lie side by side in memory.
template <int Dims, bool Multiplied = false, class T, class Index, class Offset>
GPUBENCH_DEVICE void add_all(T* destination, const T* source, const Index* index, const TensorInfo<Offset>& to,
                             const TensorInfo<Offset>& from, Offset indices, Offset slice, bool index_major, int64 size,
                             double alpha) {
    const Offset total = indices * slice;
    const Offset inner = index_major ? slice : indices;
    for (Offset i = static_cast<Offset>(grid_thread()); i < total; i += static_cast<Offset>(grid_threads())) {
        const Offset high = i / inner;
        const Offset low = remainder<Multiplied>(i, inner, high);
        const Offset number = index_major ? high : low;
        const Offset element = index_major ? low : high;
        const int64 row = static_cast<int64>(index[number]);
        if (row < 0 || row >= size) continue;
        const Offset place = to.template offset<Dims, Multiplied>(element) + static_cast<Offset>(row) * to.step;
        const T value = source[from.template offset<Dims, Multiplied>(element) + number * from.step];
        atomic_add(destination + place, scaled(value, alpha));
    }
}

}  // namespace gpubench::index_add
