// One block sums one row: warps scan 32 elements at a time and exchange their totals through shared memory.
__device__ float warp_scan(float value) {
    for (int step = 1; step < 32; step *= 2) {
        const float before = __shfl_up_sync(0xffffffffu, value, step);
        if (threadIdx.x % 32 >= step) value += before;
    }
    return value;
}

__global__ void NAME(const float* x, float* y, int row_size) {
    __shared__ float totals[BLOCK / 32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const long long row = blockIdx.x * static_cast<long long>(row_size);
    float carry = 0.0f;
    for (int start = 0; start < row_size; start += BLOCK) {
        const int i = start + threadIdx.x;
        const float value = warp_scan(i < row_size ? x[row + i] : 0.0f);
        if (lane == 31) totals[warp] = value;
        __syncthreads();
        float before = carry;
        for (int other = 0; other < BLOCK / 32; ++other) {
            if (other < warp) before += totals[other];
            carry += totals[other];
        }
        if (i < row_size) y[row + i] = before + value;
        __syncthreads();
    }
}
