// What resident_columns.cu takes apart: a block's cut, the pieces of a warp's rows and where they are held.
#pragma once

#include "gpubench/block/column_scan.cuh"
#include "gpubench/grid/published.cuh"
#include "gpubench/movement/bulk_run.cuh"
#include "gpubench/movement/strips.cuh"

namespace gpubench::cumsum {

struct ResidentShape {
    long long length, x_outer, elements;  // rows of a column; distance in x; of x, up to the last one that may be read
    long long rows, longer;               // of each warp; so many warps, the first, have one more
    int columns, lanes;                   // side by side; lanes that take a row of them, be they more than a warp's
    int share, slices;                    // blocks; parts of them whose sums of a column are read side by side
    int piece_rows, pieces;               // of a piece; pieces of a warp, of which the first
    int spilled, held;                    // ... are read twice, the next kept in registers, the others in shared memory
    int slot_bytes, in_place;             // of shared memory for a piece; sums are put together there before they leave
    int groups, group_rows, reciprocal;   // of lanes, where a warp has several: rows of each; 65536 / lanes, upwards
};
GPUBENCH_LAYOUT(ResidentShape, 96, reciprocal, 88);

// The numbers of one instance. Slots: pieces that a warp has in shared memory; Held: in registers, Vectors of 16 bytes a lane.
template <class T, class Out, int Items, int Warps, int Slots, int Held, int Vectors>
struct Resident {
    using A = accumulator_t<Out>;
    using Local = tile_accumulator_t<T, A>;
    static constexpr int items = Items, warps = Warps, threads = Warps * warp_size, slots = Slots, held = Held, vectors = Vectors;
    static constexpr int window = sizeof(A) <= 4 ? 8 : sizeof(A) <= 8 ? 4 : 2;  // words under way at once; more would spill
    // For the templates of movement/strips.cuh: sums inside a piece, and those that are stored.
    template <class Sum>
    struct Rows {
        using A = Sum;
        static constexpr int items = Items;
        static constexpr int at_once = sizeof(T) * Items < 8 ? 8 : Items == 8 ? 2 : 4;  // rows of a lane under way
        static constexpr bool packed = true;
    };
    using Near = Rows<Local>;
    using Wide = Rows<A>;
};

// A warp's rows, one run of x, and what it holds of them.
template <class R, class T, class Out>
struct ResidentWarp {
    using A = typename R::A;
    const T *source, *limit;  // its first row; behind the last element of x
    Out* target;
    int rows;
    char* slots;
    PhaseBarrier* landed;  // one a slot
    A *sums, *early;       // its columns: sums of all its rows, later those before its rows; the same of the staged pieces
};

// A piece: its first row and their number, none behind the warp's last row; where it is in its slot.
template <class T>
struct Piece {
    int first, rows;
    T* place;
};

template <class R, class T, class Out>
GPUBENCH_DEVICE Piece<T> piece_in(const ResidentWarp<R, T, Out>& warp, const ResidentShape& shape, int piece, char* slot) {
    int first = piece * shape.piece_rows;
    if (first > warp.rows) first = warp.rows;
    const int left = warp.rows - first;
    const uint64 start = reinterpret_cast<uint64>(warp.source + first * shape.columns);  // a copy keeps it modulo 16
    return {first, left < shape.piece_rows ? left : shape.piece_rows, reinterpret_cast<T*>(slot + (start & 15))};
}

// Copies are numbered: all pieces in their order, then the spilled ones once more. They take the slots in turn.
template <class R, class T, class Out>
GPUBENCH_DEVICE char* slot_of(const ResidentWarp<R, T, Out>& warp, const ResidentShape& shape, int copy) {
    return warp.slots + copy % R::slots * shape.slot_bytes;
}

template <class R, class T, class Out>
GPUBENCH_DEVICE void ask(const ResidentWarp<R, T, Out>& warp, const ResidentShape& shape, int copy) {
    char* const slot = slot_of(warp, shape, copy);
    const Piece<T> piece = piece_in(warp, shape, copy < shape.pieces ? copy : copy - shape.pieces, slot);
    const T* const start = warp.source + piece.first * shape.columns;
    const T* const stop = start + piece.rows * shape.columns;
    PhaseBarrier* const landed = warp.landed + copy % R::slots;
    warp_barrier();  // other lanes have read the slot
    copy_run(slot, start, stop, warp.limit, landed, copy >= shape.spilled);  // the L2 cache is asked for spilled ones again
}

template <class R, class T, class Out>
GPUBENCH_DEVICE void await(const ResidentWarp<R, T, Out>& warp, int copy) {
    StageBarriers{warp.landed + copy % R::slots}.wait(0, static_cast<uint32>(copy / R::slots) & 1u);
}

template <class R, class T>
GPUBENCH_DEVICE int bytes_of(const Piece<T>& piece, const char* slot, int columns) {
    return static_cast<int>(reinterpret_cast<const char*>(piece.place + piece.rows * columns) - slot);
}

// How the warp's lanes stand in the columns from lane `first` of a row on: all side by side, or in groups at the row's end.
struct LaneGrid {
    int across, groups, group_rows, group;
};

GPUBENCH_DEVICE LaneGrid lane_grid(const ResidentShape& shape, int first) {
    const int left = shape.lanes - first;
    if (left >= warp_size) return {warp_size, 1, shape.piece_rows, 0};
    return {left, shape.groups, shape.group_rows, lane_index() * shape.reciprocal >> 16};
}

template <class R, class T>
GPUBENCH_DEVICE LaneRows<T> rows_of_lane(const Piece<T>& piece, const ResidentShape& shape, const LaneGrid& grid, int first) {
    LaneRows<T> mine;
    mine.part = 0;
    mine.column = (first + lane_index() - grid.group * grid.across) * R::items;
    mine.first = grid.group * grid.group_rows;
    const int left = piece.rows - mine.first;
    mine.count = left < grid.group_rows ? left : grid.group_rows;
    if (grid.group >= grid.groups) mine.count = 0;
    mine.source = piece.place + mine.first * shape.columns + mine.column;
    return mine;
}

}  // namespace gpubench::cumsum
