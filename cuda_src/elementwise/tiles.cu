// elementwise, variant `tiles`: the output by tiles of some rows, each operand in the way that it lies beside them.
//
// Data: a block owns a tile of the output: `Passes` times as many rows as its threads cover at once, `Lanes` vectors of each. An
// operand along the rows comes by the same vectors, at any alignment; one that all rows share stays in registers; of one that
// a row shares each thread loads an element a row. Where few rows lie in an operand as one run (`braided`), a thread takes as many
// vectors of the run as there are rows (movement/transpose_braids.cuh). An operand whose elements lie side by side across the rows goes through shared memory:
// lines that stand on units of 16 bytes are turned on their way there (`turned`, movement/transpose_units.cuh), others are kept as they lie
// and cut on their way out (`turned_off_grid`, movement/transpose_stages.cuh).
// All loads of a thread, of all operands, are on their way before the first is used; many blocks of an SM take turns.
// The rows may be counted through several dims, and so may the elements of a row: a line's or row's place is found by
// multiplications once, before its loads.
#include "elementwise/tile_loads.cuh"

namespace gpubench::elementwise {

// What is done with all operands one after the other.
template <class G, int Number>
GPUBENCH_DEVICE void load_tile(Operands<TileHeld, G, Number>&, const G&, const typename G::Share (&)[G::passes], char*) {}
template <class G, int Number, class I, class... Rest>
GPUBENCH_DEVICE void load_tile(Operands<TileHeld, G, Number, I, Rest...>& operands, const G& tile,
                               const typename G::Share (&shares)[G::passes], char* stage, const typename I::Type* data,
                               const typename Rest::Type*... others) {
    operands.first.load(data, tile, shares, stage);
    load_tile(operands.rest, tile, shares, stage + TileHeld<G, I, Number>::shared_bytes, others...);
}
template <class G, int Number>
GPUBENCH_DEVICE void fill_stages(const Operands<TileHeld, G, Number>&, char*) {}
template <class G, int Number, class I, class... Rest>
GPUBENCH_DEVICE void fill_stages(const Operands<TileHeld, G, Number, I, Rest...>& operands, char* stage) {
    operands.first.fill(stage);
    fill_stages(operands.rest, stage + TileHeld<G, I, Number>::shared_bytes);
}
template <class F, class C, class Out, class A, class G, int Number, class... Items>
GPUBENCH_DEVICE Packed<Out, G::V> work_tile(Operands<TileHeld, G, Number>&, const char*, const G&, const typename G::Share&, int, A p0,
                                            A p1, const Items&... items) {
    return results<F, C, Out, G::V>(p0, p1, items...);
}
template <class F, class C, class Out, class A, class G, int Number, class I, class... Rest, class... Items>
GPUBENCH_DEVICE Packed<Out, G::V> work_tile(Operands<TileHeld, G, Number, I, Rest...>& operands, const char* stage,
                                            const G& tile, const typename G::Share& share, int k, A p0, A p1, const Items&... items) {
    return work_tile<F, C, Out>(operands.rest, stage + TileHeld<G, I, Number>::shared_bytes, tile, share, k, p0, p1, items...,
                                unpack_items<G::V, A>(operands.first.get(stage, tile, share, k)));
}

// Whether all units of operands that come as they lie are inside them.
template <class G, int Number>
GPUBENCH_DEVICE bool has_units(const G&) {
    return true;
}
template <class G, int Number, class I, class... Rest>
GPUBENCH_DEVICE bool has_units(const G& tile) {
    if constexpr (I::lie == turned_off_grid) {
        if (!TileHeld<G, I, Number>::is_inside(tile)) return false;
    }
    return has_units<G, Number + 1, Rest...>(tile);
}

template <class F, class C, class Out, class G, class... Ins>
GPUBENCH_DEVICE void walk_tile(Out* y, const typename Ins::Type*... inputs, const G& tile, char* stages) {
    using Share = typename G::Share;
    Share shares[G::passes];
    if constexpr (G::steady) {
        const Share share = share_of(tile, y + tile.row_offset(0, 0), true);
        GPUBENCH_UNROLL
        for (int k = 0; k < G::passes; ++k) shares[k] = {share.first, share.from, G::all || G::row(k) < tile.own_rows ? share.to : 0};
    } else {
        GPUBENCH_UNROLL
        for (int k = 0; k < G::passes; ++k) shares[k] = share_of(tile, y + tile.row_offset(k, 0), G::row(k) < tile.own_rows);
    }
    Operands<TileHeld, G, 0, Ins...> operands;
    load_tile(operands, tile, shares, stages, inputs...);
    if constexpr (((Ins::lie >= turned || (Ins::lie == braided && !G::whole)) || ...)) {
        fill_stages(operands, stages);
        if constexpr (((Ins::lie == turned_off_grid) || ...)) await_staged();
        else await_turned();
    }
    const auto low = convert<held_t<C>>(tile.shape.p0), high = convert<held_t<C>>(tile.shape.p1);
    GPUBENCH_UNROLL
    for (int k = 0; k < G::passes; ++k) {
        const Share& share = shares[k];
        if (!share.exists()) continue;
        const Packed<Out, G::V> found = work_tile<F, C, Out>(operands, stages, tile, share, k, low, high);
        Out* const place = y + (tile.row_offset(k, 0) + share.first);
        if (G::all || G::whole || share.is_vector(G::V)) store_on_grid(place, found);
        else store_one_by_one(place, found, share.from, share.to);
    }
}

// Blocks of an SM, at least: operands off the grid come as two words a vector, which want twice the registers.
template <class... Ins>
constexpr int tile_blocks = ((Ins::lie == off_grid ? 1 : 0) + ...) > 1 ? 2 : 3;

// V: elements of a thread's vector of a row, 16 bytes of the widest dtype or fewer.
template <class F, class C, class Out, int V, int Lanes, int Passes, int Along, int Across, int Outer, int Spare, bool Near, class... Ins>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(tile_threads, (tile_blocks<Ins...>))
    tiles(Out* y, const typename Ins::Type*... inputs, const TileShape shape, const TileAxis<Along, Near> along,
          const TileAxis<Across, Near> across, const TileAxis<Outer, Near> outer) {
    constexpr int unit = vector_of<Out, typename Ins::Type...>();
    constexpr bool staged = ((Ins::lie == turned_off_grid) || ...) && ((way_of(Ins::lie) != by_squares) && ...);
    using G = Tile<V, unit, Lanes, Passes, Along, Across, Outer, Spare, Near, staged, false>;
    GPUBENCH_DYNAMIC_SHARED(char, stages);
    const auto chunk = shape.chunks.divide(static_cast<uint32>(block_index_x()));
    const auto strip = shape.strips.divide(chunk.quotient);
    G tile{shape, along, across, chunk.remainder * shape.chunk, strip.remainder * G::rows, 0, {}};
    const uint32 rows = shape.rows - tile.first_row;
    tile.own_rows = rows < G::rows ? static_cast<int>(rows) : G::rows;
    uint32 at[Outer];
    outer.places(strip.quotient, at);
    GPUBENCH_UNROLL
    for (int tensor = 0; tensor <= static_cast<int>(sizeof...(Ins)); ++tensor) {
        tile.outer[tensor] = static_cast<typename G::Offset>(outer.offset(at, tensor));
    }
    if constexpr (staged) {  // no check where all lines, rows and units exist
        const bool all = tile.own_rows == G::rows && tile.first_line() >= 0 && tile.first_line() + G::lines <= shape.length;
        if (all && has_units<G, 0, Ins...>(tile)) {
            using Inner = Tile<V, unit, Lanes, Passes, Along, Across, Outer, Spare, Near, staged, true>;
            Inner inner{shape, along, across, tile.start, tile.first_row, G::rows, {}};
            GPUBENCH_UNROLL
            for (int tensor = 0; tensor < axis_tensors; ++tensor) inner.outer[tensor] = tile.outer[tensor];
            return walk_tile<F, C, Out, Inner, Ins...>(y, inputs..., inner, stages);
        }
    }
    walk_tile<F, C, Out, G, Ins...>(y, inputs..., tile, stages);
}

}  // namespace gpubench::elementwise
