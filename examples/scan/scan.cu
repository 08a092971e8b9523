// One block sums one row: each warp scans 32 elements at a time, and the warps exchange their totals.
#include <cuda_fp16.h>

constexpr int WARPS = BLOCK / 32;

__device__ float warp_scan(float value) {
    for (int step = 1; step < 32; step *= 2) {
        const float before = __shfl_up_sync(0xffffffffu, value, step);
        if (threadIdx.x % 32 >= step) value += before;
    }
    return value;
}

template <class T>
__global__ void __launch_bounds__(BLOCK) row_scan(const T* __restrict__ x, T* __restrict__ y, int row_size) {
    __shared__ float totals[WARPS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const long long row = blockIdx.x * static_cast<long long>(row_size);
    float carry = 0.0f;
    for (int start = 0; start < row_size; start += BLOCK) {
        const int i = start + threadIdx.x;
        const float value = warp_scan(i < row_size ? static_cast<float>(x[row + i]) : 0.0f);
        if (lane == 31) totals[warp] = value;
        __syncthreads();
        float before = carry;
        for (int other = 0; other < WARPS; ++other) {
            if (other < warp) before += totals[other];
            carry += totals[other];
        }
        if (i < row_size) y[row + i] = static_cast<T>(before + value);
        __syncthreads();
    }
}
