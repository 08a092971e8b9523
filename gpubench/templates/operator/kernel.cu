// One warp works on one row, in three passes over it: largest, sum, quotient.
__global__ void NAME_kernel(const float* x, float* y, long long rows, int cols) {
    const long long row = blockIdx.x * static_cast<long long>(blockDim.y) + threadIdx.y;
    if (row >= rows) return;
    x += row * cols;
    y += row * cols;
    float largest = -3.4e38f;
    for (int i = threadIdx.x; i < cols; i += 32) largest = fmaxf(largest, x[i]);
    for (int step = 16; step > 0; step /= 2) largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, step));
    float sum = 0.0f;
    for (int i = threadIdx.x; i < cols; i += 32) sum += expf(x[i] - largest);
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    for (int i = threadIdx.x; i < cols; i += 32) y[i] = expf(x[i] - largest) / sum;
}
