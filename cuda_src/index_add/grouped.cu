// index_add, second launch of `grouped`: the rows of one place, which sorted pairs name side by side, are added up in
// registers, and the place is read and written once.
//
// Data: a block takes a piece of the pairs and a chunk of the row, as wide as its groups of lanes (up to 512 bytes); each group
// takes an equal share of the pairs. A lane brings its own 16 bytes of the next eight rows, and those of the destination where
// a run of equal pairs ends, through shared memory in the background: what a lane asked for only it reads, so no barrier stands
// in the loop. Ends of pieces and shares move to the next run within 32 pairs, so that short runs are nobody's but one group's.
// A long run that goes on in the next group is joined through shared memory, one that goes on in the next block through the
// workspace: each block leaves its part and says so, the block in which the run ends waits for them and adds them in their
// order. Of 16 neighbours in the midst of a run the last one leaves the sum of all. The order of every addition follows from
// the indices alone.
//
// Design: segments as in embedding gradients (PyTorch, FBGEMM); the ring, the pieces and their joining are this project's.
#include "gpubench/grid.cuh"
#include "gpubench/integer_divider.cuh"
#include "gpubench/movement/stages.cuh"
#include "gpubench/warp.cuh"
#include "index_add/pairs.cuh"
#include "index_add/sums.cuh"

namespace gpubench::index_add {

constexpr int group_threads = 128;
constexpr int stages = 8;       // rows on their way to a lane: 61 KB an SM with 5 blocks
constexpr int most_pairs = 256; // of a piece
constexpr int reach = 32;       // pairs by which an end moves at most
constexpr int window = 16;      // pieces whose parts are added up ahead

struct GroupedShape {
    IntegerDivider chunks;  // of a row
    IntegerDivider outers;  // repetitions of the whole list
    int32 lanes;            // of a group, a power of two up to 32
    int32 share;            // pairs of a group
    uint32 vectors;         // of a row
    uint32 words;           // of the sort's meetings, to be cleared
    int64 place_step, index_step;  // elements between rows of the destination, of the source
    int64 outer_place, outer_index;
    double alpha;
};
GPUBENCH_LAYOUT(GroupedShape, 80, alpha, 72);

// The pairs of a piece, and where its groups' shares begin. A position bears, in its top bit, whether its run ends there.
struct Piece {
    static constexpr uint32 end = 0x80000000u;
    const uint32* rows;       // rows[0] is of the pair before the piece
    const uint32* positions;
    const int* bounds;        // [groups + 1]

    GPUBENCH_DEVICE bool is_head(int i) const { return i > 0 ? positions[i - 1] >= end : rows[0] != rows[1]; }
    GPUBENCH_DEVICE uint32 row(int i) const { return rows[i + 1]; }
};

// What one lane works on: its vector of every row.
template <class T, int V>
struct Column {
    using Sums = Vector<sum_t<T>, V>;
    T* destination;
    const T* source;
    int64 place_step, index_step;
    alpha_t<T> alpha;
    bool active;

    GPUBENCH_DEVICE T* place(uint32 row) const { return destination + row * place_step; }
    GPUBENCH_DEVICE const T* item(uint32 position) const { return source + position * index_step; }
    GPUBENCH_DEVICE void finish(uint32 row, const Packed<T, V>& old, const Sums& sums) const {
        store_packed(place(row), added(old, sums));
    }
    GPUBENCH_DEVICE void finish(uint32 row, const Sums& sums) const {
        if (active) finish(row, load_packed<V>(place(row)), sums);
    }
};

// A lane's own memory: 16 words of 16 bytes, a slot of the block's each. As a ring: source and destination of each stage; then
// the sums of the first and the last run of its group.
template <class Sums>
struct LaneMemory {
    using W = Word<detail::vector_alignment(sizeof(Sums))>;
    static constexpr int count = sizeof(Sums) / sizeof(W);
    struct Words {
        W all[count];
    };
    Word128* words;

    GPUBENCH_DEVICE Word128* slot(int stage, int which) const { return words + (stage * 2 + which) * group_threads; }
    GPUBENCH_DEVICE void keep(int which, const Sums& sums, int from = 0) const {
        const auto words = bit_cast<Words>(sums);
        GPUBENCH_UNROLL
        for (int i = 0; i < count; ++i) *reinterpret_cast<W*>(slot(from + i, which)) = words.all[i];
    }
    // Those that the lane `threads` further kept.
    GPUBENCH_DEVICE Sums kept(int which, int threads, int from = 0) const {
        Words words;
        GPUBENCH_UNROLL
        for (int i = 0; i < count; ++i) words.all[i] = *reinterpret_cast<const W*>(slot(from + i, which) + threads);
        return bit_cast<Sums>(words);
    }
};

// One group's walk over its share: sums so far, and what becomes of them where a run ends. Only the first one can have begun before.
template <class T, int V>
struct Walk {
    using Sums = Vector<sum_t<T>, V>;
    const Piece piece;
    const Column<T, V> column;
    const LaneMemory<Sums> memory;
    int first, last;
    Sums sums;
    Sums head;
    bool from_before;

