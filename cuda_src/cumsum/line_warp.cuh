// A warp whose lanes own a line each, and the lines' 16-byte units in shared memory, over which the warp goes as a whole.
#pragma once

#include "gpubench/integer_divider.cuh"
#include "gpubench/movement/shifted.cuh"

namespace gpubench::cumsum {

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

}  // namespace gpubench::cumsum
