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
#include "gpubench/movement/transpose_ring.cuh"
#include "gpubench/warp.cuh"

namespace gpubench::cumsum {

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
        Vector<typename S::Local, S::V> items[S::P];
        GPUBENCH_UNROLL
        for (int p = 0; p < S::P; ++p) items[p] = unpack_items<S::V, typename S::Local>(load_line_of_square<S>(slot, k, lane, p));
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
            const Vector<typename S::Local, S::P> row =
                unpack_items<S::P, typename S::Local>(load_row_of_square<S>(slot, k * S::step_rows + first + j, line));
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
    const auto copy = [&](long long start, Word128* slot) { copy_tile<XAlong>(strip, start, slot); };
    const auto mine = [&](Word128* slot) {
        if constexpr (XAlong) {
            warp_barrier();  // the warp's lines have landed, whichever lane asked for them
            sum_in_place(strip, slot, carries, strip.y);
        }
    };
    walk_ring<Stages>(shape.length, S::rows, ring, S::slot_units, copy, mine, [&](long long start, Word128* slot) {
        if constexpr (XAlong) store_slot_across(strip, start, slot, strip.y);
        else sum_and_store(strip, start, slot, carries, strip.y);
    });
}

}  // namespace gpubench::cumsum
