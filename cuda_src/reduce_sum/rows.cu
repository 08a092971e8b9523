// sum, variant `rows`: a block, or several, for each output, whose terms are one run of neighbours or several.
//
// Data: the runs of an output, cut into vectors, are one list, and its threads take every n-th vector of it, so that all
// blocks of an output read side by side. Eight loads of a thread are on their way at once. Threads sum by a tree over those
// loads, then over their turns; warps by shuffles, the block through shared memory, blocks by words (exchange.cuh).
#include "reduce_sum/exchange.cuh"

namespace gpubench::sum {

struct RowsShape {
    Sum sum;
    IntegerDivider parts;     // blocks an output: block = output * parts + part
    int64 items;              // of a run
    int64 step, other_step;   // elements between runs, and between rounds of `inner` runs
    uint32 vectors, inner;    // of a run; runs of a round
    uint32 all;               // vectors of an output
    uint32 turn, turn_vectors, turn_inner, turn_outer;  // vectors from one that a thread takes to the next, as a whole and by digits; of
                                                        // one run the second is the vectors that a lane takes at once
};
GPUBENCH_LAYOUT(RowsShape, 192, turn_outer, 184);

// How the terms of an output lie: as one run at any alignment, as runs that stand on the vectors' grid, as runs at any alignment.
enum class Runs { one, whole, ragged };

// Of a thread's list of vectors, the digits of the next one's number, and where it is: its own address (whole), or that of
// its run (ragged).
template <class T, Runs R>
struct Place {
    static constexpr int V = vector_terms<T>;
    const T* at;
    uint32 vector, inner;

