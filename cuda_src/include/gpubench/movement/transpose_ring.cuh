// Transposed by squares: tiles that came by copies into a slot of a ring, from which a lane takes P lines of V neighbouring
// elements into registers, by whichever side they lie on, and gives them away by the other.
//
// Units in a slot are swizzled by an exclusive or, so that neither way through it meets a bank twice.
#pragma once

#include "gpubench/items.cuh"
#include "gpubench/movement/stages.cuh"
#include "gpubench/movement/transpose.cuh"

namespace gpubench {

// The numbers of one instance, and a block's place. x and y: the first element of the strip. A lane's K squares of a tile are
// its steps; `rows` are elements along the lines.
template <class T, class Out, bool XAlong, int L, int K, int Stages>
struct RingStrip {
    using X = T;
    using A = accumulator_t<Out>;
    using Local = tile_accumulator_t<T, A>;  // of narrow integers, totals since the step's first element
    static constexpr bool narrow = is_narrow<T, A>;
    static constexpr int unit = 16 / static_cast<int>(sizeof(T));  // elements of x of one copy
    static constexpr int beside = 16 / static_cast<int>(XAlong ? sizeof(Out) : sizeof(T));
    static constexpr int P = beside < 4 ? beside : 4;
    static constexpr int V = !XAlong ? vector_items<T, Out> : narrow ? 4 : unit;
    static constexpr int width = L, warps = L / P, threads = warps * warp_size;
    static constexpr int steps = K, step_rows = warp_size * V, rows = K * step_rows;  // of a tile
    static constexpr int widest = static_cast<int>(XAlong && sizeof(Out) > sizeof(T) ? sizeof(Out) : sizeof(T));
    static constexpr int part_units = P * step_rows * widest / 16;  // of a warp's step
    static constexpr int slot_units = K * warps * part_units;
    static constexpr int stages = Stages;
    static_assert(L % P == 0 && Stages >= 2);

    const T* x;
    Out* y;
    TransposedShape shape;
    int lines;  // that exist

    static GPUBENCH_DEVICE int warp() { return thread_index_x() / warp_size; }
    static GPUBENCH_DEVICE int first_line() { return warp() * P; }
    // Rows that exist from `start` on, at most a tile's.
    GPUBENCH_DEVICE int left(long long start) const {
        const long long rest = shape.length - start;
        return rest < rows ? static_cast<int>(rest) : rows;
    }

    // XAlong: the part of a slot that holds a warp's step: its lines of x, then its sums, a row of P lines a piece. Piece
    // `row` of lane i's V rows stands at place 32 row + i, swizzled so that lanes may also take neighbouring warps' pieces.
    static GPUBENCH_DEVICE Word128* part(Word128* slot, int k, int warp) { return slot + (k * warps + warp) * part_units; }
    static GPUBENCH_DEVICE Out* piece(Word128* slot, int k, int warp, int lane, int row) {
        constexpr int of_unit = 16 / (P * static_cast<int>(sizeof(Out))), apart = of_unit * (warps < 8 ? 8 / warps : 1);
        return reinterpret_cast<Out*>(part(slot, k, warp)) + (row * warp_size + (lane ^ (warp * apart % warp_size))) * P;
    }

