// Short lines whose neighbours in y are one run of it: which of them, and which part of a line, a thread of a block has.
//
//     y:       | group 0        | group 1        | ...        a group: `inner` lines side by side, from end to end
//     block:   | at_once groups, a run                 |      its threads: the lines of share 0, of share 1 ...
#pragma once

#include "gpubench/integer_divider.cuh"
#include "gpubench/movement/row_vectors.cuh"

namespace gpubench {

// 64 bytes with C layout: the host packs the same.
struct LineRuns {
    uint32 groups;            // in all
    int at_once;              // of a block
    int group;                // elements of one
    int length, share;        // rows of a line, and of a share of it; the last may have fewer
    int totals;               // units of 16 bytes in shared memory before what the shares tell each other
    IntegerDivider lines;     // of a block
    IntegerDivider inner;     // of a group
    long long x_row, x_line;  // distances in x, from row to row and from line to line of a group
};
GPUBENCH_LAYOUT(LineRuns, 64, x_line, 56);

// A thread's share of a line: `rows` of it from `row` on, none where there is no such line.
struct RunShare {
    uint32 line, share;  // in the block; neighbouring threads have neighbouring lines
    int group, beside;   // the line's group in the block, and its place there
    int row, rows;

    GPUBENCH_DEVICE explicit RunShare(const LineRuns& runs) {
        const IntegerDivider::Result place = runs.lines.divide(static_cast<uint32>(thread_index_x()));
        const IntegerDivider::Result in_group = runs.inner.divide(place.remainder);
        line = place.remainder;
        share = place.quotient;
        group = static_cast<int>(in_group.quotient);
        beside = static_cast<int>(in_group.remainder);
        row = static_cast<int>(share) * runs.share;
        const int left = first_group(runs) + in_group.quotient < runs.groups ? runs.length - row : 0;
        rows = left < 0 ? 0 : left < runs.share ? left : runs.share;
    }
    GPUBENCH_DEVICE static uint32 first_group(const LineRuns& runs) {
        return static_cast<uint32>(block_index_x()) * static_cast<uint32>(runs.at_once);
    }
};

// Elements of the block's run: of all its groups that exist.
GPUBENCH_DEVICE int run_elements(const LineRuns& runs) {
    const uint32 left = runs.groups - RunShare::first_group(runs), most = static_cast<uint32>(runs.at_once);
    return static_cast<int>(left < most ? left : most) * runs.group;
}

// The rows of a share that exist, `step` apart, and zero behind them: from shared memory, and from x, where all are under way at once.
template <int Rows, class T>
GPUBENCH_DEVICE void take_share(Packed<T, 1> (&raw)[Rows], const T* staged, int step, int rows) {
    GPUBENCH_UNROLL
    for (int r = 0; r < Rows; ++r, staged += step) raw[r] = row_vector<1>(staged, r < rows);
}
template <int Rows, class T>
GPUBENCH_DEVICE void load_share(Packed<T, 1> (&raw)[Rows], const T* x, long long step, int rows) {
    GPUBENCH_UNROLL
    for (int r = 0; r < Rows; ++r, x += step) raw[r] = vector_if<1>(x, r < rows);
}

}  // namespace gpubench
