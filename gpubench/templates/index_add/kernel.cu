// Each thread adds elements of the source, a grid apart, to their places: atomically, as an index may occur twice.
__global__ void NAME(float* destination, const long long* index, const float* source, long long indices, long long inner) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x; i < indices * inner; i += step) {
        atomicAdd(destination + index[i / inner] * inner + i % inner, source[i]);
    }
}
