// One warp computes the softmax of one row in three passes over it: largest, sum, quotient.
#include <cuda_fp16.h>

template <class T>
__global__ void warp_softmax(const T* __restrict__ x, T* __restrict__ y, long long rows, int cols) {
    const long long row = blockIdx.x * static_cast<long long>(blockDim.y) + threadIdx.y;
    if (row >= rows) return;
    x += row * cols;
    y += row * cols;
    float largest = -3.4e38f;
    for (int i = threadIdx.x; i < cols; i += 32) largest = fmaxf(largest, static_cast<float>(x[i]));
    for (int step = 16; step > 0; step /= 2) largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, step));
    float sum = 0.0f;
    for (int i = threadIdx.x; i < cols; i += 32) sum += expf(static_cast<float>(x[i]) - largest);
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    for (int i = threadIdx.x; i < cols; i += 32) y[i] = static_cast<T>(expf(static_cast<float>(x[i]) - largest) / sum);
}
