// sum, variant `rows`: a block, or several, for each output, whose terms are one run of neighbours or several.
//
// Data: the runs of an output, cut into vectors, are one list, and its threads take every n-th vector of it, so that all
// blocks of an output read side by side. Eight loads of a thread are on their way at once. Threads sum by a tree over those
// loads, then over their turns; warps by shuffles, the block through shared memory, blocks by words (exchange.cuh).
// rows_run: an output's only run, of which every vector between a head and a tail is loaded without a look at its ends. What one
// block, or one warp, holds has no code for more.
#include "reduce_sum/exchange.cuh"

namespace gpubench::sum {

struct RowsShape {
    Sum sum;
    IntegerDivider parts;     // blocks an output: block = output * parts + part
    int64 items;              // of a run
    int64 step, other_step;   // elements between runs, and between rounds of `inner` runs
    uint32 vectors, inner;    // of a run; runs of a round
    uint32 all;               // vectors of an output
    uint32 turn, turn_vectors, turn_inner, turn_outer;  // vectors from one that a thread takes to the next, as a whole and by digits
};
GPUBENCH_LAYOUT(RowsShape, 184, turn_outer, 176);

// How the runs of an output lie: on the vectors' grid, or at any alignment.
enum class Runs { whole, ragged };

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

// What a block and a thread are of an output's.
struct Share {
    uint32 output;
    int part, parts;
    uint32 thread, threads;
};
GPUBENCH_DEVICE Share share_of(uint32 output, int part, int parts) {
    return {output, part, parts, part * block_size_x() + thread_index_x(), parts * block_size_x()};
}
GPUBENCH_DEVICE Share share_of(const IntegerDivider& parts) {
    const auto place = parts.divide(block_index_x());
    return share_of(place.quotient, static_cast<int>(place.remainder), static_cast<int>(parts.divisor));
}

// The words of an output's blocks; the one that will collect them asks for them.
template <class A>
GPUBENCH_DEVICE char* words_of(void* words, const Share& share) {
    char* const own = static_cast<char*>(words) + int64{share.output} * share.parts * Published<A>::bytes;
    if (share.part < share.parts - 1 || share.parts == 1) return own;
    ask_for(own, int64{share.parts - 1} * Published<A>::bytes, thread_index_x(), block_size_x());
    return own;
}

// The sum of what an output's threads have, stored by the last of its blocks; the others publish theirs.
template <class A, class P, class Out, class F>
GPUBENCH_DEVICE void join(P own, Out* y, const F& finish, char* words, const Share& share) {
    A sum = A(block_reduce_first<16>(own, P{}, Add{}));  // launch bounds: 512 threads
    if (share.parts > 1) {
        const uint32 launch = grid_number();
        if (share.part < share.parts - 1) {
            if (thread_index_x() == 0) publish(published_at<A>(words, share.part), launch, sum);
            return;
        }
        if (thread_index_x() < warp_size) {
            const A others = collect<A>(words, launch, Published<A>::bytes, lane_index(), warp_size, share.parts - 1);
            warp_barrier();  // lanes that had to wait longer rejoin the others
            sum = add(warp_reduce(others, Add{}), sum);
        }
    }
    store_sum_by_block(y, finish, sum);
}

template <class T, class Out, Runs R>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(R == Runs::ragged ? 256 : 512, R == Runs::ragged ? 3 : 2)
    rows(const T* x, Out* y, void* words, const RowsShape shape) {
    using A = accumulator_t<T>;
    const Share share = share_of(shape.parts);
    const auto offsets = offsets_of(shape.sum.kept, share.output);
    char* const mine = words_of<A>(words, share);
    TotalSum<T> terms;
    terms.clear();
    if (shape.sum.first_out != 0) sum_runs<R>(terms, x + offsets.x, Source<T, true>{x + shape.sum.extent}, shape, share.thread);
    else sum_runs<R>(terms, x + offsets.x, Source<T, false>{x + shape.sum.extent}, shape, share.thread);
    join<A>(terms.total(), y + offsets.y, shape.sum.finish, mine, share);
}

// An output's only run. C says who has an output, and where outputs lie: one of several blocks (Everything) or of one of so many
// warps (OneBlock); of little a block each (Plain) or a warp each (Warps); several blocks each (Sum).
struct Ends {
    uint32 head, vectors;  // elements before a run's first vector, and vectors
};
struct Everything {
    Ends ends;
};
template <int Count>
struct OneBlock {
    Ends ends;
};
struct Warps {
    Outputs<uint32> kept;
    uint32 outputs;
};
template <class C>
struct RunShape {
    using Items = conditional_t<is_same<C, gpubench::sum::Sum>, int64, uint32>;
    Items items;           // of a run
    IntegerDivider parts;  // Sum: blocks an output
    C sum;
};
GPUBENCH_LAYOUT(Ends, 8, vectors, 4);
GPUBENCH_LAYOUT(Everything, 8, ends, 0);
GPUBENCH_LAYOUT(OneBlock<1>, 8, ends, 0);
GPUBENCH_LAYOUT(Warps, 52, outputs, 48);
GPUBENCH_LAYOUT(RunShape<Everything>, 24, sum, 16);
GPUBENCH_LAYOUT(RunShape<OneBlock<1>>, 24, sum, 16);
GPUBENCH_LAYOUT(RunShape<Warps>, 68, sum, 16);
GPUBENCH_LAYOUT(RunShape<Plain>, 68, sum, 16);
GPUBENCH_LAYOUT(RunShape<gpubench::sum::Sum>, 136, sum, 24);

// Warps that have an output by themselves, where the compiler knows.
template <class C>
constexpr int warps_of = 0;
template <>
constexpr int warps_of<Warps> = 1;
template <int Count>
constexpr int warps_of<OneBlock<Count>> = Count;
template <class C>
constexpr bool is_alone = is_same<C, Everything> || (warps_of<C> > 0 && !is_same<C, Warps>);  // the only output
template <class C>
constexpr int most_threads = warps_of<C> > 1 ? warps_of<C> * warp_size : 512;

GPUBENCH_DEVICE Share share_of(const RunShape<Everything>&) { return share_of(0, block_index_x(), grid_size_x()); }
template <int Count>
GPUBENCH_DEVICE Share share_of(const RunShape<OneBlock<Count>>&) { return {0, 0, 1, static_cast<uint32>(thread_index_x()), Count * warp_size}; }
GPUBENCH_DEVICE Share share_of(const RunShape<Plain>&) { return share_of(static_cast<uint32>(block_index_x()), 0, 1); }
GPUBENCH_DEVICE Share share_of(const RunShape<Sum>& shape) { return share_of(shape.parts); }
GPUBENCH_DEVICE Share share_of(const RunShape<Warps>&) {
    const uint32 number = static_cast<uint32>(block_index_x()) * block_size_x() + thread_index_x();
    return {number / warp_size, 0, 1, number % warp_size, warp_size};
}
template <int Dims, class C>
GPUBENCH_DEVICE auto offsets_of(const C& common, uint32 output) {
    if constexpr (is_alone<C>) return Offsets<uint32>{0, 0};
    else return offsets_of<Dims>(common.kept, output);
}
template <class C>
GPUBENCH_DEVICE auto finish_of(const C&) { return Once{}; }
template <class T, class C, class Items>
GPUBENCH_DEVICE Ends ends_of(const C& common, const T* run, Items items) {
    constexpr int V = vector_terms<T>;
    if constexpr (is_alone<C>) {
        return common.ends;
    } else {
        const uint32 first = (V - items_before<V>(run)) % V, head = first < items ? first : static_cast<uint32>(items);
        return {head, static_cast<uint32>((items - head) / V)};
    }
}

// Up to `Loads` vectors a thread, of which `Sure` exist: neighbouring threads of all blocks take neighbours.
template <int Sure, int Loads, class T, class S>
GPUBENCH_DEVICE void load_once(Packed<T, vector_terms<T>> (&raw)[Loads], const T* run, const S& source, const Share& share, const Ends& ends) {
    constexpr int V = vector_terms<T>;
    const uint32 threads = share.threads, thread = share.thread;
    const T* const place = run + (ends.head + thread * V);
    GPUBENCH_UNROLL
    for (uint32 k = 0; k < Loads; ++k) raw[k] = source.template load<V>(place + k * threads * V, k < Sure || k * threads + thread < ends.vectors);
}

// Turns of eight vectors a lane, a warp's side by side, so that one address serves them all; then what is left, shared by all threads.
template <class T, class S>
GPUBENCH_DEVICE accumulator_t<T> sum_turns(const T* first, const S& source, const Share& share, uint32 vectors) {
    constexpr int V = vector_terms<T>, loads = 8;
    const uint32 turn = share.threads * loads;
    const T* place = first + uint64{share.thread - lane_index()} * (loads * V) + lane_index() * V;
    Packed<T, V> raw[loads];
    TotalSum<T> sum;
    sum.clear();
    GPUBENCH_NO_UNROLL
    for (; vectors >= turn; vectors -= turn) {
        GPUBENCH_UNROLL
        for (int k = 0; k < loads; ++k) raw[k] = source.template load<V>(place + k * (warp_size * V), true);
        sum.take(raw);
        place += uint64{turn} * V;
        first += uint64{turn} * V;
    }
    if (vectors > 0) {
        load_once<0>(raw, first, source, share, {0, vectors});
        sum.take(raw);
    }
    return sum.total();
}

// Loads 0: by turns; otherwise all of an output is on its way at once, of each thread at least half as many. Dims: kept ones, at
// most.
template <class T, class Out, class C, int Dims, int Loads, bool FirstOut>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(most_threads<C>, (most_threads<C> > 512 ? 1 : 2))
    rows_run(const T* x, Out* y, void* words, const RunShape<C> shape) {
    using A = accumulator_t<T>;
    using P = conditional_t<Loads == 0, A, part_t<T>>;
    constexpr int V = vector_terms<T>;
    const Source<T, FirstOut> source{nullptr};
    const Share share = share_of(shape);
    const auto offsets = offsets_of<Dims>(shape.sum, share.output);
    const T* const run = x + offsets.x;
    if constexpr (is_same<C, Warps>) {
        if (share.output >= shape.sum.outputs) return;
    }
    const auto items = shape.items;
    const Ends ends = ends_of(shape.sum, run, items);
    Packed<T, V> raw[Loads == 0 ? 1 : Loads];
    if constexpr (Loads > 0) load_once<Loads / 2>(raw, run, source, share, ends);
    const auto item = share.thread < ends.head ? share.thread : share.thread + static_cast<decltype(shape.items)>(ends.vectors) * V;
    const Packed<T, 1> edge = source.template load<1>(run + item, V > 1 && item < items);  // of the items before and behind the vectors
    char* const mine = words_of<A>(words, share);
    P own;
    if constexpr (Loads == 0) own = sum_turns(run + ends.head, source, share, ends.vectors);
    else own = sum_vectors(raw);
    own = add(own, unpack_items<1, P>(edge)[0]);
    if constexpr (warps_of<C> > 0) {
        const A sum = A(block_reduce_first<warps_of<C>>(own, Add{}));
        if (share.thread == 0) store_sum(y + offsets.y, Once{}, sum);
    } else {
        join<A>(own, y + offsets.y, finish_of(shape.sum), mine, share);
    }
}

}  // namespace gpubench::sum
