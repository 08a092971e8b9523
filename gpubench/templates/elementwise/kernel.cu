// Each thread adds elements a grid apart.
__global__ void NAME(const float* a, const float* b, float* y, long long n) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x; i < n; i += step) {
        y[i] = a[i] + b[i];
    }
}
