// cumsum, variant `resident_columns`: a few columns side by side, all of x on the chip at once and one exchange of sums.
//
//     x:  | block 0                           | block 1 ...      one block an SM, all resident
//         | warp 0 | warp 1 | ... | warp 15   |                  each takes one run of whole rows, cut into pieces
//     run:  | spilled | held: in registers | staged: in the warp's own shared memory |
//
// Data: a warp brings its pieces by bulk copies into the slots of its shared memory, all that fit at once, at any alignment.
// As a piece lands its columns are summed: lanes side by side take a row, groups of lanes consecutive rows. The first pieces
// then leave their slots, spilled ones for good, held ones for registers, where they lie as bytes: which lane has which
// row does not matter there, so no register is lost to narrow rows or types. The last ones stay. One word a column and block
// tells the others the block's sums; each block reads those of all before it, one hop. Then every piece is summed once
// more, from what came before: staged ones first; into the slots that they leave spilled ones come again, from the L2 cache, and
// held ones at last. Rows of less than 128 bytes are summed in place and leave as one run of whole vectors.
// What it changes against column_forward.cu: there 132 blocks exchange sums a tile, each hop under load and waited for at
// fill and drain; here once, when no load is left to disturb it. Lines that are read once do not push others out of the L2 cache.
// On one H200, float32: 65536 x 100 22.8 us (29.9 by column_forward), 180000 x 64 33.4 (37.2), 1000000 x 9 31.4 (33.3).
// Limits: x is no more than registers and shared memory of all SMs hold, and what may be spilled. All blocks must be
// resident; the host side sees to it. The cut and the order of additions are fixed by the shape: bitwise reproducible.
#include "gpubench/arithmetic.cuh"
#include "gpubench/grid/column_exchange.cuh"
#include "cumsum/resident_columns.cuh"

