// cumsum, variant `transposed_lines`: many short lines; x and y disagree on their fastest dim, and one of the two is the summed one.
//
//     XAlong:     x, 16-byte copies along the lines -> shared memory -> each lane its line -> y, across the lines
//     otherwise:  x, across the lines -> each lane its line -> shared memory -> y, 16-byte stores along the lines
//
// Data: a lane owns one line (P neighbouring ones of 16-bit floats) and adds it up from end to end in registers: no
// shuffle, no second pass. The 32 lanes own lines that are neighbours in the operand that lies across them, counted over all
// its dims, so that no lane idles where the innermost one is no multiple of 32; each lane finds its place by division,
// once. Along the lines, the warp moves the 16-byte units of its lines one after the other through shared memory, where a
// line takes an odd number of units: lanes that each touch a unit of their own line meet every bank once in eight lanes.
// A line that does not begin on a unit is moved on its own grid, by elements only at its two edges; the lane that owns it
// shifts it in registers (`joined`). Lines longer than a turn of `units` are walked in turns, with the next turn of x on its
// way. Warps have nothing to do with each other, so an SM holds as many as shared memory has room for, at any stage.
// Against `transposed_tiles`, whose block waits for memory once a tile: a short line is one tile, and the block then idles. On one
// H200, 196608 lines of 64 float32: 30.6 us with x along them, 31.8 across (transposed_tiles 109 and 95, naive 67 and 332).
#include "gpubench/arithmetic.cuh"
#include "gpubench/grid.cuh"
#include "gpubench/movement/stages.cuh"
#include "gpubench/strided.cuh"
#include "gpubench/movement/lines.cuh"

