// Each place of each position is one thread's, whatever the operands' strides: what `combined` does with few indices, and with
// layouts whose dims do not merge.
//
// Data: positions are the elements beside the indexed dim, in the order of the destination's memory, or the source's. A block sorts the
// list in shared memory (a long one is taken in pieces: sorted before, or each by the blocks that have it, whose sums all go by atomics),
// then walks tiles of positions. The threads of a position have neighbouring windows of the sorted pairs; a thread adds up the runs of one
// place in registers, and writes the place once. A run over several windows is joined through shared memory, in order; one over several
// pieces by atomics. Where the source is dense along the indexed dim, a tile of it comes to shared memory first, side by side. Where the
// operands are dense along different dims beside it, a tile is a rectangle of both, so that the L1 cache has the rest of each sector.
// Where neighbouring positions lie side by side in the source, a thread has a vector of them, for which its pairs are read once.
// Neighbouring threads have neighbouring positions, or, where the destination is dense along the indexed dim, neighbouring windows.
#pragma once

#include "gpubench/atomics.cuh"
#include "gpubench/block/pair_sort.cuh"
#include "gpubench/block/together.cuh"
#include "gpubench/grid.cuh"
#include "gpubench/movement/row_vectors.cuh"
#include "gpubench/pairs.cuh"
#include "index_add/owned_tile.cuh"
#include "index_add/sums.cuh"

namespace gpubench::index_add {

// What one thread has of a tile: a position, or V of them, and a window of the pairs. Pieces: what others may add to too: the rows at the
// piece's ends, or, where blocks sort their pieces, any.
enum class Pieces { one, sorted, own };
// Pairs whose elements are on their way to a thread: as many as its registers hold, besides the code of atomics where it has that.
template <class T, Pieces pieces, int V>
constexpr int pairs_at_once = V > 1                      ? 4
                              : pieces == Pieces::sorted ? (sizeof(T) > 8 ? 2 : 4)
                                                         : (sizeof(T) > 8 ? 4 : sizeof(T) > 4 ? 5 : sizeof(T) == 4 ? 8 : 6);
constexpr uint32 pairs_behind = 9;  // the list's last that are read, and one to see where the last row ends

// A thread's sums of its positions.
template <class T, int V>
using owned_sum_t = conditional_t<V == 1, sum_t<T>, Vector<sum_t<T>, V>>;

// A pair in order, as its halves: where the element stands, from the position's, and its row. Of a word of 64 bits the compiler works
// addresses out in 64, by six instructions for one.
struct alignas(8) Listed {
    uint32 at, row;

    GPUBENCH_DEVICE bool exists() const { return row != row_of(no_pair); }
};

template <class T, Pieces pieces, int V, bool Beside>
struct Window {
    using A = owned_sum_t<T, V>;
    using Items = conditional_t<V == 1, T, Packed<T, V>>;
    T* destination;
    const T* source;  // of the position, in shared memory where `pitch` is not 0; none: there is no such position
    const Listed* list;
    uint32 first, last, count;
    uint32 before, behind;  // rows that other blocks add to
    const OwnedShape& shape;
    A sum, head;
    bool from_before;

    // Whether what the destination has is asked for with the pairs: else it costs too many registers, and atomics want no answer.
    static constexpr bool asks = pieces != Pieces::own && (V == 1 || V * sizeof(T) <= 8);

    GPUBENCH_DEVICE T* place(uint32 row) const { return destination + row * shape.place_step; }
    GPUBENCH_DEVICE T* place(uint32 row, int j) const { return place(row) + j * (Beside ? 1 : shape.to_item); }
    // The position's, if it exists: loads of a thread are under way together.
    template <bool Near>
    GPUBENCH_DEVICE Items item(uint32 at, bool exists) const {
        if constexpr (Near) return exists ? source[at] : T{};
        else return bit_cast<Items>(vector_if<V>(source + at, exists));
    }
    GPUBENCH_DEVICE void add_item(const Items& raw, alpha_t<T> alpha) {
        if constexpr (V == 1) sum = add_scaled<T>(sum, convert<A>(raw), alpha);
        else add_scaled<T>(sum, raw, alpha);
    }
    // What the destination has of a row.
    GPUBENCH_DEVICE Packed<T, V> now(uint32 row, bool exists = true) const {
        if constexpr (Beside) {
            return row_vector<V>(place(row), exists);
        } else {
            Vector<T, V> items;
            GPUBENCH_UNROLL
            for (int j = 0; j < V; ++j) items[j] = load_if(place(row, j), exists);
            return bit_cast<Packed<T, V>>(items);
        }
    }
    GPUBENCH_DEVICE void send(uint32 row, const A& total) const {
        if constexpr (V == 1) {
            atomic_add(place(row), convert<T>(total));
        } else {
            GPUBENCH_UNROLL
            for (int j = 0; j < V; ++j) atomic_add(place(row, j), convert<T>(total[j]));
        }
    }
    GPUBENCH_DEVICE void finish(uint32 row, const Packed<T, V>& old, const A& total) const {
        if (!asks || (pieces == Pieces::sorted && (row == before || row == behind))) return send(row, total);
        if constexpr (V == 1) {
            *place(row) = convert<T>(add(convert<A>(bit_cast<T>(old)), total));
        } else if constexpr (Beside) {
            store_packed(place(row), added(old, total));
        } else {
            const auto items = bit_cast<Vector<T, V>>(added(old, total));
            GPUBENCH_UNROLL
            for (int j = 0; j < V; ++j) *place(row, j) = items[j];
        }
    }
    GPUBENCH_DEVICE bool goes_on(uint32 end) const {
        return end > 0 && list[end - 1].exists() && list[end - 1].row == list[end].row;
    }

