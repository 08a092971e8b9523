// sum, variant `lanes`: a few lanes, up to a warp, for each short row.
//
// Data: a row is cut into vectors where memory is, and each lane of its group takes up to `Vectors` of them; `Rows` rows of a
// group are on their way at once. Neighbouring groups take neighbouring rows, so a warp reads and writes side by side.
#include "reduce_sum/terms.cuh"

namespace gpubench::sum {

// C: Sum, or Plain for little.
template <class C>
struct LanesShape {
    uint32 rows;
    int32 items;      // of a row
    int32 width_bits; // lanes a row: a power of two
    int32 ragged;     // whether rows begin or end off the vectors' grid
    int32 slots;      // rows of a group that are used, up to Rows
    C sum;
};
GPUBENCH_LAYOUT(LanesShape<gpubench::sum::Sum>, 136, sum, 24);
GPUBENCH_LAYOUT(LanesShape<gpubench::sum::Plain>, 72, sum, 20);

// Up to K vectors of a row, as many lanes apart as a row has; what does not exist is zero, and so far what reaches beyond x.
template <int K, class T, class S, class C>
GPUBENCH_DEVICE void load_row(Packed<T, vector_terms<T>> (&raw)[K], const T* row, const S& source, const LanesShape<C>& shape,
                              bool exists) {
    constexpr int V = vector_terms<T>;
    const int width = 1 << shape.width_bits, begin = shape.ragged != 0 ? items_before<V>(row) : 0;
    const int first = (lane_index() & (width - 1)) * V - begin, apart = width * V;
    GPUBENCH_UNROLL
    for (int k = 0; k < K; ++k) {
        const int slot = first + k * apart;
        const bool here = exists && slot < shape.items;
        raw[k] = source.template load<V>(row + slot, here && !source.template beyond<V>(row + slot));
    }
}

// Then: what reaches beyond x, one vector of a row at most, and zero in place of the items of other rows.
template <int K, class T, class S, class C>
GPUBENCH_DEVICE void keep_row(Packed<T, vector_terms<T>> (&raw)[K], const T* row, const S& source, const LanesShape<C>& shape) {
    constexpr int V = vector_terms<T>;
    const int width = 1 << shape.width_bits, apart = width * V, first = (lane_index() & (width - 1)) * V - items_before<V>(row);
    if (source.template beyond<V>(row + shape.items - 1)) {
        const int last = shape.items - 1 - (shape.items - 1 - first) % V;
        const Packed<T, V> items = source.template load_last<V>(row + last);
        GPUBENCH_UNROLL
        for (int k = 0; k < K; ++k) {
            if (first + k * apart == last) raw[k] = items;
        }
    }
    GPUBENCH_UNROLL
    for (int k = 0; k < K; ++k) {
        const int slot = first + k * apart;
        if (slot < 0 || slot + V > shape.items) raw[k] = keep_items(raw[k], -slot, shape.items - slot);
    }
}

// Where a row lies: without divisions by dims that there are not, which many short rows would wait for.
GPUBENCH_DEVICE Offsets<int64> row_offsets(const Outputs<int64>& kept, uint32 rows, uint32 row) {
    if (rows <= kept.first.divisor) return {row * kept.x_steps[0], row * kept.y_steps[0]};
    if (rows > kept.first.divisor * kept.second.divisor) return offsets_of(kept, row);
    const auto a = kept.first.divide(row);
    return {a.remainder * kept.x_steps[0] + a.quotient * kept.x_steps[1], a.remainder * kept.y_steps[0] + a.quotient * kept.y_steps[1]};
}
GPUBENCH_DEVICE Offsets<uint32> row_offsets(const Outputs<uint32>& kept, uint32, uint32 row) { return offsets_of(kept, row); }

template <int Vectors, int Rows, class T, class Out, class S, class C>
GPUBENCH_DEVICE void sum_rows(const T* x, Out* y, const S& source, const LanesShape<C>& shape) {
    const int width = 1 << shape.width_bits, groups = block_size_x() >> shape.width_bits, group = thread_index_x() >> shape.width_bits;
    const int slots = Rows > 1 ? shape.slots : 1;
    const uint32 first = static_cast<uint32>(block_index_x()) * (groups * slots) + group;
    Packed<T, vector_terms<T>> raw[Rows][Vectors];
    GPUBENCH_UNROLL
    for (int r = 0; r < Rows; ++r) {
        const uint32 row = first + r * groups;
        load_row(raw[r], x + row_offsets(shape.sum.kept, shape.rows, row).x, source, shape, r < slots && row < shape.rows);
    }
    const uint32 again = Rows > 1 ? static_cast<uint32>(opaque(static_cast<int>(first))) : first;  // worked out twice takes fewer registers
    GPUBENCH_UNROLL
    for (int r = 0; r < Rows; ++r) {
        if (r >= slots) break;
        const uint32 row = again + r * groups;
        const auto offsets = row_offsets(shape.sum.kept, shape.rows, row);
        if (shape.ragged != 0 && row < shape.rows) keep_row(raw[r], x + offsets.x, source, shape);
        const part_t<T> sum = warp_reduce(sum_vectors(raw[r]), Add{}, width);
        if ((lane_index() & (width - 1)) == 0 && row < shape.rows) {
            store_sum(y + offsets.y, finish_of(shape.sum), accumulator_t<T>(sum));
        }
    }
}

// Rows 0: one, of little: the cache is not asked for anything.
template <class T, class Out, int Vectors, int Rows>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(256, 3)
    lanes(const T* x, Out* y, const LanesShape<conditional_t<Rows == 0, Plain, Sum>> shape) {
    if constexpr (Rows == 0) {
        sum_rows<Vectors, 1>(x, y, Source<T, false>{x + shape.sum.extent}, shape);
    } else {
        if (shape.sum.first_out != 0) sum_rows<Vectors, Rows>(x, y, Source<T, true>{x + shape.sum.extent}, shape);
        else sum_rows<Vectors, Rows>(x, y, Source<T, false>{x + shape.sum.extent}, shape);
    }
}

}  // namespace gpubench::sum