    // Otherwise: where unit `u` of a row stands. Eight lanes that store have neighbouring units of one row, or of a few; those that
    // load have one unit of rows V apart.
    static constexpr int row_units = L / unit > 0 ? L / unit : 1;
    static constexpr int alike = V * row_units > 8 ? V : 8 / row_units;  // rows swizzled alike
    static GPUBENCH_DEVICE int place(uint32 row, uint32 u) { return static_cast<int>((row * row_units + u) ^ (row / alike % 8)); }
};

// Ask for the tile at `start`, and close the group. What does not exist is zero. XAlong: each warp for its own lines.
template <class S>
GPUBENCH_DEVICE void copy_along(const S& strip, long long start, Word128* slot) {
    constexpr int line_units = S::step_rows / S::unit;                             // of a step
    constexpr int together = line_units < warp_size ? warp_size / line_units : 1;  // lines of one access
    const int lane = lane_index(), line = lane / line_units, unit = lane % line_units;
    const int left = strip.left(start) - unit * S::unit, lines = strip.lines - S::first_line();
    const typename S::X* const source = strip.x + (S::first_line() + line) * strip.shape.x_across + start + unit * S::unit;
    GPUBENCH_UNROLL
    for (int k = 0; k < S::steps; ++k) {
        Word128* const target = S::part(slot, k, S::warp()) + lane;
        GPUBENCH_UNROLL
        for (int p = 0; p < S::P; p += together) {
            if (together > S::P && line >= S::P) continue;
            const typename S::X* const from = source + p * strip.shape.x_across + k * S::step_rows;
            const bool exists = line + p < lines && k * S::step_rows < left;
            copy_in_background(target + p * line_units, reinterpret_cast<const Word128*>(from), exists);
        }
    }
}
template <class S>
GPUBENCH_DEVICE void copy_across(const S& strip, long long start, Word128* slot) {
    constexpr int together = S::threads / S::row_units;  // rows of one access
    static_assert(S::rows % together == 0);
    const int unit = thread_index_x() % S::row_units, row = thread_index_x() / S::row_units;
    const int left = unit * S::unit < strip.lines ? strip.left(start) - row : 0;
    const typename S::X* source = strip.x + (start + row) * strip.shape.x_along + unit * S::unit;
    GPUBENCH_UNROLL
    for (int n = 0; n < S::rows; n += together, source += together * strip.shape.x_along) {
        copy_in_background(slot + S::place(row + n, unit), reinterpret_cast<const Word128*>(source), n < left);
    }
}
template <bool XAlong, class S>
GPUBENCH_DEVICE void copy_tile(const S& strip, long long start, Word128* slot) {
    if (start < strip.shape.length) {
        if constexpr (XAlong) copy_along(strip, start, slot);
        else copy_across(strip, start, slot);
    }
    close_copies();
}

// A line of the lane's square of step k, of a slot that holds lines, or a row of it, of one that holds rows.
template <class S>
GPUBENCH_DEVICE Packed<typename S::X, S::V> load_line_of_square(Word128* slot, int k, int lane, int p) {
    return load_packed<S::V>(reinterpret_cast<const typename S::X*>(S::part(slot, k, S::warp())) + lane * S::V + p * S::step_rows);
}
template <class S>
GPUBENCH_DEVICE Packed<typename S::X, S::P> load_row_of_square(const Word128* slot, int row, int line) {
    const Word128* const unit = slot + S::place(row, line / S::unit);
    return load_packed<S::P>(reinterpret_cast<const typename S::X*>(unit) + line % S::unit);
}

// XAlong: store the tile's rows, behind a barrier of the block: by pieces where they are aligned, else a lane a line.
template <class S, bool All, class Out>
GPUBENCH_DEVICE void store_pieces(const S& strip, long long start, int left, Word128* slot, Out* y) {
    const int warp = thread_index_x() % S::warps, lane = thread_index_x() / S::warps;
    if (warp * S::P >= strip.lines) return;
    const long long step = strip.shape.y_along;
    Out* const target = y + (start + lane * S::V) * step + warp * S::P;
    GPUBENCH_UNROLL
    for (int k = 0; k < S::steps; ++k) {
        GPUBENCH_UNROLL
        for (int j = 0; j < S::V; ++j) {
            const Packed<Out, S::P> row = load_packed<S::P>(S::piece(slot, k, warp, lane, j));
            if (All || k * S::step_rows + lane * S::V + j < left) store_packed(target + (k * S::step_rows + j) * step, row);
        }
    }
}
template <class S, class Out>
GPUBENCH_DEVICE void store_slot_across(const S& strip, long long start, Word128* slot, Out* y) {
    const int left = strip.left(start);
    const long long step = strip.shape.y_along;
    if (strip.lines % S::P == 0 && is_aligned(y, S::P * sizeof(Out)) && step % S::P == 0) {
        if (left == S::rows) store_pieces<S, true>(strip, start, left, slot, y);
        else store_pieces<S, false>(strip, start, left, slot, y);
        return;
    }
    constexpr int together = S::threads / S::width, batch = 4;  // rows of one access, and accesses on their way at once
    static_assert(S::rows % (batch * together) == 0 || batch * together > S::rows);
    const uint32 line = thread_index_x() % S::width;
    if (static_cast<int>(line) >= strip.lines) return;
    Out* target = y + (start + thread_index_x() / S::width) * step + line;
    GPUBENCH_NO_UNROLL
    for (int row = thread_index_x() / S::width; row < left; row += batch * together) {
        Out sums[batch];
        GPUBENCH_UNROLL
        for (int n = 0; n < batch; ++n) {
            const uint32 place = static_cast<uint32>(row + n * together) % S::rows;
            sums[n] = S::piece(slot, place / S::step_rows, line / S::P, place % S::step_rows / S::V, place % S::V)[line % S::P];
        }
        GPUBENCH_UNROLL
        for (int n = 0; n < batch; ++n, target += together * step) {
            if (row + n * together < left) *target = sums[n];
        }
    }
}

// The sums of a lane's square, of whose V elements `left` exist. whole: all its lines exist, aligned to vectors.
template <class S, class Out>
GPUBENCH_DEVICE void store_lines(const S& strip, const Vector<typename S::A, S::V> (&sums)[S::P], Out* target, int left, bool whole) {
    if (whole && left >= S::V) {
        GPUBENCH_UNROLL
        for (int p = 0; p < S::P; ++p, target += strip.shape.y_across) store_packed(target, pack_items<S::V, Out>(sums[p]));
        return;
    }
    GPUBENCH_UNROLL
    for (int p = 0; p < S::P; ++p, target += strip.shape.y_across) {
        GPUBENCH_UNROLL
        for (int j = 0; j < S::V; ++j) {
            if (S::first_line() + p < strip.lines && j < left) target[j] = convert<Out>(sums[p][j]);
        }
    }
}

}  // namespace gpubench
