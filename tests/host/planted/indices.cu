// How elements are numbered: division by a known divisor, and the elements that a thread holds. For tests only.
#include "elementwise/seeds/items.cuh"
#include "gpubench/grid.cuh"
#include "gpubench/integer_divider.cuh"

namespace gpubench::planted {

// numbers, dividers, quotients, remainders: one each for every division.
GPUBENCH_KERNEL void divide(const uint32* numbers, const IntegerDivider* dividers, uint32* quotients, uint32* remainders,
                            int n) {
    for (long long i = grid_thread(); i < n; i += grid_threads()) {
        const IntegerDivider::Result result = dividers[i].divide(numbers[i]);
        quotients[i] = result.quotient;
        remainders[i] = result.remainder;
    }
}

// held[thread * N + i]: item i of a thread, of one tile that starts at x.
template <int Width, int N>
GPUBENCH_KERNEL void hold_vectors(const int* x, int* held) {
    const auto items = elementwise::load_vectors<Width, N>(x);
    for (int i = 0; i < N; ++i) held[thread_index_x() * N + i] = items.values[i];
}

}  // namespace gpubench::planted
