// A tile of positions whose places threads own: where each stands in both operands, and how it comes to shared memory.
#pragma once

#include "gpubench/integer_divider.cuh"
#include "gpubench/movement/source.cuh"
#include "gpubench/strided.cuh"

namespace gpubench::index_add {

struct OwnedShape {
    IntegerDivider tiles;    // of each piece
    IntegerDivider columns;  // tiles along the first dim
    IntegerDivider rows;     // tiles along the second dim
    uint32 width, height;    // of a tile
    uint32 size, across;     // positions along the first dim, and the second
    int32 rectangles;        // whether tiles are rectangles of two dims
    uint32 units;            // tiles times pieces
    uint32 window;           // pairs of a thread
    uint32 count;            // indices
    uint32 piece;            // pairs of a piece
    uint32 room;             // pairs that stand in shared memory, with those behind
    uint32 pitch;            // elements of a position in shared memory; 0: read where they are
    uint32 words;            // of the sort's meetings, to be cleared
    uint32 lanes;            // that bring a position to shared memory, a power of two
    int32 inside;            // whether neighbouring threads have windows of one position
    int64 to_along, of_along, to_across, of_across;
    int64 places;
    double alpha;
    uint32 place_step, index_step;
    uint32 item_step;  // from one index to the next where a thread reads them
    uint32 to_item;    // from one of a vector's elements to the next in the destination
    uint32 passes;     // of a block's sort
    uint32 heads;      // bytes of what windows have at their beginning, before of the sort's counts, or of where positions start
};
GPUBENCH_LAYOUT(OwnedShape, 168, heads, 164);

// The offset of position `p` of a tile in both operands; false where there is none.
GPUBENCH_DEVICE bool find_position(int64& to, int64& of, uint32 tile, uint32 p, const DividedStrided& to_rest, const DividedStrided& of_rest,
                                   const OwnedShape& shape) {
    const auto column = shape.columns.divide(tile);
    const auto row = shape.rows.divide(column.quotient);
    const uint32 x = column.remainder * shape.width + (p & (shape.width - 1)), y = row.remainder * shape.height + p / shape.width;
    if (x >= shape.size || y >= shape.across) return false;
    const uint32 rest = shape.rectangles != 0 ? row.quotient : x;
    to_rest.offsets(of_rest, rest, to, of);
    to += x * shape.to_along + y * shape.to_across;
    of += x * shape.of_along + y * shape.of_across;
    return true;
}

// Bring the positions of a tile to shared memory, each by `lanes` threads side by side. starts: where each stands, below zero: nowhere.
// A thread has `items` elements of `rows` positions on their way at once.
template <uint32 rows, uint32 items, class T>
GPUBENCH_DEVICE void bring_rows(T* near, const T* source, const int64* starts, const OwnedShape& shape) {
    const uint32 lanes = shape.lanes, positions = shape.width * shape.height, apart = block_size_x() / lanes;
    for (uint32 first = thread_index_x() / lanes; first < positions; first += rows * apart) {
        for (uint32 base = thread_index_x() & (lanes - 1); base < shape.count; base += items * lanes) {
            T raw[rows][items];
            const auto exists = [&](uint32 r, uint32 k) { return first + r * apart < positions && base + k * lanes < shape.count; };
            GPUBENCH_UNROLL
            for (uint32 r = 0; r < rows; ++r) {
                const int64 start = exists(r, 0) ? starts[first + r * apart] : -1;
                GPUBENCH_UNROLL
                for (uint32 k = 0; k < items; ++k) {
                    const uint32 i = base + k * lanes;
                    raw[r][k] = load_if(source + start + int64{i} * shape.index_step, start >= 0 && i < shape.count);
                }
            }
            GPUBENCH_UNROLL
            for (uint32 r = 0; r < rows; ++r) {
                GPUBENCH_UNROLL
                for (uint32 k = 0; k < items; ++k) {
                    if (exists(r, k)) near[(first + r * apart) * shape.pitch + base + k * lanes] = raw[r][k];
                }
            }
        }
    }
}

template <class T>
GPUBENCH_DEVICE void bring_tile(T* near, const T* source, const int64* starts, const OwnedShape& shape) {
    constexpr uint32 at_once = sizeof(T) > 8 ? 8 : 16;
    if (shape.width * shape.height * shape.lanes > block_size_x()) bring_rows<at_once / 4, 4>(near, source, starts, shape);
    else bring_rows<1, at_once>(near, source, starts, shape);
}

}  // namespace gpubench::index_add
