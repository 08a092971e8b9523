// cumsum, variant `walked_lines`, where short lines are one run of y with their few neighbours, or one run of x: a block has a run
// of whole groups of them, which moves by whole vectors, whatever a line or a row is.
//
//     landed_runs:    x, the same run, by one bulk copy -> shared memory -> registers -> shared memory, in y's order -> y
//     crossed_runs:   x, lanes across the lines -> registers -> shared memory, in y's order -> y
//     spread_runs:    x, the run, by one bulk copy -> shared memory -> registers -> y, lanes across the lines
//
// Data: a thread has a share of a line, all of it where it is short: up to Rows elements, which it asks for at once and holds as they
// were loaded. Shares of a line tell each other their totals through shared memory, at the barrier behind which the stage is free for
// y: so sums take the places of x there, and a block needs no second stage. Then each thread puts its sums where y has them, and a
// run of y leaves by 16-byte vectors, off the grid of them only at its two ends. Blocks are small and many, so that those that wait for
// memory leave the SM to others.
// `landed_runs`: groups of x are those of y, lines in them side by side (rows of 9 floats) or one after the other (y has two lines
// interleaved, x has not). `crossed_runs`: neighbouring lines are neighbours in x, so that a warp reads whole rows of it.
// `spread_runs`, its mirror: neighbouring lines are neighbours in y, so that a warp writes whole rows of it, from registers; a
// group is one line. Lines of x cut units of 16 bytes, long ones at least lines of the caches: so lanes with neighbouring lines rarely
// meet a bank of shared memory twice, and those never that would all meet one.
// Against a thread a line (walked_lines.cu), whose loads and stores of single elements touch parts of sectors, row by row; against
// `transposed_lines`, which moves lines that are no whole units by elements at both ends of each; against `copied_first`, which moves
// x twice. Lines of at most Rows elements times the shares, groups of at most the shared memory. On one H200:
// 124261 x 16 x 9 float32 42 us (70 a thread a line), 1244813 x 31 float16 transposed 51 (111 by `transposed_lines`).
#include "gpubench/arithmetic.cuh"
#include "gpubench/block/together.cuh"
#include "gpubench/items.cuh"
#include "gpubench/movement/bulk_run.cuh"
#include "gpubench/movement/line_runs.cuh"
#include "gpubench/movement/pieces.cuh"
#include "gpubench/strided.cuh"

