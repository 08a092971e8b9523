// elementwise, variant `flat`: the output from end to end by vectors; operands as it lies, or found by their place in each dim.
//
// Data: a thread owns `K` vectors of `V` elements of the output, a block's width apart, so that a warp's accesses lie side by side.
// Operands that lie as the output does come by the same vectors, at any alignment. For the others a vector's first element is
// found by multiplications, one for each dim but the last. Where whole vectors stay inside the fastest dim (`whole_rows`)
// they come by one access, too, or by one element that all share. Otherwise a vector that goes over the end of
// a row is put together element by element of one row or the next; so is every vector where rows are short, for most warps have one
// that is. Which of these a launch needs is known on the host (`Rows`), and only that is in its code.
// Where the output's rows are `K` elements long, one of each of K lines of an operand (`plaited`), a thread's vectors lie side by
// side (`Beside`): it takes a vector of each line and plaits them in registers.
// A short row of all rows (`repeating`) is laid into shared memory once a block, with a bit of it again behind, so that any vector of
// it is cut out of two words there.
// All loads of a thread are on their way before anything is worked out: a branch between them would let each wait for the one before.
#include "elementwise/operands.cuh"
#include "gpubench/block/together.cuh"
#include "gpubench/movement/repeated_rows.cuh"

namespace gpubench::elementwise {

struct FlatRest {
    double p0, p1;     // the function's scalars
    int64 extents[3];  // of each operand, from its first element to behind its last
};
GPUBENCH_LAYOUT(FlatRest, 40, extents, 16);

// Where vectors end in the output's rows.
enum Rows {
    whole_rows,  // at their ends
    long_rows,   // beyond the ends of some: these are put together of two rows
    short_rows,  // ... of so many that every vector is put together, for then a warp stays together
    least_rows,  // ... of several rows
};

// A thread's vectors. Beside: they lie side by side, for operands that are plaited.
template <int Threads, int V_, int K_, class Axis_, Rows Rows_, bool Beside>
struct FlatTile {
    using Places = Axis_;
    static constexpr int V = V_, K = K_, dims = Places::dims;
    static constexpr Rows rows = Rows_;
    static constexpr int distance = Beside ? V : Threads * V;  // of a thread's vectors
    int64 first;
    int64 left;  // elements of the output from the first vector on
    uint32 at[K][dims];
    bool inside[K];  // the row

