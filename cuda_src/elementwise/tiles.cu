// elementwise, variant `tiles`: the output by tiles of some rows, each operand in the way that it lies beside them.
//
// Data: a block owns a tile of the output: `Passes` times as many rows as its threads cover at once, `Lanes` vectors of each. An
// operand along the rows comes by the same vectors, at any alignment; one that all rows share stays in registers; of one that
// a row shares each thread loads an element a row. An operand whose elements lie side by side across the rows (`turned`) is
// brought along its own lines, 16 bytes a lane, and turned in shared memory (movement/transpose_units.cuh).
// All loads of a thread, of all operands, are on their way before the first is used; many blocks of an SM take turns.
// Rows that do not begin on a vector (not `Whole`): each row's part of a tile begins on the vector boundary at or before the
// tile's first element, so that all accesses of the output but those at a row's ends are whole vectors. Turned operands bring a
// vector's worth of lines more for that.
// The rows may be counted through several dims, and so may the elements of a row: a line's or row's place is found by
// multiplications once, before its loads.
#include "elementwise/operands.cuh"
#include "gpubench/movement/transpose_units.cuh"

namespace gpubench::elementwise {

constexpr int tile_threads = 256;

struct TileShape {
    IntegerDivider chunks, strips;  // tiles along the rows, and across them
    uint32 length, rows;            // elements of a row, rows of one outer block
    uint32 chunk;                   // elements of a tile's row
    uint32 unused;
    int64 extents[3];               // of each operand, from its first element to behind its last
};
GPUBENCH_LAYOUT(TileShape, 64, extents, 40);

template <int V_, int Lanes, int Passes, int Along, int Across, int Outer, bool Whole>
struct Tile {
    static constexpr int V = V_, passes = Passes;
    static constexpr int length = Lanes * V, pass_rows = tile_threads / Lanes, rows = pass_rows * Passes;
    static constexpr bool whole = Whole;

    const TileShape& shape;
    const Axis<Along>& along;
    const Axis<Across>& across;
    uint32 start, first_row;  // of the tile, in its outer block
    int own_rows;             // that exist
    int64 outer[axis_tensors];

    // The row of a pass, and the vector in it of this thread.
    static GPUBENCH_DEVICE int row(int pass) { return pass * pass_rows + thread_index_x() / Lanes; }
    static GPUBENCH_DEVICE int lane() { return thread_index_x() % Lanes; }
    // The first line of turned operands.
    GPUBENCH_DEVICE int64 first_line() const { return int64{start} - (Whole ? 0 : V); }
    GPUBENCH_DEVICE bool has_line(int64 line) const { return line >= 0 && line < shape.length; }
    GPUBENCH_DEVICE int64 row_offset(int pass, int tensor) const {
        return outer[tensor] + across.offset(first_row + row(pass), tensor);
    }
};

// A thread's vector of a row: where it begins, and which of its elements exist, from `from` to `to` - 1.
struct Share {
    int64 first;
    int from, to;

    GPUBENCH_DEVICE bool exists() const { return to > from; }
    GPUBENCH_DEVICE bool is_vector(int items) const { return from == 0 && to == items; }
};

// row: the output's first element of the row.
template <class G, class Out>
GPUBENCH_DEVICE Share share_of(const G& tile, const Out* row, bool exists) {
    constexpr int V = G::V;
    const int at = G::lane() * V;
    exists = exists && at < static_cast<int>(tile.shape.chunk);
    if constexpr (G::whole) {
        return {int64{tile.start} + at, 0, exists && tile.start + at < tile.shape.length ? V : 0};
    } else {
        const int64 first = int64{tile.start} + at - behind_grid<V>(row + tile.start), left = tile.shape.length - first;
        const int to = left < V ? static_cast<int>(left) : V;
        return {first, first < 0 ? static_cast<int>(-first) : 0, exists ? to : 0};
    }
}

GPUBENCH_DEVICE constexpr bool is_turned(Lie lie) { return lie >= turned; }

// Blocks of an SM, at least: operands off the grid come as two words a vector, which want twice the registers.
template <class... Ins>
constexpr int tile_blocks = ((Ins::lie == turned_off_grid ? 2 : Ins::lie == off_grid ? 1 : 0) + ...) > 1 ? 2 : 3;

template <class G, class I, int Number, bool Turned>
struct TileLoads;

// An operand along the rows.
template <class G, class I, int Number>
struct TileLoads<G, I, Number, false> {
    using T = typename I::Type;
    static constexpr int V = G::V, shared_bytes = 0;
    static constexpr bool off = I::lie == off_grid;
    conditional_t<off, Coming<T, V>, Packed<T, V>> raw[I::lie == row ? 1 : G::passes];

