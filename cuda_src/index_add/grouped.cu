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
#include "index_add/pieces.cuh"

namespace gpubench::index_add {

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
            const uint32 position = walk.piece.positions[i];
            walk.memory.ring.ask(i - walk.first, 0, walk.column.item(position & ~Piece::end));
            if (position >= Piece::end) {
                if (!skip) walk.memory.ring.ask(i - walk.first, group_threads, walk.column.place(walk.piece.row(i)));
                skip = false;
            }
        }
        walk.memory.ring.close_turn();
    };
    for (int i = 0; i < stages; ++i) ask(walk.first + i);
    for (int i = walk.first; i < walk.last; ++i) {
        walk.memory.ring.await_turn();
        const auto raw = walk.memory.ring.template read<Packed<T, V>>(i - walk.first, 0);
        const bool ends = walk.piece.positions[i] >= Piece::end;
        Packed<T, V> old{};
        if (ends && !walk.from_before) old = walk.memory.ring.template read<Packed<T, V>>(i - walk.first, group_threads);
        walk.take(i, ends, raw, old);
        ask(i + stages);
    }
    walk.memory.ring.await_all();
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
            raw[k] = row_vector<V>(walk.column.item(position & ~Piece::end));
            if (position < Piece::end) continue;
            if (!skip) old[k] = row_vector<V>(walk.column.place(walk.piece.row(base + k)));
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
    together<group_threads>(size + reach, [&](int i) {
        const int64 at = int64{begin} + i;
        const Pair mine = at < count ? list[at] : no_pair, next = at + 1 < count ? list[at + 1] : no_pair;
        rows[i + 1] = row_of(mine);
        positions[i] = position_of(mine) | (row_of(mine) != row_of(next) || next == no_pair ? Piece::end : 0u);
    });
    const Piece piece{rows, positions, bounds};
    const int most = count - begin < static_cast<uint32>(size + reach) ? static_cast<int>(count - begin) : size + reach;
    together_by_warps<group_threads>(groups + 1, [&](int g) {
        const int nominal = g * shape.share;
        const uint32 heads = ballot(full_mask, piece.is_head(nominal + lane_index()));
        const int bound = nominal + (heads != 0 ? count_trailing_zeros(heads) : 0);
        if (lane_index() == 0) bounds[g] = bound < most ? bound : most;
    });
}

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
    for (int64 i = grid_thread(); i < shape.words; i += grid_threads()) meetings[i] = 0;
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
    const LaneMemory<Sums> mine{{memory + thread_index_x()}};
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
    if (!any_thread(open)) return;
    const int chunks = static_cast<int>(shape.chunks.divisor), outers = static_cast<int>(shape.outers.divisor);
    const int64 repeated = int64{chunks} * outers, own = outer * chunks + by_chunk.remainder;
    const Parts<T, V> left{static_cast<Sums*>(parts) + own * shape.lanes + lane, flags + own, repeated * shape.lanes, repeated,
                           column.active};
    const int pieces = static_cast<int>(grid_size_x() / repeated);
    Join<T, V>{piece, column, mine, left, list, number, pieces, size, groups, shape.lanes}.join();
}

}  // namespace gpubench::index_add
