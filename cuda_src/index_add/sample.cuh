// What a list is like, seen by a block in a sample of it: whether an index that much of it shares would make atomics meet.
//
// Data: warps read groups of 32 neighbours, one somewhere in each of as many equal parts of the list, all at once, and count hashes of
// their indices in shared memory; of neighbours with one index only the first counts, for a list in order does not make atomics wait. A
// hash that comes up too often says that there is such an index. Every block that looks finds the same.
#pragma once

#include "gpubench/block/together.cuh"
#include "gpubench/sampling.cuh"
#include "gpubench/warp.cuh"

namespace gpubench::index_add {

constexpr int sample_items = 4096;
constexpr int sample_counts = 8192;  // words of shared memory
constexpr uint32 sample_shift = 32 - 13;

// What the launches of a plan do: those that sort come first, and the one that adds by atomics last.
enum class Choice : uint32 { sort, atomics };

GPUBENCH_DEVICE bool is_chosen(const uint32* choice, Choice which) { return *choice == static_cast<uint32>(which); }

// By all threads of a block: atomics where no hash comes up `often` in a sample of at least 4096 indices.
template <int Warps, class Index>
GPUBENCH_DEVICE Choice choose(const Index* index, uint32 count, uint32 often, uint32* counts) {
    constexpr int items = sample_items / (Warps * warp_size), groups = sample_items / warp_size;
    const uint32 part = count / groups;
    uint32 hashes[items];
    GPUBENCH_UNROLL
    for (int k = 0; k < items; ++k) {
        const uint32 group = thread_index_x() / warp_size * items + k;
        const uint32 first = group * part + sampled_place(group, count, part), last = count - warp_size;
        hashes[k] = static_cast<uint32>(index[(first < last ? first : last) + lane_index()]);
    }
    together<Warps * warp_size>(sample_counts, [&](int i) { counts[i] = 0; });
    const auto count_all = [&] {
        GPUBENCH_UNROLL
        for (int k = 0; k < items; ++k) {
            hashes[k] = hashes[k] * 2654435769u >> sample_shift;
            const uint32 left = shuffle_up(full_mask, hashes[k], 1);
            if (lane_index() == 0 || left != hashes[k]) atomic_add(counts + hashes[k], 1u);
        }
    };
    return exchange(count_all, [&] {
        bool found = false;
        GPUBENCH_UNROLL
        for (int k = 0; k < items; ++k) found = found || counts[hashes[k]] >= often;
        return any_thread(found) ? Choice::sort : Choice::atomics;
    });
}

}  // namespace gpubench::index_add