    // Near: whether the position stands in shared memory. A turn's pairs are read first, then all loads that they ask for are on their
    // way before the first is looked at: behind a branch each would wait for the pair of its own.
    template <bool Near, bool Whole>
    GPUBENCH_DEVICE void turn(uint32 base, alpha_t<T> alpha) {
        constexpr int U = pairs_at_once<T, pieces, V>;
        static_assert(U < pairs_behind);
        const Listed* const mine = list + base;
        Items raw[U];
        const auto exists = [&](int u) { return Whole || base + u < last; };
        uint32 places[U];
        GPUBENCH_UNROLL
        for (int u = 0; u < U; ++u) places[u] = mine[u].at;
        GPUBENCH_UNROLL
        for (int u = 0; u < U; ++u) raw[u] = item<Near>(places[u], exists(u));
        if (Whole && mine[0].row == mine[U].row) {
            GPUBENCH_UNROLL
            for (int u = 0; u < U; ++u) add_item(raw[u], alpha);
            return;
        }
        uint32 rows[U + 1];  // and of the one behind
        GPUBENCH_UNROLL
        for (int u = 0; u <= U; ++u) rows[u] = mine[u].row;
        const auto ends = [&](int u) { return exists(u) && rows[u + 1] != rows[u]; };
        Packed<T, V> old[U];
        if constexpr (asks) {
            GPUBENCH_UNROLL
            for (int u = 0; u < U; ++u) old[u] = now(rows[u], ends(u));
        }
        GPUBENCH_UNROLL
        for (int u = 0; u < U; ++u) {
            if (exists(u)) add_item(raw[u], alpha);
            if (!ends(u)) continue;
            if (from_before) head = sum;
            else finish(rows[u], old[u], sum);
            sum = A{};
            from_before = false;
        }
    }
    template <bool Near>
    GPUBENCH_DEVICE void walk(alpha_t<T> alpha) {
        constexpr int U = pairs_at_once<T, pieces, V>;
        uint32 base = first;
        for (; base + U <= last; base += U) turn<Near, true>(base, alpha);
        if (base < last) turn<Near, false>(base, alpha);
    }
    GPUBENCH_DEVICE void walk() {
        while (first < last && !list[last - 1].exists()) --last;  // indices outside the dim stand last
        from_before = first < last && goes_on(first);
        if (source == nullptr) return;
        const alpha_t<T> alpha = alpha_of<T>(shape.alpha);
        if constexpr (V == 1) {
            if (shape.pitch != 0) return walk<true>(alpha);
        }
        walk<false>(alpha);
    }
    // Join what goes on in the windows behind; heads: of all threads, `apart` from one window to the next.
    GPUBENCH_DEVICE void join(const A* heads, uint32 apart) const {
        if (first >= last || from_before || source == nullptr || !goes_on(last)) return;
        constexpr uint32 at_once = 8;  // each is a trip to shared memory
        const uint32 row = list[last].row;
        A total = sum;
        for (uint32 end = last, more = 1; more != 0; end += at_once * shape.window) {
            A left[at_once];
            GPUBENCH_UNROLL
            for (uint32 k = 0; k < at_once; ++k) {
                const uint32 begin = end + k * shape.window;
                more = begin < count && list[begin].row == row;
                heads += more != 0 ? apart : 0;
                left[k] = more != 0 ? *heads : A{};
            }
            GPUBENCH_UNROLL
            for (uint32 k = 0; k < at_once; ++k) add_to(total, left[k]);
        }
        finish(row, asks ? now(row) : Packed<T, V>{}, total);
    }
};

// A piece of the list, in order in shared memory, and behind it pairs that are none. With each row goes where its element stands.
template <class Index>
struct OwnedList {
    Pair* list;
    uint64* counts;      // of the sort
    const Index* index;  // as the list has it, or sorted pairs
    const uint32* kept;  // of sorted ones, how many there are
    uint32 held = 0xffffffffu;
    uint32 count = 0;
    uint32 before = row_of(no_pair), behind = row_of(no_pair);  // the rows of the pairs around it

