// cumsum, variant `linked_blocks`, where rows are more than registers hold: a block keeps part of its tile in shared memory.
//
//     a warp's part of the tile:   | Vectors x 32 vectors in registers | staged x 32 vectors in shared memory |
//
// Data: each warp asks for its stage by one bulk copy, then loads its registers; the whole row is under way or there at
// once, and stays as it is in memory (16-bit floats in pairs, integers as narrow as they come). A warp sums what it holds,
// lane by lane, and the block publishes its tile's sum. With the sums of the tiles before (one hop, as in block_rows.cu)
// the registers' part is scanned and stored, then the stage's, which is read again while earlier stores drain. So what
// registers do not hold costs two reads of shared memory and no global traffic; and as nothing is scanned before the
// hop, registers hold x and little else.
// Loads let the L2 cache give up x first, so that they need not wait until dirty lines are written: all of x is used from here on.
// On one H200: 2^23 float32 23.5 us (25.8 without that, 28.2 by carry_forward), 2^24 float16 23.9 (25.6, 30.5).
// All blocks must be resident at the same time; the host side sees to it, and to stages that begin on 16 bytes of x.
#include "gpubench/arithmetic.cuh"
#include "gpubench/block/scan.cuh"
#include "gpubench/grid/gather.cuh"
#include "gpubench/movement/bulk_run.cuh"
#include "gpubench/movement/shifted.cuh"

namespace gpubench::cumsum {

template <int V, class Local, class T>
GPUBENCH_DEVICE Local sum_items(const Packed<T, V>& raw) {
    return reduce_items<V>(unpack_items<V, Local>(raw), Add{});
}

// The same words, of which the compiler knows nothing: what it made of them for the tile's sum it would keep in registers.
template <int V, class T>
GPUBENCH_DEVICE Packed<T, V> unknown(const Packed<T, V>& raw) {
    struct Words {
        int words[4];
    };
    if constexpr (V == 1 || sizeof(raw) != sizeof(Words)) {
        return raw;
    } else {
        Words all = bit_cast<Words>(raw);
        GPUBENCH_UNROLL
        for (int i = 0; i < 4; ++i) all.words[i] = opaque(all.words[i]);
        return bit_cast<Packed<T, V>>(all);
    }
}

// Store a vector's running sums. run: the sum of the tile before the warp's vectors, moved on behind them; carry: of the
// row before the tile.
template <int V, class A, class Local, class T, class Out>
GPUBENCH_DEVICE void store_sums(Out* target, const Span& span, int k, const Packed<T, V>& raw, Local& run, A carry) {
    Vector<Local, V> items = unpack_items<V, Local>(raw);
    scan_items<V>(items, Add{});
    const Local before = before_lane(scan_lanes(items[V - 1], Add{}), run, Add{});
    if constexpr (is_same<A, Local>) {
        combine_before<V>(items, add(carry, before), Add{});
        store_items<V>(target, span, k, items);
    } else {
        combine_before<V>(items, before, Add{});
        Vector<A, V> wide = convert_items<V, A>(items);
        combine_before<V>(wide, carry, Add{});
        store_items<V>(target, span, k, wide);
    }
}

// tiles: blocks a row. staged: vectors of a thread in dynamic shared memory. launches, sums: workspace, zero before the
// first launch.
template <class T, class Out, int Warps, int Vectors>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(Warps* warp_size, 1024 / (Warps * warp_size))
    staged_blocks(const T* x, Out* y, long long length, int tiles, int staged, long long x_pitch, uint64* launches, void* sums) {
    using A = accumulator_t<Out>;
    using Local = tile_accumulator_t<T, A>;
    constexpr int V = vector_items<T, Out>, step = warp_size * V;
    GPUBENCH_DYNAMIC_SHARED(char, stages);
    GPUBENCH_SHARED(PhaseBarrier, landed, Warps);
    GPUBENCH_SHARED(Local, warp_sums, Warps);
    GPUBENCH_SHARED(uint32, launch, 1);
    uint64 ticket = 0;
    if (thread_index_x() == 0) ticket = take_ticket(launches);
    const int lane = lane_index(), warp = thread_index_x() / warp_size;
    const int block = block_index_x(), row = block / tiles, tile = block - row * tiles;
    Out* const target = y + row * length;
    const T* const source = x + row * x_pitch;
    const int shift = empty_slots<V>(y, row * length);
    const long long first = static_cast<long long>(tile * Warps + warp) * ((Vectors + staged) * step) - shift;
    const long long left = length - first;
    T* const stage = reinterpret_cast<T*>(stages) + warp * staged * step;
    const StageBarriers own{landed + warp};
    open_stage(stage, source + first + Vectors * step, staged * step, left - Vectors * step, own, true);
    const int end = static_cast<int>(left > 0x40000000 ? 0x40000000 : left) - lane * V;  // may be negative
    const Span span{first + lane * V, step, first + lane * V < 0 ? shift : 0, end};
    Packed<T, V> raw[Vectors];
    load_aligned_span<V, Vectors, Cache::streaming>(raw, source, span);
    if (thread_index_x() == 0) launch[0] = launch_number(ticket);
    Local sum{};
    GPUBENCH_UNROLL
    for (int k = 0; k < Vectors; ++k) sum = add(sum, sum_items<V, Local>(raw[k]));
    own.wait(0, 0);
    for (int k = 0; k < staged; ++k) sum = add(sum, sum_items<V, Local>(load_staged<V>(stage, k, lane)));
    sum = combine_lanes(sum, Add{});
    share_warp_totals(sum, warp_sums, warp, lane);
    if (warp == 0) {  // a branch of its own, or the compiler may publish behind what all warps do next
        const Local total = combine_lanes(lane < Warps ? warp_sums[lane] : Local{}, Add{});
        if (lane == 0) publish(published_at<A>(sums, block), launch[0], convert<A>(total));
        warp_barrier();
    }
    Local run = combine_lanes(lane < warp ? warp_sums[lane] : Local{}, Add{});
    const A carry = gather_before<Warps>(launch[0], sums, block - tile, block, A{}, Add{});
    GPUBENCH_UNROLL
    for (int k = 0; k < Vectors; ++k) store_sums<V>(target, span, k, unknown(raw[k]), run, carry);
    for (int k = 0; k < staged; ++k) {
        store_sums<V>(target, span, Vectors + k, load_staged<V>(stage, k, lane), run, carry);
    }
}

}  // namespace gpubench::cumsum
