// How fast this GPU's memory can go at all: copy, read and fill in 16-byte vectors, nothing else.
//
// A block owns one tile of blockDim.x * UNROLL vectors. In every step the block's threads touch neighbouring vectors
// (coalesced), and a thread has UNROLL independent accesses in flight before it uses the first. The host tries several
// UNROLLs and the driver's own copy and fill, and keeps the fastest.
//
// Loads come in two kinds. A plain one keeps what it brought in the L2 cache, so that lines which wait there to be
// written back must go first. One that is given up first takes the place of its own kind, and the lines that wait stay.

namespace gpubench::harness {

/// How the L2 cache is told to treat what a load brings.
enum class Hint { none, evict_first };

/// Loads one vector that nobody writes meanwhile. The hint needs compute capability 8.0: the host asks older GPUs for none.
template <Hint HINT>
__device__ inline uint4 load(const uint4* address) {
    if constexpr (HINT == Hint::none) {
        return *address;
    } else {
        unsigned long long policy;
        asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
        uint4 vector;
        asm("ld.global.nc.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
            : "=r"(vector.x), "=r"(vector.y), "=r"(vector.z), "=r"(vector.w)
            : "l"(address), "l"(policy));
        return vector;
    }
}

/// target[i] = source[i] for i < count (vectors of 16 bytes).
template <Hint HINT, int UNROLL>
__global__ void copy(const uint4* __restrict__ source, uint4* __restrict__ target, unsigned long long count) {
    const unsigned long long first = static_cast<unsigned long long>(blockIdx.x) * blockDim.x * UNROLL + threadIdx.x;
    uint4 vectors[UNROLL];
#pragma unroll
    for (int step = 0; step < UNROLL; ++step) {
        const unsigned long long i = first + static_cast<unsigned long long>(step) * blockDim.x;
        if (i < count) vectors[step] = load<HINT>(source + i);
    }
#pragma unroll
    for (int step = 0; step < UNROLL; ++step) {
        const unsigned long long i = first + static_cast<unsigned long long>(step) * blockDim.x;
        if (i < count) target[i] = vectors[step];
    }
}

/// Reads every vector and folds it; stores only where the fold meets `magic`, which keeps the compiler from dropping
/// the loads and in practice (one chance in 2^32 a thread) writes nothing.
template <Hint HINT, int UNROLL>
__global__ void read(const uint4* __restrict__ source, unsigned* sink, unsigned long long count, unsigned magic) {
    const unsigned long long first = static_cast<unsigned long long>(blockIdx.x) * blockDim.x * UNROLL + threadIdx.x;
    uint4 vectors[UNROLL];
#pragma unroll
    for (int step = 0; step < UNROLL; ++step) {
        const unsigned long long i = first + static_cast<unsigned long long>(step) * blockDim.x;
        vectors[step] = i < count ? load<HINT>(source + i) : make_uint4(0, 0, 0, 0);
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
