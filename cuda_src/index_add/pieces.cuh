// Pieces of sorted pairs, and how blocks join the runs of equal ones that lie over several of them: what grouped.cu is made of.
//
// A run that goes on in the next group of lanes is joined through shared memory, one that goes on in the next block through the
// workspace: each block leaves its part and says so, before it waits for anybody; the block in which the run ends adds the parts in
// their order. Of 16 neighbours in the midst of a run the last one leaves the sum of all.
#pragma once

#include "gpubench/grid.cuh"
#include "gpubench/integer_divider.cuh"
#include "gpubench/block/together.cuh"
#include "gpubench/movement/row_vectors.cuh"
#include "gpubench/pairs.cuh"
#include "gpubench/warp.cuh"
#include "index_add/sums.cuh"

namespace gpubench::index_add {

constexpr int group_threads = 128;
constexpr int stages = 8;       // rows on their way to a lane: 61 KB an SM with 5 blocks
constexpr int most_pairs = 1024;  // of a piece
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
        if (active) finish(row, row_vector<V>(place(row)), sums);
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
    CopyRing<2 * group_threads, stages> ring;

    GPUBENCH_DEVICE void keep(int which, const Sums& sums, int from = 0) const {
        const auto words = bit_cast<Words>(sums);
        GPUBENCH_UNROLL
        for (int i = 0; i < count; ++i) *reinterpret_cast<W*>(ring.slot(from + i, which * group_threads)) = words.all[i];
    }
    // Those that the lane `threads` further kept.
    GPUBENCH_DEVICE Sums kept(int which, int threads, int from = 0) const {
        Words words;
        GPUBENCH_UNROLL
        for (int i = 0; i < count; ++i) words.all[i] = *reinterpret_cast<const W*>(ring.slot(from + i, which * group_threads) + threads);
        return bit_cast<Sums>(words);
    }
};

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
                if (active) seen[k] = bit_cast<Sums>(row_vector<V>(reinterpret_cast<const sum_t<T>*>(parts + number(entry) * parts_apart)));
            }
            GPUBENCH_UNROLL
            for (int k = 0; k < at_once; ++k) combine_items(sums, seen[k], Add{});
        }
        warp_barrier();
        return sums;
    }
};

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

    // The piece in which the run of a row begins that came into this piece, by each warp: a look at the ends of 32 pieces does for most.
    GPUBENCH_DEVICE int first_piece(uint32 row) const {
        const int end = number - lane_index();
        const uint32 others = ballot(full_mask, end <= 0 || row_of(list[int64{end} * size - 1]) != row);
        if (others != 0) return number - count_trailing_zeros(others);
        const uint32 before = static_cast<uint32>(number - warp_size + 1) * static_cast<uint32>(size);
        return static_cast<int>(first_of_row(list, before, row) / static_cast<uint32>(size));
    }

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
        const auto leave = [&] { memory.keep(0, parts.collect(thread_index_x() / lanes, groups, all, number_of), stages / 2); };
        return exchange(leave, [&] {
            Sums sums{};
            for (int g = 0; g < groups; ++g) combine_items(sums, memory.kept(0, g * lanes - thread_index_x() / lanes * lanes, stages / 2), Add{});
            return sums;
        });
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
            Sums all = earlier(first_piece(row));
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

}  // namespace gpubench::index_add
