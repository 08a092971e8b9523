// A tile of the output: some vectors of each of some rows, and which thread has which.
//
// Rows that do not begin on a vector (`Spare` is not 0, but a vector): each row's part of a tile begins on the vector boundary at or
// before the tile's first element, so that all accesses of the output but those at a row's ends are whole vectors. Operands
// that lie across the rows bring a vector's worth of lines more for that.
#pragma once

#include "elementwise/operands.cuh"

namespace gpubench::elementwise {

constexpr int tile_threads = 256;

struct TileShape {
    IntegerDivider chunks, strips;  // tiles along the rows, and across them
    uint32 length, rows;            // elements of a row, rows of one outer block
    uint32 chunk;                   // elements of a tile's row
    uint32 unused;
    double p0, p1;                  // the function's scalars
    int64 extents[3];               // of each operand, from its first element to behind its last
};
GPUBENCH_LAYOUT(TileShape, 80, extents, 56);

template <int Dims, bool Near>
using TileAxis = Axis<Dims, conditional_t<Near, uint32, int64>>;

// A thread's vector of a row: where it begins, and which of its elements exist, from `from` to `to` - 1.
template <class Offset>
struct Share {
    Offset first;
    int from, to;

    GPUBENCH_DEVICE bool exists() const { return to > from; }
    GPUBENCH_DEVICE bool is_vector(int items) const { return from == 0 && to == items; }
};

// Unit: elements of 16 bytes of the widest dtype, on which operands that are braided begin, whatever a vector has.
// Staged: operands across the rows are cut on their way out of shared memory, where a warp does best with eight vectors of four rows.
// All: every line and row exists.
// Near: no operand reaches further than 32 bits count, so that places take one multiplication, not three.
template <int V_, int Unit, int Lanes, int Passes, int Along, int Across, int Outer, int Spare, bool Near, bool Staged, bool All>
struct Tile {
    using Offset = conditional_t<Near, int32, int64>;  // of elements, from an operand's first or a row's
    using Share = elementwise::Share<Offset>;
    static constexpr int V = V_, unit = Unit, passes = Passes, along_dims = Along;
    static constexpr int length = Lanes * V, pass_rows = tile_threads / Lanes, rows = pass_rows * Passes;
    static constexpr bool all = All, whole = Spare == 0;
    static constexpr int spare = Spare, lines = length + (Staged ? Spare : 0);

    static constexpr int most_lanes = Staged ? warp_size / (pass_rows < 4 ? pass_rows : 4) : warp_size;  // of a row, in a warp
    static constexpr int warp_lanes = Lanes < most_lanes ? Lanes : most_lanes, warp_rows = warp_size / warp_lanes;
    static constexpr bool steady = Spare == 0 || (Across == 1 && pass_rows % Spare == 0);

    const TileShape& shape;
    const TileAxis<Along, Near>& along;
    const TileAxis<Across, Near>& across;
    uint32 start, first_row;  // of the tile, in its outer block
    int own_rows;             // that exist
    Offset outer[axis_tensors];

    // The row of a pass, and the vector in it of this thread.
    static GPUBENCH_DEVICE int row(int pass) {
        const uint32 tid = static_cast<uint32>(thread_index_x()) % tile_threads;
        return pass * pass_rows + tid / warp_lanes % warp_rows + tid / (warp_rows * Lanes) * warp_rows;
    }
    static GPUBENCH_DEVICE int lane() {
        const uint32 tid = static_cast<uint32>(thread_index_x()) % tile_threads;
        return tid % warp_lanes + tid / warp_size % (Lanes / warp_lanes) * warp_lanes;
    }
    // The first line of turned operands.
    GPUBENCH_DEVICE Offset first_line() const { return static_cast<Offset>(start) - Spare; }
    GPUBENCH_DEVICE bool has_line(Offset line) const { return (whole || line >= 0) && line < static_cast<Offset>(shape.length); }
    GPUBENCH_DEVICE Offset line_offset(Offset line, int tensor) const {
        if constexpr (Along == 1) return static_cast<Offset>(line * along.strides[0][tensor]);
        else return static_cast<Offset>(along.offset(static_cast<uint32>(line), tensor));
    }
    // No line before this one, or behind it, lies before it, or behind it. Lines counted through several dims: of all lines.
    GPUBENCH_DEVICE Offset least_offset(Offset line, int tensor) const { return Along == 1 ? line_offset(line, tensor) : 0; }
    GPUBENCH_DEVICE Offset most_offset(Offset line, int tensor) const {
        if constexpr (Along == 1) return line_offset(line, tensor);
        Offset offset = 0;
        GPUBENCH_UNROLL
        for (int dim = 0; dim < Along; ++dim) offset += static_cast<Offset>((along.sizes[dim].divisor - 1) * along.strides[dim][tensor]);
        return offset;
    }
    GPUBENCH_DEVICE Offset row_offset(int pass, int tensor) const {
        return outer[tensor] + static_cast<Offset>(across.offset(first_row + row(pass), tensor));
    }
};

// row: the output's first element of the row.
template <class G, class Out>
GPUBENCH_DEVICE typename G::Share share_of(const G& tile, const Out* row, bool exists) {
    using Offset = typename G::Offset;
    constexpr int V = G::V;
    const int at = G::lane() * V;
    exists = exists && at < static_cast<int>(tile.shape.chunk);
    if constexpr (G::whole) {
        return {static_cast<Offset>(tile.start) + at, 0, exists && tile.start + at < tile.shape.length ? V : 0};
    } else {
        const Offset first = static_cast<Offset>(tile.start) + at - behind_grid<G::spare>(row + tile.start);
        const Offset left = static_cast<Offset>(tile.shape.length) - first;
        if (G::all) return {first, 0, exists ? V : 0};
        const int to = left < V ? static_cast<int>(left) : V;
        return {first, first < 0 ? static_cast<int>(-first) : 0, exists ? to : 0};
    }
}

}  // namespace gpubench::elementwise
