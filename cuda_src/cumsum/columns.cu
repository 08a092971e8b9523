// cumsum, variants `columns` and `linked_columns`: sums down the rows of neighbouring columns, any dim but the last.
//
// Data: a strip of Lanes x Items columns, cut into tiles of rows. A thread holds Rows consecutive rows of its Items columns
// in registers: at each step the lanes touch whole 32-byte sectors or more of a row. It sums down its rows; shuffles join
// the row groups of a warp, shared memory the warps. The next tile's loads are under way while a tile is summed and
// stored. `columns`: a block walks a strip from top to bottom, the carry stays in its registers, and blocks know nothing
// of each other: for many strips. `linked_columns`: `share` resident blocks take a strip's tiles in turn, publish each
// tile's column sums and carry forward as in carry_forward.cu: for few strips and many rows.
// Narrow strips keep that exchange small: it grows with the square of the strip's width.
// Items is a whole 16-byte vector where every row starts on one, else 1.
#include "cumsum/strip.cuh"

namespace gpubench::cumsum {

template <class S, class T>
GPUBENCH_DEVICE void load_rows(Vector<T, S::items> (&raw)[S::rows], const T* source, long long row, long long length, long long step) {
    GPUBENCH_UNROLL
    for (int r = 0; r < S::rows; ++r) {
        raw[r] = Vector<T, S::items>{};
        if (row + r < length) raw[r] = load_vector<S::items>(source + r * step);
    }
}

// launches, published: workspace, zero before the first launch; used when Linked.
template <class T, class Out, int Items, int Lanes, int Rows, int Warps, int Blocks, bool Linked>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(Warps* warp_size, Blocks)
    columns(const T* x, Out* y, ColumnShape shape, uint64* launches, void* published) {
    using S = Strip<T, Out, Items, Lanes, Rows, Warps>;
    using A = typename S::A;
    GPUBENCH_SHARED(A, totals, 2 * Warps * S::columns);
    GPUBENCH_SHARED(A, parts, Linked ? S::slices * S::columns : 1);
    GPUBENCH_SHARED(uint32, shared_launch, 1);
    const long long strip = block_index_x() / shape.share;
    const int member = static_cast<int>(block_index_x() - strip * shape.share);
    const long long outer = strip / shape.strips;
    const long long column = (strip - outer * shape.strips) * S::columns + thread_index_x() % Lanes * Items;
    const long long group = thread_index_x() / Lanes;
    const long long length = column < shape.inner ? shape.length : 0;  // no rows for lanes beside the last column
    const T* const source = x + outer * shape.x_outer + column;
    Out* const target = y + outer * shape.length * shape.inner + column;
    uint64 ticket = 0;
    if (Linked && thread_index_x() == 0) ticket = take_ticket(launches);
    Vector<T, Items> raw[Rows];
    long long row = (member * static_cast<long long>(S::groups) + group) * Rows;
    load_rows<S>(raw, source + row * shape.x_row, row, length, shape.x_row);
    if (Linked && thread_index_x() == 0) shared_launch[0] = launch_number(ticket);  // seen behind the first scan's barrier
    Vector<A, Items> running{};
    int turn = 0;
    for (int tile = member; tile < shape.tiles; tile += shape.share, ++turn) {
        Vector<A, Items> sums[Rows], before, total;
        GPUBENCH_UNROLL
        for (int r = 0; r < Rows; ++r) {
            GPUBENCH_UNROLL
            for (int j = 0; j < Items; ++j) sums[r][j] = convert<A>(raw[r][j]);
        }
        const long long here = row;
        row += static_cast<long long>(shape.share) * S::tile;
        load_rows<S>(raw, source + row * shape.x_row, row, length, shape.x_row);  // of the next tile
        GPUBENCH_UNROLL
        for (int r = 1; r < Rows; ++r) {
            GPUBENCH_UNROLL
            for (int j = 0; j < Items; ++j) sums[r][j] = add(sums[r - 1][j], sums[r][j]);
        }
        Vector<A, Items> upto = sums[Rows - 1];
        scan_groups<S>(upto, before, total, totals + turn % 2 * (Warps * S::columns));
        if constexpr (Linked) {
            publish_columns<S>(published, shared_launch[0], strip * shape.tiles + tile, total);
            const int after = tile == member ? -1 : tile - shape.share;
            add_vector<Items>(running, fold_columns<S>(published, shared_launch[0], strip * shape.tiles, after, tile, parts));
        }
        add_vector<Items>(before, running);
        GPUBENCH_UNROLL
        for (int r = 0; r < Rows; ++r) {
            Vector<Out, Items> out;
            GPUBENCH_UNROLL
            for (int j = 0; j < Items; ++j) out[j] = convert<Out>(add(before[j], sums[r][j]));
            if (here + r < length) store_vector(target + (here + r) * shape.inner, out);
        }
        add_vector<Items>(running, total);
    }
}

}  // namespace gpubench::cumsum