    GPUBENCH_DEVICE void take(int i, bool ends, const Packed<T, V>& raw, const Packed<T, V>& old) {
        add_scaled<T, V>(sums, raw, column.alpha);
        if (!ends) return;
        if (from_before) head = sums;
        else column.finish(piece.row(i), old, sums);
        from_before = false;
        sums = Sums{};
    }
};

// Rows in vectors of 16 bytes, through the ring.
template <class T, int V>
GPUBENCH_DEVICE void walk_ring(Walk<T, V>& walk) {
    bool skip = walk.from_before;  // the place of the first run
    const auto ask = [&](int i) {
        if (i < walk.last) {
            Word128* const slot = walk.memory.slot((i - walk.first) % stages, 0);
            const uint32 position = walk.piece.positions[i];
            copy_in_background(slot, reinterpret_cast<const Word128*>(walk.column.item(position & ~Piece::end)));
            if (position >= Piece::end) {
                if (!skip) copy_in_background(slot + group_threads, reinterpret_cast<const Word128*>(walk.column.place(walk.piece.row(i))));
                skip = false;
            }
        }
        close_copies();
    };
    for (int i = 0; i < stages; ++i) ask(walk.first + i);
    for (int i = walk.first; i < walk.last; ++i) {
        const Word128* const slot = walk.memory.slot((i - walk.first) % stages, 0);
        await_copies<stages - 1>();
        const Packed<T, V> raw = bit_cast<Packed<T, V>>(*slot);
        const bool ends = walk.piece.positions[i] >= Piece::end;
        Packed<T, V> old{};
        if (ends && !walk.from_before) old = bit_cast<Packed<T, V>>(slot[group_threads]);
        walk.take(i, ends, raw, old);
        ask(i + stages);
    }
    await_copies<0>();
}

// Rows element by element, a few at once.
template <class T, int V>
GPUBENCH_DEVICE void walk_elements(Walk<T, V>& walk) {
    bool skip = walk.from_before;
    for (int base = walk.first; base < walk.last; base += stages) {
        Packed<T, V> raw[stages], old[stages];
        GPUBENCH_UNROLL
        for (int k = 0; k < stages; ++k) {
            raw[k] = old[k] = Packed<T, V>{};
            if (base + k >= walk.last) continue;
            const uint32 position = walk.piece.positions[base + k];
            raw[k] = load_packed<V>(walk.column.item(position & ~Piece::end));
            if (position < Piece::end) continue;
            if (!skip) old[k] = load_packed<V>(walk.column.place(walk.piece.row(base + k)));
            skip = false;
        }
        GPUBENCH_UNROLL
        for (int k = 0; k < stages; ++k) {
            if (base + k < walk.last) walk.take(base + k, walk.piece.positions[base + k] >= Piece::end, raw[k], old[k]);
        }
    }
}

// Load the piece's pairs, one before and `reach` behind it, and find the groups' bounds.
GPUBENCH_DEVICE void load_piece(uint32* rows, uint32* positions, int* bounds, const Pair* list, uint32 begin, uint32 count,
                                const GroupedShape& shape) {
    const int groups = group_threads / shape.lanes, size = groups * shape.share;
    if (thread_index_x() == 0) rows[0] = begin > 0 ? row_of(list[begin - 1]) : row_of(no_pair);
    for (int i = thread_index_x(); i < size + reach; i += group_threads) {
        const int64 at = int64{begin} + i;
        const Pair mine = at < count ? list[at] : no_pair, next = at + 1 < count ? list[at + 1] : no_pair;
        rows[i + 1] = row_of(mine);
        positions[i] = position_of(mine) | (row_of(mine) != row_of(next) || next == no_pair ? Piece::end : 0u);
    }
    block_barrier();
    const Piece piece{rows, positions, bounds};
    const int most = count - begin < static_cast<uint32>(size + reach) ? static_cast<int>(count - begin) : size + reach;
    for (int g = thread_index_x() / warp_size; g <= groups; g += group_threads / warp_size) {
        const int nominal = g * shape.share;
        const uint32 heads = ballot(full_mask, piece.is_head(nominal + lane_index()));
        const int bound = nominal + (heads != 0 ? count_trailing_zeros(heads) : 0);
        if (lane_index() == 0) bounds[g] = bound < most ? bound : most;
    }
    block_barrier();
}

// What the pieces of one chunk leave for each other: parts of pieces, then of windows, and a flag each.
template <class T, int V>
struct Parts {
    using Sums = Vector<sum_t<T>, V>;
    Sums* parts;   // the lane's own of piece 0
    uint32* flags;  // the chunk's own of piece 0
    int64 parts_apart, flags_apart;  // to the next number
    bool active;

