// The sum of each tile of x, one block a tile: vector loads, a butterfly in each warp, one total a warp through shared
// memory. `Bug` plants one mistake; Bug::none is right under every schedule. For the tests of the host device only.
#include "gpubench/vector.cuh"
#include "gpubench/warp.cuh"

namespace gpubench::planted {

enum class Bug {
    none,
    missing_barrier,
    divergent_barrier,
    early_exit,
    off_by_one,
    shared_off_by_one,
    uninitialised,
    wrong_mask,
    absent_lane,
    lane_outside_mask,
    misaligned,
    overflow,
    lost_update,
    lost_global_update,
    overlapping_outputs,
    endless_wait,
    wild_pointer,
    deep_recursion,
};

struct Sum {
    GPUBENCH_DEVICE float operator()(float a, float b) const { return a + b; }
};

GPUBENCH_DEVICE int depth(volatile int* n) {
    volatile char frame[4096];
    frame[0] = static_cast<char>(*n);
    *n = *n - 1;
    return *n <= 0 ? frame[0] : depth(n) + frame[0];
}

// x: tiles of 4 * blockDim floats, `step` floats apart; y: one float a block.
template <Bug bug>
GPUBENCH_KERNEL void block_sum(const float* x, float* y, const uint32* flag, int step) {
    GPUBENCH_SHARED(float, totals, 32);
    const int thread = thread_index_x();
    const int warps = block_size_x() / warp_size;
    if (bug == Bug::early_exit && thread >= 2 * warp_size) return;
    if (bug == Bug::overflow) step = step * (1 << 22);
    const int start = block_index_x() * step + (bug == Bug::misaligned ? 1 : 0);
    Vector<float, 4> values;
    if (bug == Bug::off_by_one) {
        for (int i = 0; i < 4; ++i) values[i] = x[start + 4 * thread + i + 1];
    } else if (bug == Bug::wild_pointer) {
        values = Vector<float, 4>{*reinterpret_cast<const float*>(0x10)};
    } else {
        values = load_vector<4>(x + start + 4 * thread);
    }
    if (bug == Bug::endless_wait) {
        while (load_acquire(flag) == 0) back_off(20);
    }
    if (bug == Bug::deep_recursion) {
        int n = 1000;
        values[0] += static_cast<float>(depth(&n) & 0);
    }
    const float own = values[0] + values[1] + values[2] + values[3];
    float total = 0;
    if (bug == Bug::wrong_mask) {
        total = own + shuffle_xor(0x0000ffffu, own, 1);
    } else if (bug == Bug::absent_lane) {
        if (lane_index() != 7) total = own + shuffle_xor(full_mask, own, 1);
    } else if (bug == Bug::lane_outside_mask) {
        if (lane_index() < 16) total = own + shuffle_down(0x0000ffffu, own, 1);
    } else {
        total = warp_reduce_all(own, Sum{});
    }
    if (lane_index() == 0 && !(bug == Bug::uninitialised && thread == warp_size)) {
        totals[thread / warp_size + (bug == Bug::shared_off_by_one ? 31 : 0)] = total;
    }
    if (bug == Bug::divergent_barrier) {
        if (thread < 2 * warp_size) block_barrier();
        else if (thread == 3 * warp_size) block_barrier();
    } else if (bug != Bug::missing_barrier) {
        block_barrier();
    }
    if (bug == Bug::lost_update) {
        totals[0] = totals[0] + total;
        block_barrier();
    }
    if (bug == Bug::lost_global_update && thread < 2) y[block_index_x()] = y[block_index_x()] + total;
    if (bug == Bug::overlapping_outputs && thread == 0) y[0] = total;
    if (thread == 0) {
        float sum = 0;
        for (int warp = 0; warp < warps; ++warp) sum += totals[warp];
        y[block_index_x()] = sum;
    }
}

}  // namespace gpubench::planted
