// cumsum, variants `column_ring` and `linked_ring`: columns.cu with a ring of stages in shared memory.
//
// Data: a strip of Lanes x Items columns in tiles of rows, as in columns.cu. Bulk copies keep the next tiles of the block
// on their way into shared memory, so what is in flight does not cost registers. A tile is read twice from its stage: once
// for the sums of its columns, one tile ahead, which `linked_ring` publishes at once; and once to add and store, when the
// sums of all tiles in between have long arrived. On one H200, float32: 16384 x 16384 534 us (0.945 of a device copy; 531
// by columns.cu), 262144 x 64 55 us (51.5 by linked_columns, 49.2 by column_forward). 16-bit floats are faster by columns.cu.
// Strips whose rows lie side by side come by one copy a tile, others by one copy a row. A copy of the whole rows needs no
// alignment: Items is 1 then, and Lanes the next power of two of the columns.
#include "gpubench/arithmetic.cuh"
#include "gpubench/block/column_scan.cuh"
#include "gpubench/grid/gather.cuh"
#include "gpubench/movement/bulk_run.cuh"
#include "gpubench/movement/stages.cuh"
#include "gpubench/movement/strips.cuh"

namespace gpubench::cumsum {

// A block's strip, and its ring.
template <class T>
struct ColumnRing {
    const T* source;        // first row of the strip
    const T* limit;         // behind the last element of x
    long long length, step;  // rows; distance between them in x
    int columns;            // that exist
    bool contiguous;
    char* stages;
    int stage_bytes;
    PhaseBarrier* full;

