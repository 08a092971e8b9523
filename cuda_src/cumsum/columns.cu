// cumsum, variants `columns` and `linked_columns`: sums down the rows of neighbouring columns, any dim but the last.
//
// Data: a strip of Lanes x Items columns, cut into tiles of rows. A thread holds Rows consecutive rows of its Items columns
// in registers, as they were loaded: at each step the lanes touch whole 32-byte sectors or more of a row. It sums them;
// shuffles join the row groups of a warp, shared memory the warps; then it adds them up once more from what came before,
// and stores. The next tile's loads are under way meanwhile.
// `columns`: a block walks a strip from top to bottom and carries its sums in shared memory; blocks know nothing of each
// other: for many strips. `linked_columns`: `share` resident blocks take a strip's tiles in turn, publish each
// tile's column sums and carry forward as in carry_forward.cu: for few strips and many rows.
// Narrow strips keep that exchange small: it grows with the square of the strip's width.
// Against `serial_columns`, a thread a column: whole sectors a step, and blocks of up to 16 warps instead of one walk. On one H200:
// 16384 x 16384 float32 544 us (0.93 of a copy; the best library 963), 16 x 4096 x 1024 float16 76.3 (203).
// Items: a vector on which every row starts, of 16 bytes at most; the host's estimate says how wide. Where rows start on 16 bytes,
// complex numbers come as two columns of their parts.
#include "gpubench/arithmetic.cuh"
#include "gpubench/block/column_scan.cuh"
#include "gpubench/grid/gather.cuh"
#include "gpubench/movement/strips.cuh"

namespace gpubench::cumsum {

// A block's tiles, `apart` rows from one to the next: `scan` gets the number of a tile and the totals of the thread's rows
// in it, and finds what came before them. `begun` is called when the first tile is under way.
// Single: a block has one tile, and no code for more, which a small launch would wait for.
template <bool Single, class S, class T, class Out, class Begun, class Scan>
GPUBENCH_DEVICE void walk_strip(const T* source, Out* target, long long left, long long apart, const ColumnShape& shape, int member,
                                Begun begun, Scan scan) {
    StripRows<S, T> even, odd;
    even.load(source, left, shape.x_row);
    begun();
    const auto finish = [&](const StripRows<S, T>& current, int tile) {
        Vector<typename S::A, S::items> upto = current.reduce(Add{}), before;
        scan(tile, upto, before);
        current.store(target, left, shape.inner, before, Add{});
    };
    if constexpr (Single) return finish(even, member);
    const auto take = [&](const StripRows<S, T>& current, StripRows<S, T>& next, int tile) {
        source += apart * shape.x_row;
        next.load(source, left - apart, shape.x_row);
        finish(current, tile);
        target += apart * shape.inner;
        left -= apart;
    };
    for (int tile = member; tile < shape.tiles; tile += 2 * shape.share) {  // two at a time: what was loaded is not moved
        take(even, odd, tile);
        if (tile + shape.share < shape.tiles) take(odd, even, tile + shape.share);
    }
}

// lane_bits: the logarithm of a strip's lanes, which are numbers of the launch as its warps are, so that one instance serves
// strips of every width. Dynamic shared memory: the tables of scan_strip.
template <class T, class Out, int Items, int Rows, bool Single>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(512, 1) columns(const T* x, Out* y, ColumnShape shape, int lane_bits) {
    using S = LooseStrip<T, Out, Items, Rows>;
    using A = typename S::A;
    GPUBENCH_DYNAMIC_SHARED(A, table);
    const int lanes = 1 << lane_bits, groups = static_cast<int>(block_size_x()) >> lane_bits;
    const uint32 block = static_cast<uint32>(block_index_x()), strips = static_cast<uint32>(shape.strips);  // fewer than 2^31, as blocks
    const uint32 outer = block / strips;
    const long long column = (static_cast<long long>(block - outer * strips) << lane_bits) * Items + (thread_index_x() & (lanes - 1)) * Items;
    const int first = (thread_index_x() >> lane_bits) * Rows;
    const long long left = (column < shape.inner ? shape.length : 0) - first;  // no rows for lanes beside the last column
    int turn = 0;
    walk_strip<Single, S>(x + outer * shape.x_outer + column + first * shape.x_row, y + (outer * shape.length + first) * shape.inner + column,
                  left, static_cast<long long>(groups) * Rows, shape, 0, [] {},
                  [&](int, Vector<A, Items>& upto, Vector<A, Items>& before) {
                      scan_strip<S>(upto, before, turn, table, lanes, Add{});
                      ++turn;
                  });
}

// launches, published: workspace, zero before the first launch.
template <class T, class Out, int Items, int Lanes, int Rows, int Warps, int Blocks, bool Single>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(Warps* warp_size, Blocks)
    linked_columns(const T* x, Out* y, ColumnShape shape, uint64* launches, void* published) {
    using S = Strip<T, Out, Items, Lanes, Rows, Warps>;
    using A = typename S::A;
    GPUBENCH_SHARED(A, table, 2 * Warps * S::columns);
    GPUBENCH_SHARED(A, parts, S::slices * S::columns);
    GPUBENCH_SHARED(uint32, shared_launch, 1);
    const long long strip = block_index_x() / shape.share;
    const int member = static_cast<int>(block_index_x() - strip * shape.share);
    const long long outer = static_cast<int>(strip) / static_cast<int>(shape.strips);
    const long long column = (strip - outer * shape.strips) * S::columns + thread_index_x() % Lanes * Items;
    const long long group = thread_index_x() / Lanes;
    uint64 ticket = 0;
    if (thread_index_x() == 0) ticket = take_ticket(launches);
    const long long first = (member * static_cast<long long>(S::groups) + group) * Rows;
    const long long apart = static_cast<long long>(shape.share) * S::tile;  // rows from one tile of the block to the next
    const long long left = (column < shape.inner ? shape.length : 0) - first;  // no rows for lanes beside the last column
    Vector<A, Items> running{};
    int turn = 0;
    const auto begun = [&] {
        if (thread_index_x() == 0) shared_launch[0] = launch_number(ticket);  // seen behind the first scan's barrier
    };
    const auto scan = [&](int tile, Vector<A, Items>& upto, Vector<A, Items>& before) {
        Vector<A, Items> total;
        scan_groups_of_block<S>(upto, before, total, table + turn % 2 * (Warps * S::columns), Add{});
        publish_columns<S>(published, shared_launch[0], strip * shape.tiles + tile, total);
        const int after = tile == member ? -1 : tile - shape.share;
        combine_items(running, gather_columns<S>(published, shared_launch[0], strip * shape.tiles, after, tile, parts, Add{}), Add{});
        combine_items(before, running, Add{});
        combine_items(running, total, Add{});
        ++turn;
    };
    walk_strip<Single, S>(x + outer * shape.x_outer + column + first * shape.x_row, y + (outer * shape.length + first) * shape.inner + column,
                  left, apart, shape, member, begun, scan);
}

}  // namespace gpubench::cumsum