namespace gpubench::cumsum {

// --- x along the lines -------------------------------------------------------------------------------------------------

// Add V elements of each of a lane's lines, and store the sums: all, or the first `left`.
template <int V, bool All, int P, class T, class A, class Out>
GPUBENCH_DEVICE void store_across(const Packed<T, V> (&units)[P], int left, Vector<A, P>& sums, Out*& y, long long step) {
    Vector<A, V> items[P];
    GPUBENCH_UNROLL
    for (int p = 0; p < P; ++p) items[p] = unpack_items<V, A>(units[p]);
    GPUBENCH_UNROLL
    for (int j = 0; j < V; ++j, y += step) {
        GPUBENCH_UNROLL
        for (int p = 0; p < P; ++p) sums[p] = add(sums[p], items[p][j]);
        if (All || j < left) store_packed(y, pack_items<P, Out>(sums));
    }
}

// x along the lines. mine: whether this lane's lines exist; if not, it goes along with a line that does, and stores nothing.
template <class W, class T, class Out>
GPUBENCH_DEVICE void lines_from_along(const W& warp, const T* x, Out* y, bool mine) {
    constexpr int V = W::V, P = W::lines;
    const int all_units = (warp.shape.length + V - 1) / V + (W::aligned ? 0 : 1), per_turn = warp.units();
    const int turn_words = P * warp_size * warp.shape.pitch;
    int left = mine ? warp.shape.length : 0;
    Vector<typename W::A, P> sums{};
    Packed<T, V> held[P] = {};
    copy_turn(warp, 0, warp.stage, x);
    for (int first = 0, parity = 0; first < all_units; first += per_turn, parity ^= 1) {
        Word128* const turn = warp.stage + parity * turn_words;
        if (first + per_turn < all_units) copy_turn(warp, first + per_turn, warp.stage + (parity ^ 1) * turn_words, x);
        else ask_nothing();
        await_turn();
        const int end = all_units - first < per_turn ? all_units - first : per_turn;
        if constexpr (W::aligned) load_units(warp, turn, held);
        for (int unit = 0; unit < end; ++unit) {
            Packed<T, V> units[P];
            GPUBENCH_UNROLL
            for (int p = 0; p < P; ++p) units[p] = held[p];
            if constexpr (W::aligned) {  // the next unit is on its way while this one is added up
                if (unit + 1 < end) load_units(warp, turn + unit + 1, held);
            } else {
                load_joined(warp, turn + unit, first + unit, units, held);
            }
            if (!W::aligned && first + unit == 0) continue;
            if (left >= V) store_across<V, true>(units, left, sums, y, warp.shape.y_along);
            else store_across<V, false>(units, left, sums, y, warp.shape.y_along);
            left -= V;
        }
        warp_barrier();
    }
}

// --- x across the lines ------------------------------------------------------------------------------------------------

// Add up a batch of each of a lane's lines into shared memory, in units of y. distance: of each line of y from its unit.
// The sums of a line that begins inside a unit are shifted by that; `held` are those before.
template <class W, int N, int P, class T, class Out, int V>
GPUBENCH_DEVICE void sum_batch(const W& warp, const Packed<T, P> (&batch)[N], int at, Vector<typename W::A, P>& sums,
                               Packed<Out, V> (&held)[P]) {
    GPUBENCH_UNROLL
    for (int unit = 0; unit < N / V; ++unit) {
        if (at + unit >= warp.units()) return;  // a short line has no place for a whole batch
        Vector<typename W::A, V> items[P];
        GPUBENCH_UNROLL
        for (int j = 0; j < V; ++j) {
            const Vector<typename W::A, P> next = unpack_items<P, typename W::A>(batch[unit * V + j]);
            GPUBENCH_UNROLL
            for (int p = 0; p < P; ++p) items[p][j] = sums[p] = add(sums[p], next[p]);
        }
        GPUBENCH_UNROLL
        for (int p = 0; p < P; ++p) {
            Packed<Out, V> packed = pack_items<V, Out>(items[p]);
            if constexpr (!W::aligned) {
                const Packed<Out, V> next = packed;
                packed = joined(held[p], next, (V - warp.distance(warp.begins[p])) % V);
                held[p] = next;
            }
            store_word(warp.place(warp.stage, p, lane_index()) + at + unit, bit_cast<Word128>(packed));
        }
    }
}

// x across the lines. Where lines of y begin inside a unit, a step fills the unit that ends in its first elements.
template <class W, class T, class Out>
GPUBENCH_DEVICE void lines_from_across(const W& warp, const T* x, Out* y) {
    constexpr int V = W::V, P = W::lines, N = batch_items<T, P>;
    static_assert(N / V % steps_together == 0, "turns are whole batches, or all of a line that is less than one");
    const int length = warp.shape.length, behind = W::aligned ? 0 : 1;
    const int all_units = (length + V - 1) / V + behind;
    Packed<Out, V> held[P] = {};
    Vector<typename W::A, P> sums{};
    Packed<T, P> batch[N];
    load_batch(batch, x, length, warp.shape.x_along);
    for (int first = 0, at = 0; first < all_units; first += N / V) {
        sum_batch(warp, batch, at, sums, held);
        x += N * warp.shape.x_along;
        at += N / V;
        const bool more = first + N / V < all_units;
        if (more) load_batch(batch, x, length - (first + N / V) * V, warp.shape.x_along);  // on its way while the turn is stored
        if (at < warp.units() && more) continue;
        warp_barrier();
        store_turn(warp, first + N / V - at - behind, y);
        warp_barrier();
        at = 0;
    }
}

// x_lines, y_lines: from the number of a line to its first element, lines side by side in the operand that lies across.
// Blocks of any whole number of warps. P divides the number of lines, which lie P side by side there, aligned to P elements.
template <class T, class Out, bool XAlong, bool Aligned, int P>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(256, XAlong ? 4 : 2)
    transposed_lines(const T* x, Out* y, TransposedLines shape, DividedStrided x_lines, DividedStrided y_lines) {
    GPUBENCH_DYNAMIC_SHARED(Word128, stages);
    const int warp_in_block = thread_index_x() / warp_size;
    const uint32 first = static_cast<uint32>(grid_thread() / warp_size) * (warp_size * P);
    if (first >= shape.lines) return;
    const uint32 left = shape.lines - first, place = static_cast<uint32>(lane_index()) * P;
    const bool mine = place < left;
    const uint32 line = mine ? first + place : shape.lines - P;
    const T* const source = x + x_lines.offset(line);
    Out* const target = y + y_lines.offset(line);
    LineWarp<T, Out, XAlong, Aligned, P> warp{shape, {}, static_cast<int>(left < warp_size * P ? left : warp_size * P),
                                              stages + warp_in_block * shape.warp_units};
    GPUBENCH_UNROLL
    for (int p = 0; p < P; ++p) {
        if constexpr (XAlong) warp.begins[p] = reinterpret_cast<uint64>(source + p * shape.x_across);
        else warp.begins[p] = reinterpret_cast<uint64>(target + p * shape.y_across);
    }
    if constexpr (XAlong) lines_from_along(warp, source, target, mine);
    else lines_from_across(warp, source, target);
}

}  // namespace gpubench::cumsum
