// elementwise, variant `flat`: the output from end to end by vectors; operands as it lies, or found by their place in each dim.
//
// Data: a thread owns `K` vectors of `V` elements of the output, a block's width apart, so that a warp's accesses lie side by side.
// Operands that lie as the output does come by the same vectors, at any alignment. For the others a vector's first element is
// found by multiplications, one for each dim but the last. Where whole vectors stay inside the fastest dim (`Whole`, known on
// the host) they come by one access, too, or by one element that all share. Otherwise a vector that goes over the end of
// a row is put together element by element, the place in each dim carried on with no division.
// Where the output's rows are `K` elements long, one of each of K lines of an operand (`plaited`), a thread's vectors lie side by
// side (`Beside`): it takes a vector of each line and plaits them in registers.
// All loads of a thread are on their way before anything is worked out.
#include "elementwise/operands.cuh"

namespace gpubench::elementwise {

struct FlatShape {
    int64 elements;    // of the output
    int64 extents[3];  // of each operand, from its first element to behind its last
};
GPUBENCH_LAYOUT(FlatShape, 32, extents, 8);

// A thread's vectors.
// All: they exist from the first element to the last. Beside: they lie side by side, for operands that are plaited.
template <int Threads, int V_, int K_, int D, bool Whole_, bool Beside, bool All>
struct FlatTile {
    static constexpr int V = V_, K = K_, dims = D;
    static constexpr bool whole = Whole_;
    static constexpr int distance = Beside ? V : Threads * V;  // of a thread's vectors
    int64 first;
    int64 elements;  // of the output from the first vector on
    uint32 at[K][D];
    bool inside[K];  // the row

    GPUBENCH_DEVICE int64 index(int k) const { return first + k * distance; }
    // Elements of a vector that exist.
    GPUBENCH_DEVICE int left(int k) const {
        const int64 rest = elements - k * distance;
        return All || rest >= V ? V : rest > 0 ? static_cast<int>(rest) : 0;
    }
};

template <class G, class I, int Number>
struct FlatHeld {
    using T = typename I::Type;
    static constexpr int V = G::V;
    static constexpr bool off = I::lie == off_grid || I::lie == row_off_grid;  // the grid
    conditional_t<off, Coming<T, V>, Packed<T, V>> raw[G::K];