    // By one warp, of which some lanes have sums.
    GPUBENCH_DEVICE void leave(int64 number, bool first_lane, const Sums& sums, bool has_sums) const {
        if (active && has_sums) store_vector(reinterpret_cast<sum_t<T>*>(parts + number * parts_apart), sums);
        memory_fence();
        warp_barrier();
        if (first_lane) store_release(flags + number * flags_apart, uint32{1});
    }
    // Parts first, first + step ... before `stop`, of a list of pieces and windows that `number` numbers.
    template <class Number>
    GPUBENCH_DEVICE Sums collect(int first, int step, int stop, const Number& number) const {
        constexpr int at_once = 4;
        Sums sums{};
        for (int base = first; base < stop; base += at_once * step) {
            Sums seen[at_once];
            GPUBENCH_UNROLL
            for (int k = 0; k < at_once; ++k) {
                seen[k] = Sums{};
                const int entry = base + k * step;
                if (entry >= stop) continue;
                while (load_acquire(flags + number(entry) * flags_apart) == 0) {
                }
                if (active) seen[k] = load_vector<V>(reinterpret_cast<const sum_t<T>*>(parts + number(entry) * parts_apart));
            }
            GPUBENCH_UNROLL
            for (int k = 0; k < at_once; ++k) combine_items(sums, seen[k], Add{});
        }
        warp_barrier();
        return sums;
    }
};

// The first pair of a row among the `count` pairs before one of that row: each warp, 32 ways a step.
GPUBENCH_DEVICE uint32 first_of_row(const Pair* list, uint32 count, uint32 row) {
    uint32 low = 0, high = count;
    while (low < high) {
        const uint32 step = (high - low + warp_size - 1) / warp_size;
        const uint32 probe = low + (lane_index() + 1) * step - 1;
        const bool before = probe < high && row_of(list[probe]) < row;
        const uint32 steps = population_count(ballot(full_mask, before));
        low += steps * step;
        if (low + step - 1 < high) high = low + step - 1;
    }
    return low;
}

// A block's place in the grid of pieces, and all it needs to join its open runs with those of its neighbours.
template <class T, int V>
struct Join {
    using Sums = Vector<sum_t<T>, V>;
    const Piece piece;
    const Column<T, V> column;
    const LaneMemory<Sums> memory;
    const Parts<T, V> parts;
    const Pair* list;
    int number, pieces, size, groups, lanes;

    GPUBENCH_DEVICE int lane() const { return thread_index_x() & (lanes - 1); }

    // The sum of the parts of the pieces from `from` on, for the first group; windows stand for their pieces.
    GPUBENCH_DEVICE Sums earlier(int from) const {
        const int after = from / window + 1, until = number / window;
        const int windows = until > after ? until - after : 0;
        const int lead = windows > 0 ? after * window - from : number - from;
        const int all = windows > 0 ? lead + windows + number - until * window : lead;
        const auto number_of = [&](int entry) -> int64 {
            if (entry < lead) return from + entry;
            if (entry < lead + windows) return int64{pieces} + after + entry - lead;
            return until * window + entry - lead - windows;
        };
        memory.keep(0, parts.collect(thread_index_x() / lanes, groups, all, number_of), stages / 2);
        block_barrier();
        Sums sums{};
        for (int g = 0; g < groups; ++g) combine_items(sums, memory.kept(0, g * lanes - thread_index_x() / lanes * lanes, stages / 2), Add{});
        return sums;
    }

    // Join the groups' open runs in order. `head` becomes the part of a run that began before the piece and ends in it; what goes on
    // behind the piece is the result.
    GPUBENCH_DEVICE Sums join_groups(Sums& head) const {
        Sums carry{};
        bool began_here = false;
        for (int g = 0; g < groups; ++g) {
            const int first = piece.bounds[g], last = piece.bounds[g + 1];
            if (first >= last) continue;
            const bool from_before = !piece.is_head(first), goes_on = !piece.is_head(last);
            if (from_before && goes_on && piece.row(first) == piece.row(last - 1)) {
                combine_items(carry, memory.kept(1, g * lanes), Add{});
                continue;
            }
            if (from_before) {
                combine_items(carry, memory.kept(0, g * lanes), Add{});
                if (began_here || piece.is_head(piece.bounds[0])) column.finish(piece.row(first), carry);
                else head = carry;
            }
            if (goes_on) carry = memory.kept(1, g * lanes);
            began_here = true;
        }
        return carry;
    }

