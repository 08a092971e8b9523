// What carry_forward walks over: rows cut into tiles, and the stages of shared memory that they pass through.
#pragma once

#include "gpubench/movement/narrow.cuh"
#include "gpubench/movement/stages.cuh"
#include "gpubench/sides.cuh"

namespace gpubench::cumsum {

// The numbers of one instance. A warp's part of a tile is Vectors x 32 vectors of V elements; `tile` is the most that a
// tile holds. How long tiles are is told at run time, so that they fill whole turns of the blocks. Side: so many columns
// stand side by side in a row, and an item is an element of each; V is a multiple of it.
template <class T, class Out, int Consumers, int Vectors, int Stages, int Side>
struct Ring {
    using Sum = accumulator_t<Out>;  // of one column
    using A = sides_t<Sum, Side>;
    using Part = PackedPart<T, Vectors * vector_items<T, Out>>;  // where integers are narrow
    static constexpr bool packed = is_narrow<T, Out> && Side == 1;
    static constexpr int V = vector_items<T, Out>, N = V / Side, side = Side;
    static constexpr int load_bytes = (packed ? Part::run : V) * static_cast<int>(sizeof(T));
    static constexpr int part = warp_size * Vectors * V;
    static constexpr int tile = Consumers * part;
    static constexpr int stage_bytes = (tile * static_cast<int>(sizeof(T)) + 48 + 15) / 16 * 16;
};

struct RingRows {
    long long length;    // of a row
    long long x_pitch;   // from row to row of x
    long long elements;  // up to the last one of x that may be read
    int rows, tiles_per_row;
    int tile;                   // elements of a tile: whole vectors, at most Ring::tile
    int turn_rows, turn_tiles;  // how far away a block's next tile is: as many tiles as there are blocks
    int streaming;              // whether the L2 cache gives up x first
};
GPUBENCH_LAYOUT(RingRows, 48, streaming, 44);

// One tile: where it stands. Slot s of it is element first + s of the row; only slots begin to end - 1 hold one.
struct Tile {
    int row, number;
    long long first;
    int begin, end;
};

// The tiles of a block in turn, and the stages that they pass through. Every role takes the same walk, with no division
// on the way.
template <int Stages>
struct Walk {
    const RingRows& rows;
    int row, number;  // of the tile; its place in the row
    int step = 0;     // of two rounds through the stages

    GPUBENCH_DEVICE Walk(const RingRows& of, int first) : rows(of) {
        row = first / rows.tiles_per_row;
        number = first - row * rows.tiles_per_row;
    }
    GPUBENCH_DEVICE int index() const { return row * rows.tiles_per_row + number; }
    GPUBENCH_DEVICE bool more() const { return row < rows.rows; }
    GPUBENCH_DEVICE int stage() const { return step < Stages ? step : step - Stages; }
    GPUBENCH_DEVICE uint32 parity() const { return step < Stages ? 0 : 1; }  // of the stage's phases
    GPUBENCH_DEVICE void advance() {
        row += rows.turn_rows;
        number += rows.turn_tiles;
        if (number >= rows.tiles_per_row) {
            number -= rows.tiles_per_row;
            ++row;
        }
        if (++step == 2 * Stages) step = 0;
    }
};

template <class R, class Out, int Stages>
GPUBENCH_DEVICE Tile tile_at(const RingRows& rows, const Out* y, const Walk<Stages>& walk) {
    Tile tile;
    tile.row = walk.row;
    tile.number = walk.number;
    const int shift = empty_slots<R::V>(y, tile.row * rows.length);
    tile.first = static_cast<long long>(tile.number) * rows.tile - shift;
    tile.begin = tile.number == 0 ? shift : 0;
    const long long end = rows.length - tile.first;
    tile.end = end > rows.tile ? rows.tile : static_cast<int>(end);
    if (tile.end < tile.begin) tile.end = tile.begin;
    return tile;
}

// Where slot 0 of the tile stands in its stage: the copy keeps the address of x modulo 16.
template <class T>
GPUBENCH_DEVICE int stage_lead(const T* x, const RingRows& rows, const Tile& tile) {
    return 16 + static_cast<int>(reinterpret_cast<uint64>(x + tile.row * rows.x_pitch + tile.first) & 15);
}

// Slot 0 of the tile in its stage; `aligned` to what a lane loads at once, or not.
template <class T>
struct Source {
    const T* slots;
    bool aligned;
};

template <class R, class T>
GPUBENCH_DEVICE Source<T> stage_source(const T* x, const RingRows& rows, const Tile& tile, const char* stages, int stage) {
    const int lead = stage_lead(x, rows, tile);
    return {reinterpret_cast<const T*>(stages + stage * R::stage_bytes + lead), lead % R::load_bytes == 0};
}

template <class Out>
GPUBENCH_DEVICE Out* tile_target(Out* y, const RingRows& rows, const Tile& tile) {
    return y + tile.row * rows.length + tile.first;
}

// The vectors of a lane in the part of a tile that starts at slot `start`.
template <class R>
GPUBENCH_DEVICE Span part_span(const Tile& tile, int start) {
    const int slot = start + lane_index() * R::V;
    return {slot, warp_size * R::V, tile.begin - slot, tile.end - slot};
}

}  // namespace gpubench::cumsum