    GPUBENCH_DEVICE int rows_at(long long row, int most) const {
        const long long left = length - row;
        return left < most ? static_cast<int>(left) : most;
    }
    // Where the tile that begins at `row` starts in its stage.
    GPUBENCH_DEVICE const T* tile(int stage, long long row) const {
        const int lead = contiguous ? static_cast<int>(reinterpret_cast<uint64>(source + row * step) & 15) : 0;
        return reinterpret_cast<const T*>(stages + stage * stage_bytes + lead);
    }
};

// Bring a tile into its stage. All warps call and arrive; where the rows are apart, each of them brings some.
template <class S, class T>
GPUBENCH_DEVICE void fill(const ColumnRing<T>& ring, int stage, long long row) {
    const int rows = ring.rows_at(row, S::tile);
    const int warp = thread_index_x() / warp_size;
    char* const target = ring.stages + stage * ring.stage_bytes;
    const T* const start = ring.source + row * ring.step;
    if (!ring.contiguous) {
        constexpr int part = S::tile / S::warps;
        const int left = rows - warp * part;
        const int mine = left < 0 ? 0 : left < part ? left : part;
        const uint32 row_bytes = static_cast<uint32>(ring.columns) * static_cast<uint32>(sizeof(T));
        warp_copy_rows(target + warp * part * row_bytes, start + warp * part * ring.step, mine, row_bytes,
                       ring.step * static_cast<long long>(sizeof(T)), ring.full + stage);
        return;
    }
    if (warp > 0) {
        phase_arrive(ring.full + stage);
        return;
    }
    copy_run(target, start, start + static_cast<long long>(rows) * ring.columns, ring.limit, ring.full + stage, false);
}

// The sums of this thread's rows, from `rows` rows of its columns.
template <class S, class T>
GPUBENCH_DEVICE Vector<typename S::A, S::items> sum_rows(const T* tile, int row, int rows, int pitch) {
    using A = typename S::A;
    Vector<A, S::items> sum{};
    GPUBENCH_UNROLL
    for (int r = 0; r < S::rows; ++r) {
        if (row + r < rows) combine_items(sum, unpack_items<S::items, A>(load_packed<S::items>(tile + (row + r) * pitch)), Add{});
    }
    return sum;
}

// launches, published: workspace, zero before the first launch; used when Linked.
template <class T, class Out, int Items, int Lanes, int Rows, int Warps, int Stages, int Blocks, bool Linked>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(Warps* warp_size, Blocks)
    column_ring(const T* x, Out* y, ColumnShape shape, uint64* launches, void* published) {
    using S = Strip<T, Out, Items, Lanes, Rows, Warps>;
    using A = typename S::A;
    GPUBENCH_DYNAMIC_SHARED(char, stages);
    GPUBENCH_SHARED(PhaseBarrier, full, Stages);
    GPUBENCH_SHARED(A, totals, 2 * Warps * S::columns);
    GPUBENCH_SHARED(A, parts, Linked ? S::slices * S::columns : 1);
    GPUBENCH_SHARED(uint32, shared_launch, 1);
    const long long strip = block_index_x() / shape.share;
    const int member = static_cast<int>(block_index_x() - strip * shape.share);
    const long long outer = strip / shape.strips;
    const long long first_column = (strip - outer * shape.strips) * S::columns;
    const int columns = shape.inner - first_column < S::columns ? static_cast<int>(shape.inner - first_column) : S::columns;
    const ColumnRing<T> ring{x + outer * shape.x_outer + first_column, x + shape.elements, shape.length, shape.x_row, columns,
                             shape.x_row == columns, stages, S::tile * S::columns * static_cast<int>(sizeof(T)) + 32, full};
    const int column = thread_index_x() % Lanes * Items;
    const int group_row = thread_index_x() / Lanes * Rows;
    const bool mine = column < columns;
    Out* const target = y + outer * shape.length * shape.inner + first_column + column;
    const auto first_row = [&](int tile) { return static_cast<long long>(tile) * S::tile; };
    if (thread_index_x() == 0) {
        for (int stage = 0; stage < Stages; ++stage) phase_init(full + stage, Warps);
        phase_init_done();
    }
    block_barrier();
    uint64 ticket = 0;
    if (Linked && thread_index_x() == 0) ticket = take_ticket(launches);
    for (int stage = 0; stage < Stages; ++stage) {
        const int tile = member + stage * shape.share;
        if (tile < shape.tiles) fill<S>(ring, stage, first_row(tile));
    }
    Vector<A, Items> before, total, next_before, next_total, running{};
    const auto look_at = [&](int tile, int turn) {  // the sums of a tile, as soon as it has landed
        const int stage = turn % Stages;
        phase_wait(full + stage, (turn / Stages) & 1);
        Vector<A, Items> upto{};
        if (mine) upto = sum_rows<S>(ring.tile(stage, first_row(tile)) + column, group_row, ring.rows_at(first_row(tile), S::tile), columns);
        scan_groups_of_block<S>(upto, next_before, next_total, totals + turn % 2 * (Warps * S::columns), Add{});
        if constexpr (Linked) publish_columns<S>(published, shared_launch[0], strip * shape.tiles + tile, next_total);
    };
    if (Linked && thread_index_x() == 0) shared_launch[0] = launch_number(ticket);  // seen behind a barrier of the first look
    if (member < shape.tiles) look_at(member, 0);
    int turn = 0;
    for (int tile = member; tile < shape.tiles; tile += shape.share, ++turn) {
        before = next_before;
        total = next_total;
        if (tile + shape.share < shape.tiles) look_at(tile + shape.share, turn + 1);
        if constexpr (Linked) {
            const int after = tile == member ? -1 : tile - shape.share;
            combine_items(running, gather_columns<S>(published, shared_launch[0], strip * shape.tiles, after, tile, parts, Add{}), Add{});
        }
        combine_items(before, running, Add{});
        const T* const source = ring.tile(turn % Stages, first_row(tile)) + column;
        const int rows = mine ? ring.rows_at(first_row(tile), S::tile) : 0;
        GPUBENCH_UNROLL
        for (int r = 0; r < Rows; ++r) {
            if (group_row + r < rows) {
                combine_items(before, unpack_items<Items, A>(load_packed<Items>(source + (group_row + r) * columns)), Add{});
                store_packed(target + (first_row(tile) + group_row + r) * shape.inner, pack_items<Items, Out>(before));
            }
        }
        combine_items(running, total, Add{});
        block_barrier();  // the stage has been read
        const int later = tile + Stages * shape.share;
        if (later < shape.tiles) fill<S>(ring, turn % Stages, first_row(later));
    }
}

}  // namespace gpubench::cumsum
