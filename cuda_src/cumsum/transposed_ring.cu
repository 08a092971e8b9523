// cumsum, variant `transposed_ring`: x and y disagree on their fastest dim, one of the two is the summed one, and x is whole units
// of 16 bytes.
//
//     XAlong:     x, 16-byte copies along the lines -> ring -> P x V elements a lane -> the same slot, transposed -> y, across the lines
//     otherwise:  x, 16-byte copies across the lines -> ring -> P x V elements a lane -> y, 16-byte stores along the lines
//
// Data: a block walks a strip of L lines from end to end in tiles. Tiles come by copies that hold no registers into a ring of
// Stages slots in shared memory, so that all but one of them are under way, and stay so while the block sums and stores.
// A warp owns P neighbouring lines. A lane takes a square of theirs, P lines of V neighbouring elements, into registers: by a
// line's V elements at a time, or by P lines of one row. To turn it costs nothing there; registers have no order. Each line
// is scanned through the square's row, over the lanes by shuffles, and behind the carry of the line, which stays in registers.
// x along the lines: the warp that brought its lines puts their sums into their place, P lines of one row as one piece, and
// the block stores the tile row by row. x across them: the warp stores the sums of each line as they are.
// Units in a slot are swizzled by an exclusive or, so that neither way through it meets a bank twice. One block barrier a tile:
// it says both that a tile is there and that the slot of the one before is free.
// Against transposed_tiles, which has one tile on its way in registers: three to six times as much under way, no phase without
// loads, a half or a quarter of the accesses to shared memory. On one H200, 4096 x 4096 float32: 39.3 us with x along the
// lines, 39.2 across them (40.3, 40.8), bfloat16 22.7 (25.2); 2048 x 2048 in strips of 16 lines 13.3 (17.7).
#include "gpubench/arithmetic.cuh"
#include "gpubench/items.cuh"
#include "gpubench/movement/stages.cuh"
#include "gpubench/warp.cuh"
#include "cumsum/transposed_shape.cuh"