    GPUBENCH_DEVICE Packed<T, V> get(int k) const {
        if constexpr (I::lie == plaited) {
            Vector<T, V> items;
            GPUBENCH_UNROLL
            for (int j = 0; j < V; ++j) items[j] = bit_cast<Vector<T, V>>(raw[(k * V + j) % G::K])[(k * V + j) / G::K];
            return bit_cast<Packed<T, V>>(items);
        } else if constexpr (off) {
            return raw[k].get();
        } else {
            return raw[k];
        }
    }
    GPUBENCH_DEVICE void load(const T* data, int64 extent, const G& tile, const Axis<G::dims>& axis) {
        GPUBENCH_UNROLL
        for (int k = 0; k < G::K; ++k) {
            raw[k] = {};
            if constexpr (I::lie == off_grid) {
                if (tile.left(k) > 0) raw[k].ask(data + tile.index(k), data, data + extent);
            } else if constexpr (I::lie == on_grid) {
                if (tile.left(k) == V) raw[k] = load_on_grid<V>(data + tile.index(k));
                else if (tile.left(k) > 0) raw[k] = load_one_by_one<V>(data + tile.index(k), 1, 0, tile.left(k));
            } else if (tile.left(k) > 0) {
                load_by_place(data, extent, tile, axis, k);
            }
        }
    }
    GPUBENCH_DEVICE void load_by_place(const T* data, int64 extent, const G& tile, const Axis<G::dims>& axis, int k) {
        const T* const place = data + axis.offset(tile.at[I::lie == plaited ? 0 : k], Number + 1);
        if constexpr (I::lie == plaited) {
            raw[k] = load_on_grid<V>(place + k * axis.strides[0][Number + 1]);
        } else if (!G::whole && (!tile.inside[k] || tile.left(k) < V)) {
            const Packed<T, V> found = load_over_rows(data, tile, axis, k);
            if constexpr (off) raw[k] = {{found}, 0};
            else raw[k] = found;
        } else if constexpr (I::lie == row) {
            raw[k] = load_on_grid<V>(place);
        } else if constexpr (I::lie == row_off_grid) {
            raw[k].ask(place, data, data + extent);
        } else if constexpr (I::lie == still) {
            raw[k] = repeated<V>(*place);
        } else {
            raw[k] = load_one_by_one<V>(place, axis.strides[0][Number + 1], 0, V);
        }
    }
    GPUBENCH_DEVICE static Packed<T, V> load_over_rows(const T* data, const G& tile, const Axis<G::dims>& axis, int k) {
        Vector<T, V> items{};
        uint32 at[G::dims];
        GPUBENCH_UNROLL
        for (int dim = 0; dim < G::dims; ++dim) at[dim] = tile.at[k][dim];
        GPUBENCH_UNROLL
        for (int j = 0; j < V; ++j, axis.step(at)) {
            if (j < tile.left(k)) items[j] = data[axis.offset(at, Number + 1)];
        }
        return bit_cast<Packed<T, V>>(items);
    }
};

template <class G, int Number>
GPUBENCH_DEVICE void load_flat(Operands<FlatHeld, G, Number>&, const FlatShape&, const G&, const Axis<G::dims>&) {}
template <class G, int Number, class I, class... Rest>
GPUBENCH_DEVICE void load_flat(Operands<FlatHeld, G, Number, I, Rest...>& operands, const FlatShape& shape, const G& tile,
                               const Axis<G::dims>& axis, const typename I::Type* data, const typename Rest::Type*... others) {
    operands.first.load(data, shape.extents[Number], tile, axis);
    load_flat(operands.rest, shape, tile, axis, others...);
}

template <class F, class C, class Out, class G, class... Ins>
GPUBENCH_DEVICE void walk_flat(Out* y, const FlatShape& shape, const Axis<G::dims>& axis, int64 first, double p0, double p1,
                               const typename Ins::Type*... inputs) {
    constexpr int V = G::V;
    constexpr bool linear = ((Ins::lie == on_grid || Ins::lie == off_grid) && ...);
    G tile;
    tile.first = first;
    tile.elements = shape.elements - first;
    if constexpr (!linear) {
        GPUBENCH_UNROLL
        for (int k = 0; k < G::K; ++k) {
            axis.places(static_cast<uint32>(tile.index(k)), tile.at[k]);
            tile.inside[k] = tile.at[k][0] + V <= axis.sizes[0].divisor;
        }
    }
    Operands<FlatHeld, G, 0, Ins...> operands;
    load_flat(operands, shape, tile, axis, inputs...);
    const auto low = convert<held_t<C>>(p0), high = convert<held_t<C>>(p1);
    GPUBENCH_UNROLL
    for (int k = 0; k < G::K; ++k) {
        const Packed<Out, V> found = work<F, C, Out, V>(operands, k, low, high);
        Out* const place = y + tile.index(k);
        if (tile.left(k) == V) store_on_grid(place, found);
        else store_one_by_one(place, found, 0, tile.left(k));
    }
}

template <class F, class C, class Out, int Threads, int V, int K, int Dims, bool Whole, bool Beside, class... Ins>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(Threads)
    flat(Out* y, const FlatShape shape, const Axis<Dims> axis, double p0, double p1, const typename Ins::Type*... inputs) {
    constexpr int tile = Threads * V * K;
    const int64 start = int64{block_index_x()} * tile, first = start + thread_index_x() * V * (Beside ? K : 1);
    if (start + tile <= shape.elements) {  // no check then, and no code of ends between the loads
        walk_flat<F, C, Out, FlatTile<Threads, V, K, Dims, Whole, Beside, true>, Ins...>(y, shape, axis, first, p0, p1, inputs...);
    } else {
        walk_flat<F, C, Out, FlatTile<Threads, V, K, Dims, Whole, Beside, false>, Ins...>(y, shape, axis, first, p0, p1, inputs...);
    }
}

}  // namespace gpubench::elementwise