    GPUBENCH_DEVICE int64 index(int k) const { return first + k * distance; }
    GPUBENCH_DEVICE bool exists(int k) const { return k * distance < left; }
    // A vector that does not exist is found where the first one of all is: no branch comes between the loads of a thread.
    GPUBENCH_DEVICE void find_places(const Places& axis) {
        GPUBENCH_UNROLL
        for (int k = 0; k < K; ++k) {
            axis.places(exists(k) ? static_cast<uint32>(index(k)) : 0, at[k]);
            inside[k] = at[k][0] + V <= axis.sizes[0].divisor;
        }
    }
};

template <class G, class I, int Number>
struct FlatHeld {
    using T = typename I::Type;
    using Places = typename G::Places;
    static constexpr int V = G::V;
    static constexpr bool off = I::lie == off_grid || I::lie == row_off_grid || I::lie == repeating;  // the grid
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
    GPUBENCH_DEVICE void load(const T* data, int64 extent, const G& tile, const Places& axis) {
        GPUBENCH_UNROLL
        for (int k = 0; k < G::K; ++k) {
            if constexpr (I::lie == same) {
                raw[k] = repeated<V>(*data);
            } else if constexpr (I::lie == on_grid || I::lie == off_grid) {
                raw[k] = {};
                if (!tile.exists(k)) continue;
                if constexpr (off) raw[k].ask(data + tile.index(k), data, data + extent);
                else raw[k] = load_on_grid<V>(data + tile.index(k));
            } else if constexpr (I::lie != repeating) {  // `move_rows`
                load_by_place(data, extent, tile, axis, k);
            }
        }
    }
    GPUBENCH_DEVICE void load_by_place(const T* data, int64 extent, const G& tile, const Places& axis, int k) {
        const T* const place = data + axis.offset(tile.at[I::lie == plaited ? 0 : k], Number + 1);
        if constexpr (I::lie == plaited) {
            raw[k] = load_on_grid<V>(place + k * axis.strides[0][Number + 1]);
        } else if constexpr (G::rows > long_rows || (G::rows == long_rows && I::lie == apart)) {
            put(k, load_over_rows(data, tile, axis, k));
        } else if (G::rows == long_rows && !tile.inside[k]) {
            put(k, load_over_rows(data, tile, axis, k));
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
    GPUBENCH_DEVICE void put(int k, const Packed<T, V>& found) {
        if constexpr (off) raw[k] = {{found}, 0};
        else raw[k] = found;
    }
    // Elements of one row or two, without a branch between them; of more where rows are shorter than a vector.
    GPUBENCH_DEVICE static Packed<T, V> load_over_rows(const T* data, const G& tile, const Places& axis, int k) {
        using Offset = decltype(axis.offset(0, 0));
        Vector<T, V> items{};
        uint32 at[G::dims];
        GPUBENCH_UNROLL
        for (int dim = 0; dim < G::dims; ++dim) at[dim] = tile.at[k][dim];
        if constexpr (G::rows == least_rows) {
            GPUBENCH_UNROLL
            for (int j = 0; j < V; ++j, axis.step(at)) items[j] = data[axis.offset(at, Number + 1)];
            return bit_cast<Packed<T, V>>(items);
        }
        const Offset here = axis.offset(at, Number + 1);
        const int left = static_cast<int>(axis.sizes[0].divisor - at[0]);
        at[0] = axis.sizes[0].divisor - 1;
        axis.step(at);
        const Offset next = axis.offset(at, Number + 1);
        if constexpr (I::lie == still) {
            const T first = data[here], second = left < V ? data[next] : first;
            GPUBENCH_UNROLL
            for (int j = 0; j < V; ++j) items[j] = j < left ? first : second;
        } else {
            const Offset step = I::lie == apart ? axis.strides[0][Number + 1] : 1;
            const Offset behind = next - left * step;
            GPUBENCH_UNROLL
            for (int j = 0; j < V; ++j) items[j] = data[(j < left ? here : behind) + j * step];
        }
        return bit_cast<Packed<T, V>>(items);
    }
};

// Rows that repeat: put into shared memory, one behind the other, or taken out of it.
template <bool Take, class G, int Number>
GPUBENCH_DEVICE void move_rows(Operands<FlatHeld, G, Number>&, char*, const G&, const typename G::Places&) {}
template <bool Take, class G, int Number, class I, class... Rest>
GPUBENCH_DEVICE void move_rows(Operands<FlatHeld, G, Number, I, Rest...>& operands, char* stage, const G& tile,
                               const typename G::Places& axis, const typename I::Type* data, const typename Rest::Type*... others) {
    if constexpr (I::lie == repeating) {
        using Row = RepeatedRow<typename I::Type, G::V>;
        if constexpr (!Take) Row::put(stage, data, axis.sizes[0]);
        GPUBENCH_UNROLL
        for (int k = 0; Take && k < G::K; ++k) operands.first.raw[k] = Row::take(stage, tile.at[k][0]);
        stage += Row::bytes(axis.sizes[0].divisor);
    }
    move_rows<Take>(operands.rest, stage, tile, axis, others...);
}

template <class G, int Number>
GPUBENCH_DEVICE void load_flat(Operands<FlatHeld, G, Number>&, const FlatRest&, const G&, const typename G::Places&) {}
template <class G, int Number, class I, class... Rest>
GPUBENCH_DEVICE void load_flat(Operands<FlatHeld, G, Number, I, Rest...>& operands, const FlatRest& rest, const G& tile,
                               const typename G::Places& axis, const typename I::Type* data, const typename Rest::Type*... others) {
    operands.first.load(data, rest.extents[Number], tile, axis);
    load_flat(operands.rest, rest, tile, axis, others...);
}

// first, end: of the output's elements that this thread and those behind it have.
template <class F, class C, class Out, class G, class... Ins>
GPUBENCH_DEVICE void walk_flat(Out* y, const typename Ins::Type*... inputs, int64 first, int64 end, const typename G::Places& axis,
                               const FlatRest& rest) {
    constexpr int V = G::V;
    constexpr bool linear = ((Ins::lie == on_grid || Ins::lie == off_grid || Ins::lie == same) && ...);
    constexpr bool repeats = ((Ins::lie == repeating) || ...);
    G tile;
    tile.first = first;
    tile.left = end - first;
    if (!repeats && tile.left <= 0) return;
    if constexpr (!linear) tile.find_places(axis);
    Operands<FlatHeld, G, 0, Ins...> operands;
    load_flat(operands, rest, tile, axis, inputs...);
    if constexpr (repeats) {
        GPUBENCH_DYNAMIC_SHARED(char, stage);
        exchange([&] { move_rows<false>(operands, stage, tile, axis, inputs...); },
                 [&] { move_rows<true>(operands, stage, tile, axis, inputs...); });
    }
    const auto low = convert<held_t<C>>(rest.p0), high = convert<held_t<C>>(rest.p1);
    GPUBENCH_UNROLL
    for (int k = 0; k < G::K; ++k) {
        if (tile.exists(k)) store_on_grid(y + tile.index(k), work<F, C, Out, V>(operands, k, low, high));
    }
}

// Left: a block before those of whole vectors has the elements that are left, one a thread: the last block to begin is the last to end.
// Where none are left, a small launch has less code to wait for. What every thread wants comes first: pointers
// and number of elements are one line of constant memory, and a small launch waits for each line.
template <class F, class C, class Out, int Threads, int V, int K, class Places, Rows R, bool Beside, bool Left, class... Ins>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(Threads)
    flat(Out* y, const typename Ins::Type*... inputs, int64 elements, const Places axis, const FlatRest rest) {
    const int64 whole = Left ? elements & ~int64{V - 1} : elements, block = int64{block_index_x()} - (Left ? 1 : 0);
    if (Left && block < 0) {
        using G = FlatTile<Threads, 1, 1, Places, whole_rows, false>;
        return walk_flat<F, C, Out, G, Ins...>(y, inputs..., whole + thread_index_x(), elements, axis, rest);
    }
    using G = FlatTile<Threads, V, K, Places, R, Beside>;
    const int64 start = block * (Threads * V * K) + thread_index_x() * V * (Beside ? K : 1);
    walk_flat<F, C, Out, G, Ins...>(y, inputs..., start, whole, axis, rest);
}

}  // namespace gpubench::elementwise