    // Behind a barrier; by all threads. A block leaves its part before it waits for others, so no part waits for another.
    GPUBENCH_DEVICE void join() const {
        const int first = piece.bounds[0], last = piece.bounds[groups];
        const uint32 row = piece.row(first);
        const bool from_before = !piece.is_head(first), goes_on = !piece.is_head(last);
        const bool midst = from_before && goes_on && row == piece.row(last - 1);
        const bool of_first_group = thread_index_x() < lanes;
        Sums head{}, carry{};
        if (of_first_group) carry = join_groups(head);
        if (goes_on && thread_index_x() < warp_size) {
            warp_barrier();
            parts.leave(number, thread_index_x() == 0, carry, of_first_group);
        }
        if (from_before && !midst) {
            const uint32 begin = first_of_row(list, static_cast<uint32>(number) * static_cast<uint32>(size), row);
            Sums all = earlier(static_cast<int>(begin / static_cast<uint32>(size)));
            combine_items(all, head, Add{});
            if (of_first_group) column.finish(row, all);
        }
        const int from = number - (window - 1);
        if (!midst || from % window != 0 || from <= 0 || row_of(list[int64{from} * size - 1]) != row) return;
        Sums all = earlier(from);
        combine_items(all, carry, Add{});
        if (thread_index_x() < warp_size) parts.leave(int64{pieces} + number / window, thread_index_x() == 0, all, of_first_group);
    }
};

// meetings: words of the sort, zero for the next run. parts, flags: see Parts.
template <class T, int V>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(group_threads, 5)
    add_groups(T* destination, const T* source, const Pair* list, const uint32* kept, uint64* meetings, void* parts, uint32* flags,
               const GroupedShape shape) {
    using Sums = Vector<sum_t<T>, V>;
    GPUBENCH_SHARED(uint32, rows, most_pairs + reach + 1);
    GPUBENCH_SHARED(uint32, positions, most_pairs + reach);
    GPUBENCH_SHARED(int, bounds, group_threads + 1);
    GPUBENCH_DYNAMIC_SHARED(Word128, memory);
    if (grid_thread() < shape.words) meetings[grid_thread()] = 0;
    const auto by_chunk = shape.chunks.divide(static_cast<uint32>(block_index_x()));
    const auto by_outer = shape.outers.divide(by_chunk.quotient);
    const int number = static_cast<int>(by_outer.quotient), groups = group_threads / shape.lanes, size = groups * shape.share;
    const uint32 count = kept[0], begin = static_cast<uint32>(number) * static_cast<uint32>(size);
    if (begin >= count) return;
    load_piece(rows, positions, bounds, list, begin, count, shape);
    const int lane = thread_index_x() & (shape.lanes - 1), group = thread_index_x() / shape.lanes;
    const uint32 vector = by_chunk.remainder * shape.lanes + lane;
    const int64 outer = by_outer.remainder;
    const Piece piece{rows, positions, bounds};
    const Column<T, V> column{destination + outer * shape.outer_place + int64{vector} * V,
                              source + outer * shape.outer_index + int64{vector} * V,
                              shape.place_step, shape.index_step, alpha_of<T>(shape.alpha), vector < shape.vectors};
    const LaneMemory<Sums> mine{memory + thread_index_x()};
    Walk<T, V> walk{piece, column, mine, bounds[group], bounds[group + 1], Sums{}, Sums{}, false};
    bool open = false;
    if (walk.first < walk.last) {
        walk.from_before = !piece.is_head(walk.first);
        open = walk.from_before || !piece.is_head(walk.last);
    }
    if (column.active && walk.first < walk.last) {
        if constexpr (sizeof(T) * V == 16) walk_ring(walk);
        else walk_elements(walk);
    }
    if (open) {
        mine.keep(0, walk.head);
        mine.keep(1, walk.sums);
    }
    if (!block_barrier_or(open)) return;
    const int chunks = static_cast<int>(shape.chunks.divisor), outers = static_cast<int>(shape.outers.divisor);
    const int64 repeated = int64{chunks} * outers, own = outer * chunks + by_chunk.remainder;
    const Parts<T, V> left{static_cast<Sums*>(parts) + own * shape.lanes + lane, flags + own, repeated * shape.lanes, repeated,
                           column.active};
    const int pieces = static_cast<int>(grid_size_x() / repeated);
    Join<T, V>{piece, column, mine, left, list, number, pieces, size, groups, shape.lanes}.join();
}

}  // namespace gpubench::index_add