    GPUBENCH_DEVICE void load(const T* data, const G& tile, const Share (&shares)[G::passes]) {
        GPUBENCH_UNROLL
        for (int k = 0; k < (I::lie == row ? 1 : G::passes); ++k) {
            raw[k] = {};
            if (!shares[k].exists()) continue;
            const T* const row_place = data + tile.row_offset(k, Number + 1);
            if constexpr (I::lie == still) {
                raw[k] = repeated<V>(*row_place);
            } else if constexpr (I::lie == apart) {
                const int64 step = tile.along.strides[0][Number + 1];
                raw[k] = load_one_by_one<V>(row_place + shares[k].first * step, step, shares[k].from, shares[k].to);
            } else if constexpr (off) {  // what lies beside the row is brought as well, and given up
                raw[k].ask(row_place + shares[k].first, data, data + tile.shape.extents[Number]);
            } else if (G::whole || shares[k].is_vector(V)) {
                raw[k] = load_on_grid<V>(row_place + shares[k].first);
            } else {
                raw[k] = load_one_by_one<V>(row_place + shares[k].first, 1, shares[k].from, shares[k].to);
            }
        }
    }
    GPUBENCH_DEVICE void fill(char*) const {}
    GPUBENCH_DEVICE Packed<T, V> get(const char*, const G&, const Share&, int k) const {
        if constexpr (off) return raw[k].get();
        else return raw[I::lie == row ? 0 : k];
    }
};

// An operand across the rows.
template <class G, class I, int Number>
struct TileLoads<G, I, Number, true> {
    using T = typename I::Type;
    using Turned = TurnedTile<T, G::length, G::rows, tile_threads>;
    static constexpr int V = G::V, shared_bytes = Turned::bytes;
    static constexpr bool off = I::lie == turned_off_grid, singly = I::lie == turned_singly;
    using Line = conditional_t<off, Coming<T, Turned::V>, Packed<T, Turned::V>>;
    conditional_t<singly, T[Turned::singles], Line[Turned::held][Turned::pack]> lines;

