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
#include "gpubench/grid.cuh"
#include "cumsum/items.cuh"

namespace gpubench::cumsum {

struct ColumnShape {
    long long length, inner;              // rows of a column; columns side by side
    long long x_outer, x_row;             // distances in x; y is contiguous
    long long strips;                     // in one outer block
    int tiles, share;                     // of a strip; blocks that take them in turn
};

// Warps x 32 threads as groups of Lanes; each group takes Rows rows.
template <class T, class Out, int I, int L, int R, int W>
struct Strip {
    using A = accumulator_t<Out>;
    static constexpr int items = I, lanes = L, rows = R, warps = W;
    static constexpr int columns = L * I;
    static constexpr int groups = W * warp_size / L;
    static constexpr int tile = groups * R;
    static constexpr int slices = W * warp_size / columns > 0 ? W * warp_size / columns : 1;
};

template <class S, class T>
GPUBENCH_DEVICE void load_rows(Vector<T, S::items> (&raw)[S::rows], const T* source, long long row, long long length, long long step) {
    GPUBENCH_UNROLL
    for (int r = 0; r < S::rows; ++r) {
        raw[r] = Vector<T, S::items>{};
        if (row + r < length) raw[r] = load_vector<S::items>(source + r * step);
    }
}

// The sums of all columns over tiles `after` + 1 to `tile` - 1 of the strip, for the calling thread's columns.
template <class S>
GPUBENCH_DEVICE Vector<typename S::A, S::items> fold_columns(void* published, uint32 launch, long long first, int after, int tile,
                                                             typename S::A* parts) {
    using A = typename S::A;
    const int thread = thread_index_x();
    for (int column = thread % S::columns; column < S::columns && thread < S::slices * S::columns; column += S::warps * warp_size) {
        const int slice = thread / S::columns;
        A sum{};
        for (int other = after + 1 + slice; other < tile; other += 4 * S::slices) {
            A values[4];
            bool there[4];
            GPUBENCH_UNROLL
            for (int w = 0; w < 4; ++w) {
                const int one = other + w * S::slices;
                values[w] = A{};
                there[w] = one >= tile || read_published(published_at<A>(published, (first + one) * S::columns + column), launch, values[w]);
            }
            GPUBENCH_UNROLL
            for (int w = 0; w < 4; ++w) {
                const int one = other + w * S::slices;
                while (!there[w]) there[w] = read_published(published_at<A>(published, (first + one) * S::columns + column), launch, values[w]);
                sum = add(sum, values[w]);
            }
        }
        parts[slice * S::columns + column] = sum;
    }
    block_barrier();
    Vector<A, S::items> result{};
    GPUBENCH_UNROLL
    for (int j = 0; j < S::items; ++j) {
        const int column = thread % S::lanes * S::items + j;
        result[j] = parts[column];
        for (int slice = 1; slice < S::slices; ++slice) result[j] = add(result[j], parts[slice * S::columns + column]);
    }
    return result;
}

// Turn the rows of each thread into sums within the tile: `before` gets the sums of the groups before this one, `total`
// those of the whole tile. totals: shared memory for the warps' sums.
template <class S, class A>
GPUBENCH_DEVICE void scan_tile(Vector<A, S::items> (&sums)[S::rows], Vector<A, S::items>& before, Vector<A, S::items>& total, A* totals) {
    const int lane = lane_index(), warp = thread_index_x() / warp_size;
    const int column = lane % S::lanes * S::items;
    GPUBENCH_UNROLL
    for (int j = 0; j < S::items; ++j) {
        GPUBENCH_UNROLL
        for (int r = 1; r < S::rows; ++r) sums[r][j] = add(sums[r - 1][j], sums[r][j]);
        A upto = sums[S::rows - 1][j];
        GPUBENCH_UNROLL
        for (int delta = S::lanes; delta < warp_size; delta *= 2) {
            const A other = shuffle_up(full_mask, upto, delta);
            if (lane >= delta) upto = add(other, upto);
        }
        const A left = shuffle_up(full_mask, upto, S::lanes % warp_size);
        before[j] = lane >= S::lanes ? left : A{};
        if (lane >= warp_size - S::lanes) totals[warp * S::columns + column + j] = upto;
    }
    block_barrier();
    GPUBENCH_UNROLL
    for (int j = 0; j < S::items; ++j) {
        A earlier{};
        A all{};
        GPUBENCH_UNROLL
        for (int other = 0; other < S::warps; ++other) {
            if (other == warp) earlier = all;
            all = add(all, totals[other * S::columns + column + j]);
        }
        before[j] = add(earlier, before[j]);
        total[j] = all;
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
    uint32 launch = 0;
    if constexpr (Linked) {
        if (thread_index_x() == 0) shared_launch[0] = static_cast<uint32>(fetch_add(launches, uint64{1}) / static_cast<uint64>(grid_size_x())) + 1;
        block_barrier();
        launch = shared_launch[0];
    }
    Vector<T, Items> raw[Rows];
    long long row = (member * static_cast<long long>(S::groups) + group) * Rows;
    load_rows<S>(raw, source + row * shape.x_row, row, length, shape.x_row);
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
        scan_tile<S>(sums, before, total, totals + turn % 2 * (Warps * S::columns));
        if constexpr (Linked) {
            if (thread_index_x() < Lanes) {
                GPUBENCH_UNROLL
                for (int j = 0; j < Items; ++j) {
                    publish(published_at<A>(published, (strip * shape.tiles + tile) * S::columns + thread_index_x() * Items + j), launch, total[j]);
                }
            }
            const int after = tile == member ? -1 : tile - shape.share;
            const Vector<A, Items> between = fold_columns<S>(published, launch, strip * shape.tiles, after, tile, parts);
            GPUBENCH_UNROLL
            for (int j = 0; j < Items; ++j) running[j] = add(running[j], between[j]);
        }
        GPUBENCH_UNROLL
        for (int j = 0; j < Items; ++j) before[j] = add(running[j], before[j]);
        GPUBENCH_UNROLL
        for (int r = 0; r < Rows; ++r) {
            Vector<Out, Items> out;
            GPUBENCH_UNROLL
            for (int j = 0; j < Items; ++j) out[j] = convert<Out>(add(before[j], sums[r][j]));
            if (here + r < length) store_vector(target + (here + r) * shape.inner, out);
        }
        GPUBENCH_UNROLL
        for (int j = 0; j < Items; ++j) running[j] = add(running[j], total[j]);
    }
}

}  // namespace gpubench::cumsum
