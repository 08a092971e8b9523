// Transposed by lines: a lane owns a line, and the warp goes as a whole over the lines' 16-byte units in its shared memory.
// Along the lines units come by copies and leave by stores; across them a lane takes its own unit, or a batch of elements.
#pragma once

#include "gpubench/integer_divider.cuh"
#include "gpubench/movement/shifted.cuh"
#include "gpubench/movement/stages.cuh"

namespace gpubench {

// 64 bytes with C layout: the host packs the same.
struct TransposedLines {
    uint32 lines;
    int length;            // elements of a line
    IntegerDivider units;  // of a line in a turn
    int pitch;             // units from line to line in shared memory: odd
    int warp_units;        // of shared memory, for each warp
    int padding;
    long long x_along, x_across;  // distances in x
    long long y_along, y_across;  // distances in y
};
GPUBENCH_LAYOUT(TransposedLines, 64, y_across, 56);

// Where a lane stands while the warp goes over the units of 32 lines one after the other, 32 units a step.
struct UnitWalk {
    int units, line, unit;
    int more_lines, more_units;  // a step

    GPUBENCH_DEVICE explicit UnitWalk(const IntegerDivider& divider) : units(static_cast<int>(divider.divisor)) {
        const IntegerDivider::Result place = divider.divide(static_cast<uint32>(lane_index())), step = divider.divide(warp_size);
        line = static_cast<int>(place.quotient);
        unit = static_cast<int>(place.remainder);
        more_lines = static_cast<int>(step.quotient);
        more_units = static_cast<int>(step.remainder);
    }
    GPUBENCH_DEVICE void step() {
        const bool over = unit + more_units >= units;
        line += more_lines + (over ? 1 : 0);
        unit += over ? more_units - units : more_units;
    }
};

constexpr int steps_together = 4;  // of a walk: their addresses are asked for before any is used

// Elements between the unit boundary at or before an address and the address.
template <class T>
GPUBENCH_DEVICE int distance_of(uint64 address) {
    return static_cast<int>(address % 16) / static_cast<int>(sizeof(T));
}

// Unit `unit` of a line that begins `distance` elements behind its first unit's beginning.
template <int V>
GPUBENCH_DEVICE Span unit_span(int unit, int distance, int length) {
    const int first = unit * V - distance;
    return {first, 0, -first, length - first};
}

// The V elements that begin `distance` elements, under V, behind the beginning of two neighbouring units.
template <int V, class T>
GPUBENCH_DEVICE Packed<T, V> joined(const Packed<T, V>& first, const Packed<T, V>& second, int distance) {
    using Unit = Pieces<sizeof(T) * V>;
    Unit low = bit_cast<Unit>(first);
    const Unit high = bit_cast<Unit>(second);
    typename Unit::Piece both[2 * Unit::count];
    GPUBENCH_UNROLL
    for (int i = 0; i < Unit::count; ++i) {
        both[i] = low.pieces[i];
        both[Unit::count + i] = high.pieces[i];
    }
    detail::shift_pieces<V, 1, T>(both, distance);
    GPUBENCH_UNROLL
    for (int i = 0; i < Unit::count; ++i) low.pieces[i] = both[i];
    return bit_cast<Packed<T, V>>(low);
}

// A warp and its lines, of the operand that lies along them. Line p of lane l stands at place 32 p + l of a turn.
template <class T, class Out, bool XAlong, bool Aligned, int P>
struct LineWarp {
    using A = accumulator_t<Out>;
    using Moved = conditional_t<XAlong, T, Out>;  // what passes shared memory
    static constexpr int V = 16 / sizeof(Moved);
    static constexpr bool aligned = Aligned;
    static constexpr int lines = P;

    const TransposedLines& shape;
    uint64 begins[P];  // addresses of this lane's lines
    int owned;         // lines of the warp that exist
    Word128* stage;

