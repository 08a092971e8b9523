// A digest of memory: what the harness compares to see whether something was written. CUDA only.

namespace gpubench::harness {

/// Adds to *result a 64-bit mix of each 32-bit word with its place, summed in any order: 2^-64 or so is the chance that
/// two memories agree. Data: each warp reads neighbouring words, once; a block's sum is one atomic addition a warp.
/// `bytes`: the size; of a last word that is cut off only the bytes within count.
__global__ void digest(const unsigned* words, unsigned long long bytes, unsigned long long* result) {
    const unsigned long long count = (bytes + 3) / 4;
    const unsigned long long step = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
    unsigned long long sum = 0;
    for (unsigned long long i = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
         i += step) {
        unsigned word = words[i];
        if (4 * i + 4 > bytes) word &= (1u << (8 * (bytes - 4 * i))) - 1u;
        // the finaliser of splitmix64 (Steele, Lea, Flood 2014)
        unsigned long long mixed = (i << 32) + word + 0x9E3779B97F4A7C15ull;
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9ull;
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBull;
        sum += mixed ^ (mixed >> 31);
    }
    for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_down_sync(0xFFFFFFFFu, sum, lane);
    if (threadIdx.x % 32 == 0) atomicAdd(result, sum);
}

}  // namespace gpubench::harness