namespace gpubench::cumsum {

constexpr int run_threads = 512;  // of a block, at most

// The type of sums of T that go to y, of Out.
template <class T, class Out>
using run_sum_t = tile_accumulator_t<T, accumulator_t<Out>>;

// What stands before a thread's share of its line, from all shares' elements, zero behind those that exist, through shared memory.
// InPlace: where x stands, so that all have taken theirs on return.
template <class A, bool InPlace, int Rows, class T>
GPUBENCH_DEVICE A sum_before(const Packed<T, 1> (&raw)[Rows], const RunShare& own, const LineRuns& runs, Word128* shared) {
    const int lines = static_cast<int>(runs.lines.divisor);
    A* const totals = reinterpret_cast<A*>(shared + runs.totals) + own.line;
    const bool in_shares = runs.share < runs.length;
    const auto leave = [&] {
        if (!in_shares || own.rows == 0) return;
        A total{};
        GPUBENCH_UNROLL
        for (int r = 0; r < Rows; ++r) total = add(total, unpack_items<1, A>(raw[r])[0]);
        totals[static_cast<int>(own.share) * lines] = total;
    };
    const auto before = [&] {
        A sum{};
        const int shares = own.rows == 0 ? 0 : static_cast<int>(own.share);
        for (int s = 0; s < shares; ++s) sum = add(sum, totals[s * lines]);
        return sum;
    };
    return InPlace || in_shares ? exchange(leave, before) : A{};
}

// From a thread's elements, zero behind those that exist, to the block's run of y, through shared memory. InPlace: where x stands.
template <bool InPlace, int Rows, class T, class Out>
GPUBENCH_DEVICE void store_sums(const Packed<T, 1> (&raw)[Rows], const RunShare& own, const LineRuns& runs, Word128* shared, Out* y) {
    using A = run_sum_t<T, Out>;
    const int inner = static_cast<int>(runs.inner.divisor);
    A sum = sum_before<A, InPlace>(raw, own, runs, shared);
    y += int64{RunShare::first_group(runs)} * runs.group;
    const int begin = empty_slots<16 / static_cast<int>(sizeof(Out))>(y, 0);
    Out* const stage = reinterpret_cast<Out*>(shared);
    Out* place = stage + begin + own.group * runs.group + own.row * inner + own.beside;
    GPUBENCH_UNROLL
    for (int r = 0; r < Rows; ++r, place += inner) {
        sum = add(sum, unpack_items<1, A>(raw[r])[0]);
        if (r < own.rows) *place = convert<Out>(sum);
    }
    store_whole_run(stage, begin, y, run_elements(runs));
}

// Bring the block's run of x to shared memory: returns where its first element stands there.
template <class T>
GPUBENCH_DEVICE const T* land_groups(const T* x, const LineRuns& runs, Word128* shared) {
    const T* const start = x + int64{RunShare::first_group(runs)} * runs.group;
    const T* const end_of_x = x + int64{runs.groups} * runs.group;
    return land_run(reinterpret_cast<char*>(shared), start, start + run_elements(runs), end_of_x, false);
}

// x's groups follow each other as those of y do.
template <class T, class Out, int Rows>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(run_threads) landed_runs(const T* x, Out* y, LineRuns runs) {
    GPUBENCH_DYNAMIC_SHARED(Word128, shared);
    const RunShare own(runs);
    const T* source = land_groups(x, runs, shared);
    const int step = static_cast<int>(runs.x_row);
    source += own.group * runs.group + own.row * step + own.beside * static_cast<int>(runs.x_line);
    Packed<T, 1> raw[Rows];
    take_share(raw, source, step, own.rows);
    store_sums<true>(raw, own, runs, shared, y);
}

// x_lines: from the number of a line, in the order of y, to its first element in x.
template <class T, class Out, int Rows>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(run_threads) crossed_runs(const T* x, Out* y, LineRuns runs, DividedStrided x_lines) {
    GPUBENCH_DYNAMIC_SHARED(Word128, shared);
    const RunShare own(runs);
    const T* source = x + x_lines.offset(RunShare::first_group(runs) * runs.inner.divisor + own.line) + own.row * runs.x_row;
    Packed<T, 1> raw[Rows];
    load_share(raw, source, runs.x_row, own.rows);
    store_sums<false>(raw, own, runs, shared, y);
}

// x is lines one after the other; y lies across them. y_lines: from the number of a line, in the order of x, to its first element
// in y.
template <class T, class Out, int Rows>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(run_threads)
    spread_runs(const T* x, Out* y, LineRuns runs, long long y_row, DividedStrided y_lines) {
    GPUBENCH_DYNAMIC_SHARED(Word128, shared);
    using A = run_sum_t<T, Out>;
    const RunShare own(runs);
    const T* const staged = land_groups(x, runs, shared);
    Packed<T, 1> raw[Rows];
    take_share(raw, staged + static_cast<int>(own.line) * runs.length + own.row, 1, own.rows);
    A sum = sum_before<A, false>(raw, own, runs, shared);
    y += y_lines.offset(RunShare::first_group(runs) + own.line) + own.row * y_row;
    GPUBENCH_UNROLL
    for (int r = 0; r < Rows; ++r, y += y_row) {
        sum = add(sum, unpack_items<1, A>(raw[r])[0]);
        if (r < own.rows) *y = convert<Out>(sum);
    }
}

}  // namespace gpubench::cumsum