    GPUBENCH_DEVICE void bring(uint32 piece, const OwnedShape& shape) {
        if (piece == held) return;
        const bool piece_before = held != 0xffffffffu;
        held = piece;
        if constexpr (is_same<Index, Pair>) {
            const uint32 start = piece * shape.piece, all = *kept;
            count = start >= all ? 0 : all - start < shape.piece ? all - start : shape.piece;
            before = start > 0 && count > 0 ? row_of(index[start - 1]) : row_of(no_pair);
            behind = start + count < all ? row_of(index[start + count]) : row_of(no_pair);
            after_all(0, [](int) {});
            together(count + pairs_behind, [&](uint32 i) {
                const Pair pair = i < count ? index[start + i] : no_pair;
                list[i] = i < count ? make_pair(row_of(pair), position_of(pair) * shape.item_step) : no_pair;
            });
        } else {
            const uint32 start = piece * shape.piece;
            count = shape.count - start < shape.piece ? shape.count - start : shape.piece;
            if (piece_before) after_all(0, [](int) {});  // its threads may still walk it
            together(count + pairs_behind, [&](uint32 i) {
                const int64 row = i < count ? static_cast<int64>(index[start + i]) : -1;
                const bool inside = row >= 0 && row < shape.places;
                list[i] = inside ? make_pair(static_cast<uint32>(row), (start + i) * shape.item_step) : no_pair;
            });
            sort_pairs(list, count, shape.passes, counts);
        }
    }
};

// Meets: whether the list, not sorted before, is taken in several pieces. V: positions of a thread, neighbours in the source; Beside: in the
// destination, too.
template <class T, class Index, bool Meets, int V, bool Beside>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(256, sizeof(T) > 4 ? 3 : 4)
    add_owned(T* destination, const T* source, const Index* index, const uint32* kept, uint64* meetings, const DividedStrided to_rest,
              const DividedStrided of_rest, const OwnedShape shape) {
    using A = owned_sum_t<T, V>;
    GPUBENCH_DYNAMIC_SHARED(Word128, memory);
    A* const heads = reinterpret_cast<A*>(memory);
    Pair* const list = reinterpret_cast<Pair*>(reinterpret_cast<char*>(memory) + shape.heads);
    T* const near = reinterpret_cast<T*>(list + shape.room);
    for (int64 i = grid_thread(); i < shape.words; i += grid_threads()) meetings[i] = 0;
    const uint32 positions = shape.width * shape.height, windows = block_size_x() / positions;
    const uint32 p = shape.inside != 0 ? thread_index_x() / windows : thread_index_x() & (positions - 1);
    const uint32 number = shape.inside != 0 ? thread_index_x() & (windows - 1) : thread_index_x() / positions;
    const Listed* const listed = reinterpret_cast<const Listed*>(list);
    OwnedList<Index> pairs{list, reinterpret_cast<uint64*>(memory), index, kept};
    for (uint32 unit = block_index_x(); unit < shape.units; unit += grid_size_x()) {
        const auto at = shape.tiles.divide(unit);
        pairs.bring(at.quotient, shape);
        int64 to, of;
        const bool exists = find_position(to, of, at.remainder, p, to_rest, of_rest, shape);
        if (shape.pitch != 0) {
            int64* const starts = reinterpret_cast<int64*>(memory);  // where windows' heads stand later
            in_turn([&] { if (number == 0) starts[p] = exists ? of : -1; }, [&] { bring_tile(near, source, starts, shape); });
        }
        const uint32 first_pair = number * shape.window, first = first_pair < pairs.count ? first_pair : pairs.count;
        const uint32 last = pairs.count - first < shape.window ? pairs.count : first + shape.window;
        constexpr Pieces pieces = is_same<Index, Pair> ? Pieces::sorted : Meets ? Pieces::own : Pieces::one;
        Window<T, pieces, V, Beside> window{nullptr, nullptr, listed, first, last, pairs.count, pairs.before, pairs.behind, shape, A{}, A{}, false};
        if (exists) {
            window.destination = destination + to;
            window.source = shape.pitch != 0 ? near + p * shape.pitch : source + of;
        }
        window.walk();
        if (windows == 1 && shape.pitch == 0) continue;
        in_turn([&] { heads[thread_index_x()] = window.from_before ? window.sum : window.head; },
                [&] { window.join(heads + thread_index_x(), shape.inside != 0 ? 1 : positions); });
    }
}

}  // namespace gpubench::index_add
