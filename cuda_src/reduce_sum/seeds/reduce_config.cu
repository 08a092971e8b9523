// sum, variant `reduce_config`: PyTorch's reduction, a block whose shape follows the tensor.
//
// The host reorders and merges the dims, the reduced ones first, and maps block x to the dim that is fastest in memory.
//   fastest dim reduced: the lanes of a row of the block share one output and read neighbours, in vectors of 4 when
//       it is one contiguous dim of more than 128 elements (head and tail, which are not aligned, element by element);
//   fastest dim kept: the lanes of a row hold neighbouring outputs, V = 4, 2 or 1 of them each, loaded as one vector.
// Along y a block holds further outputs, or splits the terms when a thread would have many; beyond that several blocks
// (grid y) split them: each puts its totals into a staging buffer, and the last to count itself in a semaphore adds
// those up. Every thread keeps 4 independent accumulators. Lanes combine by shuffles, warps through shared memory.
// Half and bfloat16 are added in float, integers in int64 (converted as they are loaded; the original converts an integer
// tensor in a launch of its own).
//
// A launch reaches 2^31 - 1 bytes and elements. Larger problems come as several launches over parts of the iterator; what
// was added before stands in the output, or for 16-bit floats in a buffer of float, until the last part.
//
// Source: PyTorch 2.6, aten/src/ATen/native/cuda/Reduce.cuh, as the text on reduce-sum quotes it; written anew.
// Known weak spots, kept: offsets by magic division for every element when the reduced dims do not merge; vectors only
// in loads; the semaphores are cleared by a memset before each launch that splits over blocks; 4 x 512 threads an SM are
// asked for, so that the widest form must do with 32 registers.
#include "gpubench/arithmetic.cuh"
#include "gpubench/offset_calculator.cuh"
#include "gpubench/vector.cuh"

namespace gpubench::sum {

namespace reduction {

constexpr int accumulators = 4;  // vt0 in the original
constexpr int input_vector = 4;  // elements of a load along the input

template <class T>
constexpr int max_threads = sizeof(T) == 16 ? 256 : 512;

// How the work is spread; 13 words, packed by the host. The multipliers say by how many terms (outputs) a step along
// block x, block y and, for terms, grid y moves; 0: not split that way.
struct Config {
    uint32 inputs;
    uint32 outputs;
    uint32 step_input;
    uint32 step_output;
    uint32 blocks_per_output;
    uint32 input_x;
    uint32 input_y;
    uint32 input_grid;
    uint32 output_x;
    uint32 output_y;
    uint32 vectorize_input;
    uint32 accumulate;
    uint32 final_part;

