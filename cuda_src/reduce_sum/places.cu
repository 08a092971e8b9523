// sum, variant `places`: a thread owns a place in a line of neighbours and adds up what comes to lie there, term by term.
//
// Data: a line is what lies side by side and is kept, or kept with reduced dims in between: [groups][together][neighbours],
// of which `together` elements make one output. Its terms lie `step` apart (and rounds of terms `other_step`). A block takes
// a slice of a line and a part of its terms: threads are lanes x places, eight loads of each are on their way at once. Then the
// sums of all places meet in shared memory, and groups of threads fold those of one output; parts join by words.
// Flat form: rows of a few columns, any number, lie side by side; a line is as many of them as make whole vectors.
// Ragged form: wide lines that begin off the vectors' grid, each elsewhere; a lane only takes those that begin like its first.
#include "reduce_sum/exchange.cuh"

namespace gpubench::sum {

enum class Form { whole, flat, ragged };

struct PlacesShape {
    Sum sum;
    IntegerDivider lines;        // slices of all lines: block = part * slices + slice
    IntegerDivider slices;       // of a line
    IntegerDivider places;       // vectors of a slice
    IntegerDivider neighbours;
    IntegerDivider together;
    uint32 line;                 // vectors of a line
    uint32 terms, inner;         // of a line; of a round
    int64 apart;                 // elements between neighbours: 1, or any of places of one
    int64 step, other_step;      // elements
    int64 group_step, neighbour_step;  // of outputs, in y
    uint32 outputs;              // of a slice
    uint32 line_outputs;
    int32 lanes;                 // threads = lanes x places at least
    int32 parts;
    int32 width_bits;            // threads that fold an output: a power of two up to a warp
    int32 rest;                  // flat: items behind the last whole line
};
GPUBENCH_LAYOUT(PlacesShape, 248, rest, 244);

// The block's slice, its part, and the thread's own place.
struct Slice {
    uint32 line, number;  // of the line; of the slice in it
    int part;
    int lane, place;      // of the thread
    bool active;
};
template <Form F>
GPUBENCH_DEVICE Slice slice_of_block(const PlacesShape& shape) {
    const auto part = shape.lines.divide(block_index_x());
    const auto line = shape.slices.divide(part.remainder);
    const auto lane = shape.places.divide(thread_index_x());
    const int place = static_cast<int>(lane.remainder);
    const bool exists = F == Form::ragged || line.remainder * shape.places.divisor + place < shape.line;
    return {line.quotient, line.remainder, static_cast<int>(part.quotient), static_cast<int>(lane.quotient), place,
            exists && static_cast<int>(lane.quotient) < shape.lanes};
}

// Loads on their way at once: sixteen sums leave registers for four, where two blocks share an SM.
template <class T, int V>
constexpr int place_loads = sizeof(T) == 1 && V == 16 ? 4 : 8;

// Terms `first`, first + lanes x parts ... before `stop`, of which term 0 is at `place`.
template <int Loads, class T, int V, class S>
GPUBENCH_DEVICE void sum_terms(PlaceSums<T, V>& sums, const T* place, uint32 first, uint32 stop, const S& source,
                               const PlacesShape& shape) {
    const uint32 turn = shape.lanes * shape.parts;
    if (first >= stop) return;
    uint32 count = (stop - first + turn - 1) / turn;
    uint32 inner = first;
    const uint32 turn_outer = shape.terms > shape.inner ? turn / shape.inner : 0, turn_inner = turn - turn_outer * shape.inner;
    if (shape.terms > shape.inner) {
        const uint32 outer = first / shape.inner;
        inner = first - outer * shape.inner;
        place += outer * shape.other_step;
    }
    place += inner * shape.step;
    const int64 moved = turn_inner * shape.step + turn_outer * shape.other_step;
    const int64 carried = shape.other_step - shape.inner * shape.step;
    Packed<T, V> raw[Loads];
    while (count > 0) {
        GPUBENCH_UNROLL
        for (uint32 k = 0; k < Loads; ++k) {
            raw[k] = source.template load<V>(place, k < count);
            place += moved;
            inner += turn_inner;
            if (inner >= shape.inner) {
                inner -= shape.inner;
                place += carried;
            }
        }
        sums.take(raw);
        count -= count < Loads ? count : Loads;
    }
}

// Items between the vector boundary and the first item of the slice in the term that a lane takes first: in all that it takes.
template <class T, int V>
GPUBENCH_DEVICE int ragged_before(const T* line, const Slice& slice, int lane, const PlacesShape& shape) {
    const T* const first = line + int64{slice.number} * shape.outputs + (lane + slice.part * shape.lanes) * shape.step;
    return items_before<V>(first);
}

// The sums of the thread's own place over the block's part of the terms, in each form.
template <class T, int V, class S>
GPUBENCH_DEVICE void sum_ragged(PlaceSums<T, V>& sums, const T* line, const Slice& slice, const S& source, const PlacesShape& shape) {
    const int shift = ragged_before<T, V>(line, slice, slice.lane, shape);
    const T* const place = line + int64{slice.number} * shape.outputs - shift + slice.place * V;
    const uint32 columns = shape.line_outputs - slice.number * shape.outputs;
    if (slice.place * V - shift >= static_cast<int>(columns < shape.outputs ? columns : shape.outputs)) return;
    const uint32 first = slice.lane + slice.part * shape.lanes, turn = shape.lanes * shape.parts;
    if (first >= shape.terms) return;
    const uint32 last = first + (shape.terms - 1 - first) / turn * turn;  // only there may the vector reach beyond x
    const bool beyond = source.template beyond<V>(place + last * shape.step);
    sum_terms<8>(sums, place, first, beyond ? last : shape.terms, source, shape);
    if (beyond) {
        const Packed<T, V> raw[1] = {source.template load_last<V>(place + last * shape.step)};
        sums.take(raw);
    }
}
template <class T, int V, class S>
GPUBENCH_DEVICE void sum_flat(PlaceSums<T, V>& sums, const T* line, const Slice& slice, const S& source, const PlacesShape& shape) {
    const int before = items_before<V>(line), span = static_cast<int>(shape.places.divisor) * V, mine = slice.place * V;
    const T* const place = line - before + mine;
    const uint32 first = before > 0, stop = shape.terms + (shape.rest + before >= span);
    sum_terms<place_loads<T, V>>(sums, place, first + slice.lane + slice.part * shape.lanes, stop, source, shape);
    if (slice.lane != 0) return;
    const int rest = (shape.rest + before) % span;
    Packed<T, V> raw[1];
    if (slice.part == 0 && before > 0 && stop > 0 && mine < span) {
        raw[0] = keep_items(source.template load_any<V>(place), before - mine, V);
        sums.take(raw);
    }
    if (slice.part == shape.parts - 1 && mine < rest) {
        const int from = stop == 0 ? before - mine : 0;
        raw[0] = keep_items(source.template load_any<V>(place + stop * shape.step), from, rest - mine);
        sums.take(raw);
    }
}
template <Form F, class T, int V, class S>
GPUBENCH_DEVICE void sum_place(PlaceSums<T, V>& sums, const T* line, const Slice& slice, const S& source, const PlacesShape& shape) {
    if constexpr (F == Form::ragged) {
        sum_ragged(sums, line, slice, source, shape);
    } else if constexpr (F == Form::flat) {
        sum_flat(sums, line, slice, source, shape);
    } else {
        const int64 place = (int64{slice.number} * shape.places.divisor + slice.place) * V;
        sum_terms<place_loads<T, V>>(sums, line + (V == 1 ? place * shape.apart : place), slice.lane + slice.part * shape.lanes, shape.terms, source, shape);
    }
}

// The sum of every width-th of the places that belong to an output of the slice.
template <Form F, class T, int V>
GPUBENCH_DEVICE accumulator_t<T> fold_places(const part_t<T>* cells, uint32 output, int before, const PlacesShape& shape) {
    using A = accumulator_t<T>;
    const uint32 together = shape.together.divisor, neighbours = shape.neighbours.divisor, span = shape.places.divisor * V;
    const uint32 width = 1u << shape.width_bits, lane = thread_index_x() & (width - 1);
    A sum{};
    if (F == Form::whole && together == 1) {  // no division: a fold of little takes a block as long as its loads
        const uint32 stop = shape.lanes * span;
        for (uint32 at = lane * span + output; at < stop; at += width * span) sum = add(sum, convert<A>(cells[at]));
        return sum;
    }
    uint32 base = output;
    if (F == Form::whole) {
        const auto at = shape.neighbours.divide(output);
        base = at.quotient * (together * neighbours) + at.remainder;
    }
    const uint32 all = shape.lanes * together;
    for (uint32 i = lane; i < all; i += width) {
        const auto cell = shape.together.divide(i);
        uint32 at = base + cell.remainder * neighbours + before;
        if (F == Form::ragged) at = base + ((before + cell.quotient * static_cast<uint32>(shape.step)) & (V - 1));
        else if (at >= span) at -= span;
        sum = add(sum, convert<A>(cells[cell.quotient * span + at]));
    }
    return sum;
}

template <class T, class Out, int V, Form F>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(512, F == Form::ragged ? 1 : 2) places(const T* x, Out* y, void* words, const PlacesShape shape) {
    using A = accumulator_t<T>;
    GPUBENCH_DYNAMIC_SHARED(part_t<T>, cells);
    const Slice slice = slice_of_block<F>(shape);
    const auto offsets = offsets_of(shape.sum.kept, slice.line);
    const T* const line = x + offsets.x;
    const int64 number = int64{slice.line} * shape.slices.divisor + slice.number;
    char* const others = static_cast<char*>(words) + number * shape.parts * shape.outputs * Published<A>::bytes;
    if (shape.parts > 1 && slice.part == shape.parts - 1) {
        ask_for(others, int64{shape.parts - 1} * shape.outputs * Published<A>::bytes, thread_index_x(), block_size_x());
    }
    PlaceSums<T, V> sums;
    sums.clear();
    if (slice.active) {
        if (shape.sum.first_out != 0) sum_place<F>(sums, line, slice, Source<T, true>{x + shape.sum.extent}, shape);
        else sum_place<F>(sums, line, slice, Source<T, false>{x + shape.sum.extent}, shape);
    }
    meet(cells + (slice.lane * static_cast<int>(shape.places.divisor) + slice.place) * V, sums.sums, slice.active);
    const int before = F == Form::flat ? items_before<V>(line) : F == Form::ragged ? ragged_before<T, V>(line, slice, 0, shape) : 0;
    const uint32 launch = shape.parts > 1 ? grid_number() : 0;
    const int width = 1 << shape.width_bits, lane = thread_index_x() & (width - 1);
    for (uint32 base = 0; base < shape.outputs; base += block_size_x() >> shape.width_bits) {
        const uint32 output = base + (thread_index_x() >> shape.width_bits), of_line = slice.number * shape.outputs + output;
        const bool exists = output < shape.outputs && of_line < shape.line_outputs;
        A sum{};
        if (exists) sum = fold_places<F, T, V>(cells, output, before, shape);
        sum = warp_reduce(sum, Add{}, width);
        if (slice.part < shape.parts - 1) {
            if (exists && lane == 0) publish(published_at<A>(others, int64{slice.part} * shape.outputs + output), launch, sum);
            continue;
        }
        if (shape.parts > 1) {
            A more{};
            if (exists) {
                more = collect<A>(published_at<A>(others, output), launch, int64{shape.outputs} * Published<A>::bytes, lane, width,
                                  shape.parts - 1);
            }
            warp_barrier();  // lanes that had to wait longer rejoin the others
            sum = add(warp_reduce(more, Add{}, width), sum);
        }
        if (exists && lane == 0) {
            const auto at = shape.neighbours.divide(of_line);
            store_sum(y + offsets.y + at.quotient * shape.group_step + at.remainder * shape.neighbour_step, shape.sum.finish, sum);
        }
    }
}

}  // namespace gpubench::sum
