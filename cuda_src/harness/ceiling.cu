// How fast this GPU's memory can go at all: copy, read and fill in 16-byte vectors, nothing else.
//
// A block owns one tile of blockDim.x * UNROLL vectors. In every step the block's threads touch neighbouring vectors
// (coalesced), and a thread has UNROLL independent accesses in flight before it uses the first. The host tries several
// UNROLLs and the driver's own copy and fill, and keeps the fastest.

namespace gpubench::harness {

/// target[i] = source[i] for i < count (vectors of 16 bytes).
template <int UNROLL>
__global__ void copy(const uint4* __restrict__ source, uint4* __restrict__ target, unsigned long long count) {
    const unsigned long long first = static_cast<unsigned long long>(blockIdx.x) * blockDim.x * UNROLL + threadIdx.x;
    uint4 vectors[UNROLL];
#pragma unroll
    for (int step = 0; step < UNROLL; ++step) {
        const unsigned long long i = first + static_cast<unsigned long long>(step) * blockDim.x;
        if (i < count) vectors[step] = source[i];
    }
#pragma unroll
    for (int step = 0; step < UNROLL; ++step) {
        const unsigned long long i = first + static_cast<unsigned long long>(step) * blockDim.x;
        if (i < count) target[i] = vectors[step];
    }
}

/// Reads every vector and folds it; stores only where the fold meets `magic`, which keeps the compiler from dropping
/// the loads and in practice (one chance in 2^32 a thread) writes nothing.
template <int UNROLL>
__global__ void read(const uint4* __restrict__ source, unsigned* sink, unsigned long long count, unsigned magic) {
    const unsigned long long first = static_cast<unsigned long long>(blockIdx.x) * blockDim.x * UNROLL + threadIdx.x;
    uint4 vectors[UNROLL];
#pragma unroll
    for (int step = 0; step < UNROLL; ++step) {
        const unsigned long long i = first + static_cast<unsigned long long>(step) * blockDim.x;
        vectors[step] = i < count ? source[i] : make_uint4(0, 0, 0, 0);
    }
    unsigned fold = 0;
#pragma unroll
    for (int step = 0; step < UNROLL; ++step) {
        fold += vectors[step].x ^ vectors[step].y ^ vectors[step].z ^ vectors[step].w;
    }
    if (fold == magic) *sink = fold;
}

/// target[i] = value in all four words, for i < count.
template <int UNROLL>
__global__ void fill(uint4* __restrict__ target, unsigned long long count, unsigned value) {
    const unsigned long long first = static_cast<unsigned long long>(blockIdx.x) * blockDim.x * UNROLL + threadIdx.x;
    const uint4 vector = make_uint4(value, value, value, value);
#pragma unroll
    for (int step = 0; step < UNROLL; ++step) {
        const unsigned long long i = first + static_cast<unsigned long long>(step) * blockDim.x;
        if (i < count) target[i] = vector;
    }
}

}  // namespace gpubench::harness