namespace gpubench::cumsum {

// The numbers of one instance, and a block's place. x and y: the first element of the strip. A lane's K squares of a tile are
// its steps; `rows` are elements along the lines.
template <class T, class Out, bool XAlong, int L, int K, int Stages>
struct RingStrip {
    using X = T;
    using A = accumulator_t<Out>;
    using Local = tile_accumulator_t<T, A>;  // of narrow integers, sums since the step's first element
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

// The sums of a lane's square from the lines' beginning; carries are moved on behind the warp's step.
template <class S>
GPUBENCH_DEVICE void scan_lines(Vector<typename S::Local, S::V> (&items)[S::P], typename S::A (&carries)[S::P],
                                Vector<typename S::A, S::V> (&sums)[S::P]) {
    using A = typename S::A;
    typename S::Local upto[S::P];
    GPUBENCH_UNROLL
    for (int p = 0; p < S::P; ++p) {
        scan_items<S::V>(items[p], Add{});
        upto[p] = scan_lanes(items[p][S::V - 1], Add{});
    }
    GPUBENCH_UNROLL
    for (int p = 0; p < S::P; ++p) {
        if constexpr (S::narrow) {
            typename S::Local run{};
            combine_before<S::V>(items[p], before_lane(upto[p], run, Add{}), Add{});
            sums[p] = convert_items<S::V, A>(items[p]);
            combine_before<S::V>(sums[p], carries[p], Add{});
            carries[p] = add(carries[p], A{run});
        } else {
            combine_before<S::V>(items[p], before_lane(upto[p], carries[p], Add{}), Add{});
            sums[p] = items[p];
        }
    }
}

// XAlong: sum the warp's lines in their place. All steps at once, so that their shuffles overlap.
template <class S, class Out>
GPUBENCH_DEVICE void sum_in_place(const S&, Word128* slot, typename S::A (&carries)[S::P], Out*) {
    const int lane = lane_index();
    Vector<typename S::A, S::V> sums[S::steps][S::P];
    GPUBENCH_UNROLL
    for (int k = 0; k < S::steps; ++k) {
        const auto* const x = reinterpret_cast<const typename S::X*>(S::part(slot, k, S::warp())) + lane * S::V;
        Vector<typename S::Local, S::V> items[S::P];
        GPUBENCH_UNROLL
        for (int p = 0; p < S::P; ++p) items[p] = unpack_items<S::V, typename S::Local>(load_packed<S::V>(x + p * S::step_rows));
        scan_lines<S>(items, carries, sums[k]);
    }
    warp_barrier();  // all lanes have what was there
    GPUBENCH_UNROLL
    for (int k = 0; k < S::steps; ++k) {
        GPUBENCH_UNROLL
        for (int j = 0; j < S::V; ++j) {
            Vector<typename S::A, S::P> row;
            GPUBENCH_UNROLL
            for (int p = 0; p < S::P; ++p) row[p] = sums[k][p][j];
            store_packed(S::piece(slot, k, S::warp(), lane, j), pack_items<S::P, Out>(row));
        }
    }
}

// ... and, behind a barrier of the block, store the tile's rows: by pieces where they are aligned, else a lane a line.
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
GPUBENCH_DEVICE void store_across(const S& strip, long long start, Word128* slot, Out* y) {
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

// Otherwise: sum the warp's lines from the slot, and store them.
template <class S, class Out>
GPUBENCH_DEVICE void sum_and_store(const S& strip, long long start, const Word128* slot, typename S::A (&carries)[S::P], Out* y) {
    const int first = lane_index() * S::V, line = S::first_line(), left = strip.left(start) - first;
    const bool whole = strip.lines - line >= S::P && is_aligned(y, S::V * sizeof(Out)) && strip.shape.y_across % S::V == 0;
    Out* const target = y + line * strip.shape.y_across + start + first;
    GPUBENCH_UNROLL
    for (int k = 0; k < S::steps; ++k) {
        Vector<typename S::Local, S::V> items[S::P];
        GPUBENCH_UNROLL
        for (int j = 0; j < S::V; ++j) {
            const Word128* const unit = slot + S::place(k * S::step_rows + first + j, line / S::unit);
            const auto* const x = reinterpret_cast<const typename S::X*>(unit) + line % S::unit;
            const Vector<typename S::Local, S::P> row = unpack_items<S::P, typename S::Local>(load_packed<S::P>(x));
            GPUBENCH_UNROLL
            for (int p = 0; p < S::P; ++p) items[p][j] = row[p];
        }
        Vector<typename S::A, S::V> sums[S::P];
        scan_lines<S>(items, carries, sums);
        store_lines<S>(strip, sums, target + k * S::step_rows, left - k * S::step_rows, whole);
    }
}

// x_batch, y_batch: the dims that are neither summed nor across, both with the same sizes. The grid: a block a strip.
// Blocks of RingStrip::threads.
template <class T, class Out, bool XAlong, int L, int K, int Stages>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS((RingStrip<T, Out, XAlong, L, K, Stages>::threads),
                                            (RingStrip<T, Out, XAlong, L, K, Stages>::threads > 256 ? 1 : 2))
    transposed_ring(const T* x, Out* y, TransposedShape shape, Strided x_batch, Strided y_batch) {
    using S = RingStrip<T, Out, XAlong, L, K, Stages>;
    GPUBENCH_DYNAMIC_SHARED(Word128, ring);
    const long long batch = block_index_x() / shape.strips;
    const long long first = (block_index_x() - batch * shape.strips) * L;
    const int lines = shape.across - first < L ? static_cast<int>(shape.across - first) : L;
    const S strip{x + x_batch.offset(batch) + first * shape.x_across, y + y_batch.offset(batch) + first * shape.y_across, shape, lines};
    typename S::A carries[S::P] = {};
    for (int stage = 0; stage + 1 < Stages; ++stage) copy_tile<XAlong>(strip, stage * S::rows, ring + stage * S::slot_units);
    int stage = 0, freed = Stages - 1;
    for (long long start = 0; start < shape.length; start += S::rows) {
        Word128* const slot = ring + stage * S::slot_units;
        await_copies<Stages - 2>();
        if constexpr (XAlong) {
            warp_barrier();  // the warp's lines have landed, whichever lane asked for them
            sum_in_place(strip, slot, carries, strip.y);
        }
        block_barrier();
        copy_tile<XAlong>(strip, start + (Stages - 1) * S::rows, ring + freed * S::slot_units);
        if constexpr (XAlong) store_across(strip, start, slot, strip.y);
        else sum_and_store(strip, start, slot, carries, strip.y);
        freed = stage;
        stage = stage + 1 < Stages ? stage + 1 : 0;
    }
}

}  // namespace gpubench::cumsum