    GPUBENCH_DEVICE uint32 first_input() const {
        return static_cast<uint32>(thread_index_x()) * input_x + static_cast<uint32>(thread_index_y()) * input_y +
               static_cast<uint32>(block_index_y()) * input_grid;
    }
    template <int V>
    GPUBENCH_DEVICE uint32 first_output() const {
        return (static_cast<uint32>(thread_index_x()) * output_x + static_cast<uint32>(thread_index_y()) * output_y +
                static_cast<uint32>(block_index_x()) * step_output) * V;
    }
    GPUBENCH_DEVICE bool stores(uint32 output) const {
        return output < outputs && (input_x == 0 || thread_index_x() == 0) && (input_y == 0 || thread_index_y() == 0);
    }
    GPUBENCH_DEVICE bool takes_ends() const {  // of the threads that share an output, those of one row take head and tail
        return (input_y == 0 || thread_index_y() == 0) && (input_grid == 0 || block_index_y() == 0);
    }
    // Where the total of this thread's output and of the `part`th block stands in the staging buffer.
    GPUBENCH_DEVICE uint32 staging(uint32 part) const {
        const uint32 place = part + static_cast<uint32>(block_index_x()) * static_cast<uint32>(grid_size_y());
        return input_x != 0 ? place
                            : place * static_cast<uint32>(block_size_x()) + static_cast<uint32>(thread_index_x());
    }
};
GPUBENCH_LAYOUT(Config, 52, final_part, 48);

template <class A, int V>
GPUBENCH_DEVICE void add_to(Vector<A, V>& total, const Vector<A, V>& other) {
    GPUBENCH_UNROLL
    for (int i = 0; i < V; ++i) total[i] = add(total[i], other[i]);
}

// Terms of V neighbouring outputs, strided over the threads that share them. place(i): offset in bytes of term i.
template <int V, class A, class T, class Place>
GPUBENCH_DEVICE Vector<A, V> sum_strided(const T* data, const Config& config, const Place& place) {
    const auto at = [&](uint32 i) { return load_vector<V>(at_byte(data, place(i))); };
    const auto take = [](Vector<A, V>& total, const Vector<T, V>& terms) {
        GPUBENCH_UNROLL
        for (int j = 0; j < V; ++j) total[j] = add(total[j], convert<A>(terms[j]));
    };
    const uint32 end = config.inputs;
    const uint32 step = config.step_input;
    uint32 i = config.first_input();
    Vector<A, V> totals[accumulators] = {};
    Vector<T, V> terms[accumulators];
    while (i + (accumulators - 1) * step < end) {
        GPUBENCH_UNROLL
        for (int k = 0; k < accumulators; ++k) terms[k] = at(i + static_cast<uint32>(k) * step);
        GPUBENCH_UNROLL
        for (int k = 0; k < accumulators; ++k) take(totals[k], terms[k]);
        i += accumulators * step;
    }
    GPUBENCH_UNROLL
    for (int k = 0; k < accumulators; ++k) {
        if (i + static_cast<uint32>(k) * step < end) terms[k] = at(i + static_cast<uint32>(k) * step);
    }
    GPUBENCH_UNROLL
    for (int k = 0; k < accumulators; ++k) {
        if (i + static_cast<uint32>(k) * step < end) take(totals[k], terms[k]);
    }
    GPUBENCH_UNROLL
    for (int k = 1; k < accumulators; ++k) add_to(totals[0], totals[k]);
    return totals[0];
}

// Contiguous terms of one output in aligned vectors; what stands before the first and behind the last of them goes to
// the first threads of one row, an element each (a block is at least 32 wide here).
template <class A, class T>
GPUBENCH_DEVICE Vector<A, 1> sum_vectors(const T* data, const Config& config) {
    const uint32 lane = static_cast<uint32>(thread_index_x());
    uint32 end = config.inputs;
    A totals[input_vector] = {};
    const uint32 before = static_cast<uint32>(reinterpret_cast<uint64>(data) % (sizeof(T) * input_vector) / sizeof(T));
    if (before > 0) {
        data -= before;
        if (lane >= before && lane < input_vector && config.takes_ends()) totals[0] = convert<A>(data[lane]);
        data += input_vector;
        end -= input_vector - before;
    }
    for (uint32 i = config.first_input(); i * input_vector + input_vector - 1 < end; i += config.step_input) {
        const Vector<T, input_vector> terms = load_vector<input_vector>(data + i * input_vector);
        GPUBENCH_UNROLL
        for (int k = 0; k < input_vector; ++k) totals[k] = add(totals[k], convert<A>(terms[k]));
    }
    const uint32 tail = end - end % input_vector + lane;
    if (tail < end && config.takes_ends()) totals[0] = add(totals[0], convert<A>(data[tail]));
    GPUBENCH_UNROLL
    for (int k = 1; k < input_vector; ++k) totals[0] = add(totals[0], totals[k]);
    return {{totals[0]}};
}

template <int V, class A, class T>
GPUBENCH_DEVICE Vector<A, V> sum_of_thread(const T* data, const Config& config, const OffsetCalculator<1>& terms) {
    if constexpr (V == 1) {
        if (config.vectorize_input != 0) return sum_vectors<A>(data, config);
    }
    if (terms.dims == 1) {
        const uint32 step = terms.strides[0][0];
        if (step == sizeof(T)) {
            return sum_strided<V, A>(data, config, [](uint32 i) { return i * static_cast<uint32>(sizeof(T)); });
        }
        return sum_strided<V, A>(data, config, [=](uint32 i) { return i * step; });
    }
    return sum_strided<V, A>(data, config, [&](uint32 i) { return terms.offsets(i).bytes[0]; });
}

// Add up over the rows of the block, to row 0: a tree through shared memory. All threads call.
template <class A, int V>
GPUBENCH_DEVICE void reduce_rows(Vector<A, V>& value, Vector<A, V>* shared) {
    const int own = thread_index_x() + thread_index_y() * block_size_x();
    shared[own] = value;
    for (int offset = block_size_y() / 2; offset > 0; offset /= 2) {
        block_barrier();
        if (thread_index_y() < offset) {
            add_to(value, shared[own + offset * block_size_x()]);
            shared[own] = value;
        }
    }
}

// Add up over the lanes of a row, to lane 0: through shared memory down to a warp, then by shuffles. All threads call.
template <class A, int V>
GPUBENCH_DEVICE void reduce_lanes(Vector<A, V>& value, Vector<A, V>* shared) {
    int width = block_size_x();
    if (width > warp_size) {
        const int own = thread_index_x() + thread_index_y() * width;
        block_barrier();  // a reduction over rows may still be read
        shared[own] = value;
        for (int offset = width / 2; offset >= warp_size; offset /= 2) {
            block_barrier();
            if (thread_index_x() < offset) {
                add_to(value, shared[own + offset]);
                shared[own] = value;
            }
        }
        width = warp_size;
    }
    block_barrier();
    const int threads = block_size_x() * block_size_y();  // a power of two
    const uint32 mask = threads < warp_size ? (1u << threads) - 1u : full_mask;
    for (int offset = 1; offset < width; offset *= 2) {
        GPUBENCH_UNROLL
        for (int i = 0; i < V; ++i) value[i] = add(value[i], shuffle_down(mask, value[i], offset, width));
    }
}

template <class A, int V>
GPUBENCH_DEVICE void reduce_block(Vector<A, V>& value, Vector<A, V>* shared, const Config& config) {
    if (config.input_y != 0) reduce_rows(value, shared);
    if (config.input_x != 0) reduce_lanes(value, shared);
}

// Add up over the blocks that share these outputs. True in the last of them to arrive, which then holds the totals.
template <class A, int V>
GPUBENCH_DEVICE bool reduce_grid(Vector<A, V>& value, Vector<A, V>* shared, Vector<A, V>* staging, uint32* semaphores,
                                 const Config& config) {
    const uint32 output = config.first_output<V>();
    if (config.stores(output)) staging[config.staging(static_cast<uint32>(block_index_y()))] = value;
    memory_fence();
    block_barrier();
    bool last = false;
    if (thread_index_x() == 0 && thread_index_y() == 0) {
        last = fetch_add(semaphores + block_index_x(), 1u) == static_cast<uint32>(grid_size_y()) - 1;
    }
    if (!block_barrier_or(last)) return false;
    memory_fence();
    value = Vector<A, V>{};
    const bool lanes = config.input_x != 0;  // lanes share the output, so they share its parts too
    uint32 part = static_cast<uint32>(lanes ? thread_index_x() + thread_index_y() * block_size_x() : thread_index_y());
    const uint32 step = static_cast<uint32>(lanes ? block_size_x() * block_size_y() : block_size_y());
    if (output < config.outputs) {
        for (; part < config.blocks_per_output; part += step) add_to(value, staging[config.staging(part)]);
    }
    reduce_rows(value, shared);
    if (lanes) reduce_lanes(value, shared);
    return true;
}

// Write V totals, on top of what earlier parts of the iterator left in `partial` or, without it, in the output.
template <class Out, class A, int V>
GPUBENCH_DEVICE void store_totals(const Vector<A, V>& value, Out* y, A* partial, uint32 output, const Config& config,
                                  const OffsetCalculator<2>& outputs) {
    GPUBENCH_UNROLL
    for (int i = 0; i < V; ++i) {
        const uint32 place = outputs.offsets(output + static_cast<uint32>(i)).bytes[0] / static_cast<uint32>(sizeof(Out));
        A total = value[i];
        if (config.accumulate != 0) total = add(partial != nullptr ? partial[place] : convert<A>(y[place]), total);
        if (partial != nullptr && config.final_part == 0) partial[place] = total;
        else y[place] = convert<Out>(total);
    }
}

}  // namespace reduction

// terms: the reduced dims, offsets in bytes; outputs: the kept dims, offsets in bytes in y and in x. partial may be null.
template <class T, class Out, int V>
GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(reduction::max_threads<T> / V, 4)
    reduce_config(const T* x, Out* y, accumulator_t<Out>* partial, accumulator_t<Out>* staging, uint32* semaphores,
                  reduction::Config config, OffsetCalculator<1> terms, OffsetCalculator<2> outputs) {
    using A = accumulator_t<Out>;
    using Totals = Vector<A, V>;
    GPUBENCH_DYNAMIC_SHARED(Totals, shared);
    const uint32 output = config.first_output<V>();
    Totals value{};
    if (output < config.outputs && config.first_input() < config.inputs) {
        value = reduction::sum_of_thread<V, A>(at_byte(x, outputs.offsets(output).bytes[1]), config, terms);
    }
    reduction::reduce_block(value, shared, config);
    if (config.input_grid != 0) {
        Totals* const parts = reinterpret_cast<Totals*>(staging);
        if (!reduction::reduce_grid(value, shared, parts, semaphores, config)) return;
    }
    if (config.stores(output)) reduction::store_totals(value, y, partial, output, config, outputs);
}

}  // namespace gpubench::sum