    GPUBENCH_DEVICE void load(const T* data, const G& tile, const Share (&)[G::passes]) {
        if constexpr (singly) {
            GPUBENCH_UNROLL
            for (int n = 0; n < Turned::singles; ++n) {
                lines[n] = {};
                const int64 line = tile.first_line() + Turned::single_line(n);
                const int row = Turned::single_row(n);
                if (row < tile.own_rows && tile.has_line(line)) lines[n] = line_of(data, tile, line)[tile.first_row + row];
            }
        } else {
            GPUBENCH_UNROLL
            for (int n = 0; n < Turned::held; ++n) {
                GPUBENCH_UNROLL
                for (int p = 0; p < Turned::pack; ++p) {
                    lines[n][p] = {};
                    const int64 line = tile.first_line() + Turned::column(n) * Turned::pack + p;
                    if (!Turned::exists(n) || Turned::row(n) >= tile.own_rows || !tile.has_line(line)) continue;
                    load_vector_of(lines[n][p], line_of(data, tile, line), data, tile, Turned::row(n));
                }
            }
        }
    }
    GPUBENCH_DEVICE static const T* line_of(const T* data, const G& tile, int64 line) {
        return data + tile.outer[Number + 1] + tile.along.offset(static_cast<uint32>(line), Number + 1);
    }
    GPUBENCH_DEVICE static void load_vector_of(Line& vector, const T* line, const T* data, const G& tile, int row) {
        const uint32 first = tile.first_row + row;
        if constexpr (I::lie == turned) {
            vector = load_on_grid<Turned::V>(line + first);
        } else if constexpr (off) {
            vector.ask(line + first, data, data + tile.shape.extents[Number]);
        } else {
            const int64 step = tile.across.strides[0][Number + 1];
            vector = load_one_by_one<Turned::V>(line + first * step, step, 0, tile.own_rows - row);
        }
    }
    GPUBENCH_DEVICE void fill(char* stage) const {
        if constexpr (singly) {
            GPUBENCH_UNROLL
            for (int n = 0; n < Turned::singles; ++n) Turned::fill_single(stage, n, lines[n]);
        } else {
            GPUBENCH_UNROLL
            for (int n = 0; n < Turned::held; ++n) {
                if (!Turned::exists(n)) continue;
                Packed<T, Turned::V> found[Turned::pack];
                GPUBENCH_UNROLL
                for (int p = 0; p < Turned::pack; ++p) {
                    if constexpr (off) found[p] = lines[n][p].get();
                    else found[p] = lines[n][p];
                }
                Turned::fill(stage, n, found);
            }
        }
    }
    GPUBENCH_DEVICE Packed<T, V> get(const char* stage, const G& tile, const Share& share, int k) const {
        const int at = static_cast<int>(share.first - tile.first_line());
        if constexpr (G::whole) return Turned::template load_whole<V>(stage, G::row(k), at);
        else return Turned::template load<V>(stage, G::row(k), at);
    }
};

template <class G, class I, int Number>
struct TileHeld : TileLoads<G, I, Number, is_turned(I::lie)> {};

// What is done with all operands one after the other.
template <class G, int Number>
GPUBENCH_DEVICE void load_tile(Operands<TileHeld, G, Number>&, const G&, const Share (&)[G::passes]) {}
template <class G, int Number, class I, class... Rest>
GPUBENCH_DEVICE void load_tile(Operands<TileHeld, G, Number, I, Rest...>& operands, const G& tile, const Share (&shares)[G::passes],
                               const typename I::Type* data, const typename Rest::Type*... others) {
    operands.first.load(data, tile, shares);
    load_tile(operands.rest, tile, shares, others...);
}
template <class G, int Number>
GPUBENCH_DEVICE void fill_stages(const Operands<TileHeld, G, Number>&, char*) {}
template <class G, int Number, class I, class... Rest>
GPUBENCH_DEVICE void fill_stages(const Operands<TileHeld, G, Number, I, Rest...>& operands, char* stage) {
    operands.first.fill(stage);
    fill_stages(operands.rest, stage + TileHeld<G, I, Number>::shared_bytes);
}
template <class F, class C, class Out, class A, class G, int Number, class... Items>
GPUBENCH_DEVICE Packed<Out, G::V> work_tile(const Operands<TileHeld, G, Number>&, const char*, const G&, const Share&, int, A p0, A p1,
                                            const Items&... items) {
    return results<F, C, Out, G::V>(p0, p1, items...);
}
template <class F, class C, class Out, class A, class G, int Number, class I, class... Rest, class... Items>
GPUBENCH_DEVICE Packed<Out, G::V> work_tile(const Operands<TileHeld, G, Number, I, Rest...>& operands, const char* stage,
                                            const G& tile, const Share& share, int k, A p0, A p1, const Items&... items) {
    return work_tile<F, C, Out>(operands.rest, stage + TileHeld<G, I, Number>::shared_bytes, tile, share, k, p0, p1, items...,
                                unpack_items<G::V, A>(operands.first.get(stage, tile, share, k)));
}

template <class F, class C, class Out, int Lanes, int Passes, int Along, int Across, int Outer, bool Whole, class... Ins>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(tile_threads, (tile_blocks<Ins...>))
    tiles(Out* y, const TileShape shape, const Axis<Along> along, const Axis<Across> across, const Axis<Outer> outer, double p0, double p1,
          const typename Ins::Type*... inputs) {
    constexpr int V = vector_of<Out, typename Ins::Type...>();
    using G = Tile<V, Lanes, Passes, Along, Across, Outer, Whole>;
    GPUBENCH_DYNAMIC_SHARED(char, stages);
    const auto chunk = shape.chunks.divide(static_cast<uint32>(block_index_x()));
    const auto strip = shape.strips.divide(chunk.quotient);
    G tile{shape, along, across, chunk.remainder * shape.chunk, strip.remainder * G::rows, 0, {}};
    const uint32 rows = shape.rows - tile.first_row;
    tile.own_rows = rows < G::rows ? static_cast<int>(rows) : G::rows;
    uint32 at[Outer];
    outer.places(strip.quotient, at);
    GPUBENCH_UNROLL
    for (int tensor = 0; tensor <= static_cast<int>(sizeof...(Ins)); ++tensor) tile.outer[tensor] = outer.offset(at, tensor);

    Share shares[Passes];
    GPUBENCH_UNROLL
    for (int k = 0; k < Passes; ++k) {
        shares[k] = share_of(tile, y + tile.row_offset(k, 0), G::row(k) < tile.own_rows);
    }
    Operands<TileHeld, G, 0, Ins...> operands;
    load_tile(operands, tile, shares, inputs...);
    if constexpr ((is_turned(Ins::lie) || ...)) {
        fill_stages(operands, stages);
        await_turned();
    }
    const auto low = convert<held_t<C>>(p0), high = convert<held_t<C>>(p1);
    GPUBENCH_UNROLL
    for (int k = 0; k < Passes; ++k) {
        const Share& share = shares[k];
        if (!share.exists()) continue;
        const Packed<Out, V> found = work_tile<F, C, Out>(operands, stages, tile, share, k, low, high);
        Out* const place = y + tile.row_offset(k, 0) + share.first;
        if (Whole || share.is_vector(V)) store_on_grid(place, found);
        else store_one_by_one(place, found, share.from, share.to);
    }
}

}  // namespace gpubench::elementwise