    GPUBENCH_DEVICE int units() const { return static_cast<int>(shape.units.divisor); }
    GPUBENCH_DEVICE int distance(uint64 begin) const { return Aligned ? 0 : distance_of<Moved>(begin); }
    GPUBENCH_DEVICE Word128* place(Word128* turn, int p, int lane) const { return turn + (p * warp_size + lane) * shape.pitch; }
};

// Units that an end of the line cuts, of this lane's lines: by elements, zero beside them.
template <class W, class T>
GPUBENCH_DEVICE void copy_edges(const W& warp, int first_unit, Word128* turn, const T*) {
    GPUBENCH_UNROLL
    for (int p = 0; p < W::lines; ++p) {
        const T* const source = reinterpret_cast<const T*>(warp.begins[p]);
        const int distance = warp.distance(warp.begins[p]), end = distance + warp.shape.length;
        const int last = end / W::V - first_unit;
        const bool first_cut = distance > 0 && first_unit == 0;
        const bool last_cut = end % W::V != 0 && last >= 0 && last < warp.units();
        Word128* const row = warp.place(turn, p, lane_index());
        Packed<T, W::V> first, other;
        if (first_cut) first = load_elements<W::V>(source, unit_span<W::V>(0, distance, warp.shape.length), 0);
        if (last_cut) other = load_elements<W::V>(source, unit_span<W::V>(end / W::V, distance, warp.shape.length), 0);
        if (last_cut) store_word(row + last, bit_cast<Word128>(other));
        if (first_cut) store_word(row, bit_cast<Word128>(first));
    }
}

// Ask for `units` of each line from `first_unit` on, and close the group. The owner of a line tells the others its address.
template <class W, class T>
GPUBENCH_DEVICE void copy_turn(const W& warp, int first_unit, Word128* turn, const T* x) {
    GPUBENCH_UNROLL
    for (int p = 0; p < W::lines; ++p) {
        UnitWalk walk(warp.shape.units);
        for (int n = 0; n < walk.units; n += steps_together) {
            uint64 begins[steps_together];
            int lines[steps_together], units[steps_together];
            GPUBENCH_UNROLL
            for (int i = 0; i < steps_together; ++i, walk.step()) {
                begins[i] = shuffle(full_mask, warp.begins[p], walk.line);
                lines[i] = walk.line;
                units[i] = walk.unit;
            }
            GPUBENCH_UNROLL
            for (int i = 0; i < steps_together; ++i) {
                const int distance = warp.distance(begins[i]), end = distance + warp.shape.length;
                const int unit = first_unit + units[i], at = unit * W::V;
                if ((!W::aligned && at < distance) || at + W::V > end || n + i >= walk.units) continue;
                const uint64 source = begins[i] - distance * sizeof(T) + static_cast<uint32>(unit) * uint64{16};
                copy_in_background(warp.place(turn, p, lines[i]) + units[i], reinterpret_cast<const Word128*>(source));
            }
        }
    }
    close_copies();
    copy_edges(warp, first_unit, turn, x);
}

// This lane's unit of each of its lines.
template <class W, class T, int V>
GPUBENCH_DEVICE void load_units(const W& warp, Word128* turn, Packed<T, V> (&units)[W::lines]) {
    GPUBENCH_UNROLL
    for (int p = 0; p < W::lines; ++p) units[p] = bit_cast<Packed<T, V>>(load_word(warp.place(turn, p, lane_index())));
}

// The V elements of each line that begin in the unit before `unit`, which is `held`, and end in this one, which is held next.
template <class W, class T, int V>
GPUBENCH_DEVICE void load_joined(const W& warp, Word128* turn, int unit, Packed<T, V> (&items)[W::lines],
                                 Packed<T, V> (&held)[W::lines]) {
    GPUBENCH_UNROLL
    for (int p = 0; p < W::lines; ++p) {
        const int distance = warp.distance(warp.begins[p]);
        Packed<T, V> next = held[p];
        if (unit * V < distance + warp.shape.length) next = bit_cast<Packed<T, V>>(load_word(warp.place(turn, p, lane_index())));
        items[p] = joined(held[p], next, distance);
        held[p] = next;
    }
}

// What was asked for before the last group has landed, for all lanes of the warp.
GPUBENCH_DEVICE void await_turn() {
    await_copies<1>();
    warp_barrier();
}
GPUBENCH_DEVICE void ask_nothing() { close_copies(); }

// Elements of its lines that a lane asks for at once: up to 128 bytes, so that a warp has 4 KB under way.
template <class T, int P>
constexpr int batch_items = 128 / (P * sizeof(T)) < 32 ? 128 / (P * static_cast<int>(sizeof(T))) : 32;

template <int N, int P, class T>
GPUBENCH_DEVICE void load_batch(Packed<T, P> (&batch)[N], const T* x, int left, long long step) {
    if (left >= N) {
        GPUBENCH_UNROLL
        for (int i = 0; i < N; ++i, x += step) batch[i] = load_packed<P>(x);
    } else {
        GPUBENCH_UNROLL
        for (int i = 0; i < N; ++i, x += step) {
            batch[i] = {};
            if (i < left) batch[i] = load_packed<P>(x);
        }
    }
}

// Store the units of a turn that exist. first_unit: of lines that begin on a unit; the others are one ahead.
template <class W, class Out>
GPUBENCH_DEVICE void store_turn(const W& warp, int first_unit, Out*) {
    constexpr int V = W::V;
    GPUBENCH_UNROLL
    for (int p = 0; p < W::lines; ++p) {
        UnitWalk walk(warp.shape.units);
        for (int n = 0; n < walk.units; n += steps_together) {  // `units` is a multiple of steps_together
            Packed<Out, V> units[steps_together];
            Out* targets[steps_together];
            Span spans[steps_together];
            GPUBENCH_UNROLL
            for (int i = 0; i < steps_together; ++i, walk.step()) {
                const uint64 begin = shuffle(full_mask, warp.begins[p], walk.line);
                const int distance = warp.distance(begin), unit = first_unit + walk.unit + (distance > 0 ? 1 : 0);
                targets[i] = reinterpret_cast<Out*>(begin);
                spans[i] = unit_span<V>(unit, distance, walk.line * W::lines + p < warp.owned ? warp.shape.length : 0);
                units[i] = {};
                if (spans[i].template full<V>(0) || spans[i].template cut<V>(0)) {
                    units[i] = bit_cast<Packed<Out, V>>(load_word(warp.place(warp.stage, p, walk.line) + walk.unit));
                }
            }
            GPUBENCH_UNROLL
            for (int i = 0; i < steps_together; ++i) store_packed_items<V>(targets[i], spans[i], 0, units[i]);
        }
    }
}

}  // namespace gpubench