namespace gpubench::cumsum {

// Add a piece's columns to the warp's sums. staged: the first of those that stay, before which they are noted.
template <class R, class T, class Out>
GPUBENCH_DEVICE void sum_piece(const ResidentWarp<R, T, Out>& warp, const ResidentShape& shape, const Piece<T>& piece, bool first, bool staged) {
    using A = typename R::A;
    GPUBENCH_NO_UNROLL
    for (int lanes = 0; lanes < shape.lanes; lanes += warp_size) {
        const LaneGrid grid = lane_grid(shape, lanes);
        const LaneRows<T> mine = rows_of_lane<R>(piece, shape, grid, lanes);
        Vector<typename R::Local, R::items> sum = reduce_rows<typename R::Near>(mine, shape.columns, Add{});
        reduce_lane_groups<typename R::Near>(sum, grid.across, grid.across * grid.groups, Add{});
        if (lane_index() >= grid.across) continue;
        Vector<A, R::items> before{};
        if (!first) before = load_totals<R::items>(warp.sums + mine.column);
        if (staged) store_totals(warp.early + mine.column, before);
        combine_items(before, convert_items<R::items, A>(sum), Add{});
        store_totals(warp.sums + mine.column, before);
    }
}

// Bring all pieces and sum them; what does not stay in its slot is kept in registers as far as they hold it.
template <class R, class T, class Out>
GPUBENCH_DEVICE void take_in(const ResidentWarp<R, T, Out>& warp, const ResidentShape& shape, Word128 (&kept)[R::held][R::vectors]) {
    GPUBENCH_NO_UNROLL
    for (int copy = 0; copy < R::slots && copy < shape.pieces; ++copy) ask(warp, shape, copy);
    GPUBENCH_NO_UNROLL
    for (int copy = 0; copy < shape.pieces; ++copy) {
        char* const slot = slot_of(warp, shape, copy);
        const Piece<T> piece = piece_in(warp, shape, copy, slot);
        await(warp, copy);
        sum_piece(warp, shape, piece, copy == 0, copy == shape.spilled + shape.held);
        if (copy + R::slots >= shape.pieces) continue;
        GPUBENCH_UNROLL
        for (int h = 0; h < R::held; ++h) {
            if (copy == shape.spilled + h) keep_stage(kept[h], slot, bytes_of<R>(piece, slot, shape.columns));
        }
        ask(warp, shape, copy + R::slots);
    }
}

// Store the running sums of a piece. sums: of the columns before it, moved on behind it.
template <class R, class T, class Out>
GPUBENCH_DEVICE void give_piece(const ResidentWarp<R, T, Out>& warp, const ResidentShape& shape, const Piece<T>& piece, typename R::A* sums) {
    using A = typename R::A;
    Out* const target = warp.target + static_cast<long long>(piece.first) * shape.columns;
    GPUBENCH_NO_UNROLL
    for (int lanes = 0; lanes < shape.lanes; lanes += warp_size) {
        const LaneGrid grid = lane_grid(shape, lanes);
        const LaneRows<T> mine = rows_of_lane<R>(piece, shape, grid, lanes);
        Vector<typename R::Local, R::items> near = reduce_rows<typename R::Near>(mine, shape.columns, Add{});
        scan_lane_groups<typename R::Near>(near, grid.across, grid.across * grid.groups, Add{});
        const bool exists = grid.group < grid.groups;
        Vector<A, R::items> sum{};
        if (exists) sum = load_totals<R::items>(sums + mine.column);
        combine_items(sum, convert_items<R::items, A>(near), Add{});
        bool in_place = false;
        if constexpr (is_same<T, Out>) {
            in_place = shape.in_place != 0;
            if (in_place) scan_rows<typename R::Wide>(sum, mine, shape.columns, mine.source, static_cast<long long>(shape.columns), Add{});
        }
        if (!in_place) {
            Out* const place = target + mine.first * shape.columns + mine.column;
            scan_rows<typename R::Wide>(sum, mine, shape.columns, place, static_cast<long long>(shape.columns), Add{});
        }
        if (grid.group == grid.groups - 1) store_totals(sums + mine.column, sum);
    }
    if constexpr (is_same<T, Out>) {
        if (shape.in_place == 0) return;
        warp_barrier();
        store_run<4>(piece.place, target, piece.rows * shape.columns);
    }
}

// Store all sums. carry: of the columns in the blocks before.
template <class R, class T, class Out>
GPUBENCH_DEVICE void give_out(const ResidentWarp<R, T, Out>& warp, const ResidentShape& shape, Word128 (&kept)[R::held][R::vectors],
                              const typename R::A* carry) {
    using A = typename R::A;
    GPUBENCH_NO_UNROLL
    for (int column = lane_index(); column < shape.columns; column += warp_size) {
        const A before = add(carry[column], warp.sums[column]);
        warp.sums[column] = before;
        warp.early[column] = add(before, warp.early[column]);
    }
    warp_barrier();
    const int copies = shape.pieces + shape.spilled;
    GPUBENCH_NO_UNROLL
    for (int copy = shape.spilled + shape.held; copy < copies + shape.held; ++copy) {
        char* const slot = slot_of(warp, shape, copy);
        const bool staged = copy < shape.pieces;
        const Piece<T> piece = piece_in(warp, shape, staged ? copy : copy - shape.pieces, slot);
        if (copy < copies) await(warp, copy);
        GPUBENCH_UNROLL
        for (int h = 0; h < R::held; ++h) {
            if (copy == copies + h) put_back(kept[h], slot, bytes_of<R>(piece, slot, shape.columns));
        }
        give_piece(warp, shape, piece, staged ? warp.early : warp.sums);
        if (copy + R::slots >= copies) continue;
        stage_written();
        ask(warp, shape, copy + R::slots);
    }
}

// launches, published: workspace, zero before the first launch.
template <class T, class Out, int Items, int Warps, int Slots, int Held, int Vectors>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(Warps* warp_size, 1)
    resident_columns(const T* x, Out* y, ResidentShape shape, uint64* launches, char* published) {
    using R = Resident<T, Out, Items, Warps, Slots, Held, Vectors>;
    using A = typename R::A;
    GPUBENCH_DYNAMIC_SHARED(char, memory);
    GPUBENCH_SHARED(PhaseBarrier, landed, Warps * Slots);
    GPUBENCH_SHARED(A, parts, R::threads);
    GPUBENCH_SHARED(uint32, launch, 1);
    uint64 ticket = 0;
    if (thread_index_x() == 0) ticket = take_ticket(launches);
    const int number = thread_index_x() / warp_size;
    const int outer = block_index_x() / shape.share, block = block_index_x() - outer * shape.share;
    const long long unit = static_cast<long long>(block) * Warps + number;  // this warp, of all that share the columns
    const long long first = unit * shape.rows + (unit < shape.longer ? unit : shape.longer);
    A* const sums = reinterpret_cast<A*>(memory + Warps * Slots * shape.slot_bytes);
    const ResidentWarp<R, T, Out> warp{x + outer * shape.x_outer + first * shape.columns,
                                       x + shape.elements,
                                       y + (outer * shape.length + first) * shape.columns,
                                       static_cast<int>(shape.rows) + (unit < shape.longer ? 1 : 0),
                                       memory + number * Slots * shape.slot_bytes,
                                       landed + number * Slots,
                                       sums + number * shape.columns,
                                       sums + (Warps + number) * shape.columns};
    make_warp_barriers<Slots>({warp.landed});
    warp_barrier();
    Word128 kept[Held][Vectors];
    take_in(warp, shape, kept);
    const uint32 number_of_launch = share_launch_number(ticket, launch);
    const long long words = static_cast<long long>(outer) * shape.share * shape.columns * Published<A>::bytes;
    exchange_columns<R>(sums, parts, shape.columns, shape.slices, block, published + words, number_of_launch, Add{});
    give_out(warp, shape, kept, parts);
}

}  // namespace gpubench::cumsum
