// index_add, variant `private_copies`: a few places for single elements; every lane of every warp has a copy of them.
//
// Data: lanes read neighbouring elements and indices, eight at once, in vectors where both stand on 16 bytes, and add each to their own
// copy in shared memory, whose words of one lane lie in one bank: no atomics, no conflicts. The first ones are asked for before the copies
// are cleared. Then a warp adds up the copies of a place, the block leaves its sums in the workspace, and the block that arrives last adds
// those of all blocks to the destination. The order of every addition is fixed.
//
// `add_private_rows`: one list for many repetitions. A block keeps the list in 16 bits in shared memory; a warp takes a repetition,
// each lane with its copy, whose last place takes what comes to no place: a branch would keep the elements from being asked for at
// once. Then each lane adds up the copies of a place of its own, every one from another copy on, so that lanes meet no bank twice.
#include "gpubench/block/together.cuh"
#include "gpubench/grid.cuh"
#include "gpubench/grid/last_arriver.cuh"
#include "gpubench/movement/row_vectors.cuh"
#include "gpubench/vector.cuh"
#include "index_add/sums.cuh"

namespace gpubench::index_add {

constexpr int copies_at_once = 8;

struct CopiesShape {
    int64 count;
    int64 place_step, index_step;  // elements between places of the destination, of the source
    int32 places;
    int32 unused;
    double alpha;
};
GPUBENCH_LAYOUT(CopiesShape, 40, alpha, 32);

// Elements of a vector of 16 bytes, of which a thread adds no more at once.
template <class T>
constexpr int copies_vector = sizeof(T) < 2 ? copies_at_once : 16 / static_cast<int>(sizeof(T));

// Add the elements of vectors from `first` on to the lane's copy; those behind `stop` do not exist.
template <int V, class T, class Index>
GPUBENCH_DEVICE void add_to_copy(sum_t<T>* copy, const T* source, const Index* index, int64 first, int64 stop, const CopiesShape& shape) {
    constexpr int vectors = copies_at_once / V;
    const alpha_t<T> alpha = alpha_of<T>(shape.alpha);
    for (int64 base = first + grid_thread() * V; base < stop; base += copies_at_once * grid_threads()) {
        Vector<Index, V> rows[vectors];
        Vector<T, V> raw[vectors];
        bool exist[vectors];
        GPUBENCH_UNROLL
        for (int k = 0; k < vectors; ++k) {
            const int64 i = base + k * V * grid_threads();
            exist[k] = i < stop;
            rows[k] = bit_cast<Vector<Index, V>>(vector_if<V, Cache::streaming>(index + i, exist[k]));
            raw[k] = bit_cast<Vector<T, V>>(vector_if<V, Cache::streaming>(source + i * shape.index_step, exist[k]));
        }
        GPUBENCH_UNROLL
        for (int k = 0; k < vectors; ++k) {
            GPUBENCH_UNROLL
            for (int j = 0; j < V; ++j) {
                const int64 row = static_cast<int64>(rows[k][j]);
                if (!exist[k] || row < 0 || row >= shape.places) continue;
                sum_t<T>* const place = copy + row * warp_size;
                *place = add_scaled<T>(*place, convert<sum_t<T>>(raw[k][j]), alpha);
            }
        }
    }
}

// Ask for what add_to_copy begins with.
template <class T, class Index>
GPUBENCH_DEVICE void ask_first(const T* source, const Index* index, const CopiesShape& shape) {
    constexpr int V = copies_vector<T>;
    const int64 first = grid_thread() * V;
    GPUBENCH_UNROLL
    for (int k = 0; k < copies_at_once / V; ++k) {
        const int64 i = first + k * V * grid_threads();
        if (i >= shape.count) break;
        prefetch(index + i);
        if constexpr (V * sizeof(Index) > 32) prefetch(index + (i + V < shape.count ? i + V / 2 : i));
        prefetch(source + i * shape.index_step);
    }
}

// parts: [blocks][places]. counter: zero before the first launch; the last block leaves it so.
template <class T, class Index>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(1024, 1)
    add_private(T* destination, const T* source, const Index* index, sum_t<T>* parts, uint32* counter, const CopiesShape shape) {
    using A = sum_t<T>;
    GPUBENCH_DYNAMIC_SHARED(A, copies);
    const int warp = thread_index_x() / warp_size, warps = block_size_x() / warp_size, one = shape.places * warp_size;
    ask_first(source, index, shape);
    together(warps * one, [&](int i) { copies[i] = A{}; });
    A* const copy = copies + warp * one + lane_index();
    constexpr int V = copies_vector<T>;
    const bool wide = shape.index_step == 1 && is_aligned(source, V * sizeof(T)) && is_aligned(index, 16);
    const int64 whole = wide ? shape.count - shape.count % V : 0;
    if (wide) add_to_copy<V>(copy, source, index, 0, whole, shape);
    add_to_copy<1>(copy, source, index, whole, shape.count, shape);
    after_all_by_warps(shape.places, [&](int place) {
        A sum{};
        for (int other = 0; other < warps; ++other) sum = add(sum, copies[other * one + place * warp_size + lane_index()]);
        sum = combine_lanes(sum, Add{});
        if (lane_index() == 0) parts[block_index_x() * shape.places + place] = sum;
    });
    const int blocks = grid_size_x();
    if (thread_index_x() < static_cast<uint32>(shape.places)) prefetch(destination + thread_index_x() * shape.place_step);
    if (!last_block_to_arrive(counter, static_cast<uint32>(blocks))) return;
    constexpr int places_at_once = 3;
    for (int first = warp; first < shape.places; first += places_at_once * warps) {
        A sums[places_at_once]{};
        for (int block = lane_index(); block < blocks; block += warp_size) {
            GPUBENCH_UNROLL
            for (int k = 0; k < places_at_once; ++k) {
                const int place = first + k * warps;
                if (place < shape.places) sums[k] = add(sums[k], parts[block * shape.places + place]);
            }
        }
        GPUBENCH_UNROLL
        for (int k = 0; k < places_at_once; ++k) {
            const int place = first + k * warps;
            if (place >= shape.places) break;
            sums[k] = combine_lanes(sums[k], Add{});
            T* const target = destination + place * shape.place_step;
            if (lane_index() == 0) *target = convert<T>(add(convert<A>(*target), sums[k]));
        }
    }
}

struct PrivateRowsShape {
    int64 place_step, index_step;    // elements between neighbours of a repetition
    int64 outer_place, outer_index;  // between repetitions
    int64 outers;
    int32 places;
    int32 count;  // indices
    double alpha;
};
GPUBENCH_LAYOUT(PrivateRowsShape, 56, alpha, 48);

// Add a repetition's elements to the lane's copy.
template <class T>
GPUBENCH_DEVICE void add_row_to_copy(sum_t<T>* copy, const T* source, const uint16* list, const PrivateRowsShape& shape) {
    const alpha_t<T> alpha = alpha_of<T>(shape.alpha);
    for (int base = lane_index(); base < shape.count; base += copies_at_once * warp_size) {
        T raw[copies_at_once];
        int places[copies_at_once];
        GPUBENCH_UNROLL
        for (int k = 0; k < copies_at_once; ++k) {
            const int i = base + k * warp_size;
            raw[k] = i < shape.count ? load<Cache::read_only>(source + i * shape.index_step) : T{};
            places[k] = i < shape.count ? list[i] : shape.places;
        }
        GPUBENCH_UNROLL
        for (int k = 0; k < copies_at_once; ++k) {
            sum_t<T>* const place = copy + places[k] * warp_size;
            *place = add_scaled<T>(*place, convert<sum_t<T>>(raw[k]), alpha);
        }
    }
}

// The warp's copies go to the destination, and are zero again.
template <class T>
GPUBENCH_DEVICE void flush_copies(sum_t<T>* copies, T* destination, const PrivateRowsShape& shape) {
    using A = sum_t<T>;
    for (int place = lane_index(); place < shape.places; place += warp_size) {
        T* const target = destination + place * shape.place_step;
        const auto copy = [&](int k) { return copies + place * warp_size + ((k + lane_index()) & (warp_size - 1)); };
        const T old = *target;
        A sum{};
        GPUBENCH_UNROLL
        for (int k = 0; k < warp_size; ++k) sum = add(sum, *copy(k));
        GPUBENCH_UNROLL
        for (int k = 0; k < warp_size; ++k) *copy(k) = A{};
        *target = convert<T>(add(convert<A>(old), sum));
    }
}

// The copies of all warps, zero between repetitions, then the list.
template <class T, class Index>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(1024, 1)
    add_private_rows(T* destination, const T* source, const Index* index, const PrivateRowsShape shape) {
    using A = sum_t<T>;
    GPUBENCH_DYNAMIC_SHARED(A, copies);
    const int warp = thread_index_x() / warp_size, warps = block_size_x() / warp_size, one = (shape.places + 1) * warp_size;
    uint16* const list = reinterpret_cast<uint16*>(copies + warps * one);
    for (int i = thread_index_x(); i < warps * one; i += block_size_x()) copies[i] = A{};
    together(shape.count, [&](int i) {
        const int64 row = static_cast<int64>(index[i]);
        list[i] = static_cast<uint16>(row >= 0 && row < shape.places ? row : shape.places);
    });
    A* const own = copies + warp * one;
    const int64 step = static_cast<int64>(grid_size_x()) * warps;
    for (int64 outer = static_cast<int64>(block_index_x()) * warps + warp; outer < shape.outers; outer += step) {
        add_row_to_copy(own + lane_index(), source + outer * shape.outer_index, list, shape);
        warp_barrier();
        flush_copies(own, destination + outer * shape.outer_place, shape);
        warp_barrier();
    }
}

}  // namespace gpubench::index_add
