// Sums of floats in shared memory, 8 bytes at a time. Shared memory knows no addition of floats: the compiler makes a loop for each that
// reads, and compares and swaps. Here a lane takes what stands in a word and leaves zero, then puts the sum there; what another one has put
// there meanwhile it gets in exchange, and goes on with that. So nobody waits for anybody, and two floats take two accesses, not four.
#pragma once

#include "gpubench/vector.cuh"
#include "index_add/sums.cuh"

namespace gpubench::index_add {

template <class A>
GPUBENCH_DEVICE uint64 sum_of_words(uint64 a, uint64 b) {
    using Items = Vector<A, 8 / sizeof(A)>;
    Items sum = bit_cast<Items>(a);
    add_to(sum, bit_cast<Items>(b));
    return bit_cast<uint64>(sum);
}

// `more` comes to the words at(0), at(1) ..., all on their way at once.
template <class A, int V, class At>
GPUBENCH_DEVICE void add_by_exchange(const Vector<A, V>& more, const At& at) {
    constexpr int count = V * sizeof(A) / sizeof(uint64);
    auto mine = bit_cast<Vector<uint64, count>>(more);
    Vector<uint64, count> taken;
    GPUBENCH_UNROLL
    for (int i = 0; i < count; ++i) taken[i] = atomic_exchange(at(i), uint64{0});
    GPUBENCH_UNROLL
    for (int i = 0; i < count; ++i) mine[i] = atomic_exchange(at(i), sum_of_words<A>(mine[i], taken[i]));
    GPUBENCH_UNROLL
    for (int i = 0; i < count; ++i) {
        while (mine[i] != 0) {
            const uint64 there = atomic_exchange(at(i), uint64{0});
            mine[i] = atomic_exchange(at(i), sum_of_words<A>(mine[i], there));
        }
    }
}

}  // namespace gpubench::index_add