    GPUBENCH_DEVICE void start(const T* x, const RowsShape& shape, uint32 number) {
        const uint32 index = number / shape.vectors, outer = index / shape.inner;
        vector = number - index * shape.vectors;
        inner = index - outer * shape.inner;
        at = x + inner * shape.step + outer * shape.other_step;
        if constexpr (R == Runs::whole) at += int64{vector} * V;
    }
    GPUBENCH_DEVICE void move(const RowsShape& shape) {
        constexpr int width = R == Runs::whole ? V : 0;
        vector += shape.turn_vectors;
        inner += shape.turn_inner;
        at += shape.turn_inner * shape.step + shape.turn_outer * shape.other_step + shape.turn_vectors * width;
        if (vector >= shape.vectors) {
            vector -= shape.vectors;
            inner += 1;
            at += shape.step - int64{shape.vectors} * width;
        }
        if (inner >= shape.inner) {
            inner -= shape.inner;
            at += shape.other_step - shape.inner * shape.step;
        }
    }
};

// The next K vectors, of which `count` exist.
template <int K, class T, class S>
GPUBENCH_DEVICE void load_places(Packed<T, vector_terms<T>> (&raw)[K], const S& source, Place<T, Runs::whole>& place,
                                 const RowsShape& shape, uint32 count) {
    GPUBENCH_UNROLL
    for (uint32 k = 0; k < K; ++k) {
        raw[k] = source.template load<vector_terms<T>>(place.at, k < count);
        place.move(shape);
    }
}
template <int K, class T, class S>
GPUBENCH_DEVICE void load_places(Packed<T, vector_terms<T>> (&raw)[K], const S& source, Place<T, Runs::ragged>& place,
                                 const RowsShape& shape, uint32 count) {
    constexpr int V = vector_terms<T>;
    int slots[K];
    const T* last = nullptr;  // the vector that reaches beyond x: one of a thread at most
    int last_number = K;
    GPUBENCH_UNROLL
    for (uint32 k = 0; k < K; ++k) {
        slots[k] = static_cast<int>(place.vector) * V - items_before<V>(place.at);
        const bool exists = k < count && slots[k] < shape.items, beyond = exists && source.template beyond<V>(place.at + slots[k]);
        raw[k] = source.template load<V>(place.at + slots[k], exists && !beyond);
        if (beyond) {
            last = place.at + slots[k];
            last_number = k;
        }
        place.move(shape);
    }
    GPUBENCH_UNROLL
    for (int k = 0; k < K; ++k) {
        if (k == last_number) raw[k] = source.template load_last<V>(last);
        if (slots[k] < 0 || slots[k] + V > shape.items) raw[k] = keep_items(raw[k], -slots[k], static_cast<int>(shape.items) - slots[k]);
    }
}

// The terms of one run. A warp takes chunks of up to eight vectors a lane, side by side, so that one address serves them all; the
// vectors that the run's ends cut come last.
template <class T, class S>
GPUBENCH_DEVICE void sum_run(TotalSum<T>& sum, const T* run, const S& source, const RowsShape& shape, uint32 part) {
    constexpr int V = vector_terms<T>, loads = 8;
    const int before = items_before<V>(run);
    const uint32 first = before > 0, stop = static_cast<uint32>((before + shape.items) / V);
    const T* const base = run - before;
    const uint32 warps = block_size_x() / warp_size, warp = part * warps + thread_index_x() / warp_size;
    const uint32 width = shape.turn_vectors * warp_size, turn = warps * shape.parts.divisor * width;
    Packed<T, V> raw[loads];
    for (uint32 next = first + warp * width; next < stop; next += turn) {
        const T* const place = base + (uint64{next} + lane_index()) * V;
        const uint32 left = stop - next < width ? stop - next : width;
        if (left == loads * warp_size) {
            GPUBENCH_UNROLL
            for (int k = 0; k < loads; ++k) raw[k] = source.template load<V>(place + k * (warp_size * V), true);
        } else {
            GPUBENCH_UNROLL
            for (uint32 k = 0; k < loads; ++k) {
                raw[k] = source.template load<V>(place + k * (warp_size * V), k * warp_size + lane_index() < left);
            }
        }
        sum.take(raw);
    }
    const uint32 number = part * block_size_x() + thread_index_x();
    Packed<T, V> edge[1];
    if (number == 0 && before > 0) {
        edge[0] = keep_items(source.template load_any<V>(base), before, before + shape.items < V ? static_cast<int>(before + shape.items) : V);
        sum.take(edge);
    }
    if (number == shape.turn - 1 && stop >= first && (before + shape.items) % V > 0) {
        edge[0] = keep_items(source.template load_any<V>(base + int64{stop} * V), 0, static_cast<int>((before + shape.items) % V));
        sum.take(edge);
    }
}

template <Runs R, class T, class S>
GPUBENCH_DEVICE void sum_runs(TotalSum<T>& sum, const T* x, const S& source, const RowsShape& shape, uint32 number) {
    constexpr int loads = R == Runs::whole ? 8 : 4;
    Place<T, R> place;
    place.start(x, shape, number);
    Packed<T, vector_terms<T>> raw[loads];
    for (uint32 count = number < shape.all ? (shape.all - number + shape.turn - 1) / shape.turn : 0; count > 0;) {
        load_places(raw, source, place, shape, count);
        sum.take(raw);
        count -= count < loads ? count : loads;
    }
}

template <Runs R, class T, class S>
GPUBENCH_DEVICE void sum_terms(TotalSum<T>& sum, const T* x, const S& source, const RowsShape& shape, uint32 part) {
    if constexpr (R == Runs::one) sum_run(sum, x, source, shape, part);
    else sum_runs<R>(sum, x, source, shape, part * block_size_x() + thread_index_x());
}

// The sum of all parts, for the block of the last one; false for the others, which publish theirs.
template <class A>
GPUBENCH_DEVICE bool join_parts(A& sum, char* words, int part, int parts) {
    const uint32 launch = grid_number();
    if (part < parts - 1) {
        if (thread_index_x() == 0) publish(published_at<A>(words, part), launch, sum);
        return false;
    }
    if (thread_index_x() < warp_size) {
        const A others = collect<A>(words, launch, Published<A>::bytes, lane_index(), warp_size, parts - 1);
        warp_barrier();  // lanes that had to wait longer rejoin the others
        sum = add(warp_reduce(others, Add{}), sum);
    }
    return true;
}

template <class T, class Out, Runs R>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(R == Runs::ragged ? 256 : 512, R == Runs::ragged ? 3 : 2)
    rows(const T* x, Out* y, void* words, const RowsShape shape) {
    using A = accumulator_t<T>;
    const auto place = shape.parts.divide(block_index_x());
    const int part = static_cast<int>(place.remainder), parts = static_cast<int>(shape.parts.divisor);
    const Offsets offsets = offsets_of(shape.sum.kept, place.quotient);
    char* const mine = static_cast<char*>(words) + int64{place.quotient} * parts * Published<A>::bytes;
    if (parts > 1 && part == parts - 1) ask_for(mine, int64{parts - 1} * Published<A>::bytes, thread_index_x(), block_size_x());
    TotalSum<T> terms;
    terms.clear();
    if (shape.sum.first_out != 0) sum_terms<R>(terms, x + offsets.x, Source<T, true>{x + shape.sum.extent}, shape, place.remainder);
    else sum_terms<R>(terms, x + offsets.x, Source<T, false>{x + shape.sum.extent}, shape, place.remainder);
    A sum = block_reduce_first(terms.total(), A{}, Add{});
    if (parts > 1 && !join_parts(sum, mine, part, parts)) return;
    store_sum_by_block(y + offsets.y, shape.sum.finish, sum);
}

// An output whose only run a block's threads have on its way at once: as little code and as few parameters as do.
struct HeldShape {
    uint32 items;  // of a run
    Plain sum;
};
GPUBENCH_LAYOUT(HeldShape, 56, sum, 4);

template <class T, class Out, int Loads>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(512, 2) rows_held(const T* x, Out* y, const HeldShape shape) {
    constexpr int V = vector_terms<T>;
    const uint32 threads = block_size_x(), thread = thread_index_x();
    const auto offsets = offsets_of(shape.sum, block_index_x());
    const T* const run = x + offsets.x;
    const uint32 to_grid = (V - items_before<V>(run)) % V, head = to_grid < shape.items ? to_grid : shape.items;
    const uint32 vectors = (shape.items - head) / V;
    Packed<T, V> raw[Loads];
    const T* const place = run + head + thread * V;
    GPUBENCH_UNROLL
    for (uint32 k = 0; k < Loads; ++k) {
        raw[k] = Source<T, false>{nullptr}.template load<V>(place + k * threads * V, k * threads + thread < vectors);
    }
    T edge{};  // of the items before and behind the vectors
    const uint32 item = thread < head ? thread : thread + vectors * V;
    if (V > 1 && item < shape.items) edge = run[item];
    part_t<T> sum = add(sum_vectors(raw), convert<part_t<T>>(edge));
    sum = block_reduce_first(sum, part_t<T>{}, Add{});
    if (thread == 0) store_sum(y + offsets.y, Once{}, accumulator_t<T>(sum));
}

// Everything, of little: the threads of all blocks have x on its way at once. x's first vector is known, so that a thread's first
// address is a product and a sum.
struct AllShape {
    uint32 items, head, vectors;  // elements; those before the first vector; vectors
};
GPUBENCH_LAYOUT(AllShape, 12, vectors, 8);

template <class T, class Out, int Loads>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(512, 2) rows_all(const T* x, Out* y, void* words, const AllShape shape) {
    using A = accumulator_t<T>;
    constexpr int V = vector_terms<T>;
    const int parts = grid_size_x(), part = block_index_x();
    const uint32 threads = parts * block_size_x(), thread = part * block_size_x() + thread_index_x();
    Packed<T, V> raw[Loads];
    const T* const place = x + shape.head + thread * V;
    GPUBENCH_UNROLL
    for (uint32 k = 0; k < Loads; ++k) {
        raw[k] = Source<T, false>{nullptr}.template load<V>(place + k * threads * V, k * threads + thread < shape.vectors);
    }
    T edge{};  // of the items before and behind the vectors
    const uint32 item = thread < shape.head ? thread : thread + shape.vectors * V;
    if (V > 1 && item < shape.items) edge = x[item];
    char* const mine = static_cast<char*>(words);
    if (parts > 1 && part == parts - 1) ask_for(mine, int64{parts - 1} * Published<A>::bytes, thread_index_x(), block_size_x());
    const part_t<T> own = add(sum_vectors(raw), convert<part_t<T>>(edge));
    A sum = A(block_reduce_first(own, part_t<T>{}, Add{}));
    if (parts > 1 && !join_parts(sum, mine, part, parts)) return;
    if (thread_index_x() == 0) store_sum(y, Once{}, sum);
}

}  // namespace gpubench::sum
