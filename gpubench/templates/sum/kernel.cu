// One block adds one row: each thread a part of it, then the warps by shuffles, then their totals in shared memory.
__device__ float warp_sum(float value) {
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
    return value;
}

__global__ void NAME(const float* x, float* y, int row_size) {
    __shared__ float totals[BLOCK / 32];
    const long long row = blockIdx.x * static_cast<long long>(row_size);
    float part = 0.0f;
    for (int i = threadIdx.x; i < row_size; i += BLOCK) part += x[row + i];
    part = warp_sum(part);
    if (threadIdx.x % 32 == 0) totals[threadIdx.x / 32] = part;
    __syncthreads();
    if (threadIdx.x == 0) {
        float all = 0.0f;
        for (int warp = 0; warp < BLOCK / 32; ++warp) all += totals[warp];
        y[blockIdx.x] = all;
    }
}
