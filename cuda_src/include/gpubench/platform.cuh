// The platform: the one place that knows what the kernels run on.
//
// Kernels and all other headers are written against the names below. `target/cuda.cuh` gives them meaning on a GPU
// (compiled by NVRTC), `target/host.hpp` on the host simulator (compiled by a C++ compiler). The `#if` at the end is
// the only one in the tree.
//
// MACROS
//   GPUBENCH_KERNEL void GPUBENCH_LAUNCH_BOUNDS(threads[, blocks per SM]) name(...)     a kernel
//   GPUBENCH_DEVICE                    before every function that kernels call (member functions too); it is inline
//   GPUBENCH_SHARED(T, name, count)    `count` (a constant) elements of shared memory of a block, on 16 bytes, not initialised.
//                                      Stands where a variable would, in a kernel or a device function; T has no comma
//                                      in it and no constructor. `name` is an array or a pointer: never take its sizeof.
//   GPUBENCH_DYNAMIC_SHARED(T, name)   T* name: the dynamic shared memory of the launch, 16-byte aligned. All such
//                                      names of one kernel mean the same memory.
//   GPUBENCH_LAYOUT(T, size, last, offset)   asserts the layout of a struct that the host fills: its size in bytes, and the
//                                      offset of its last field
//   GPUBENCH_UNROLL                    before a loop of a constant number of turns: unroll it
//   GPUBENCH_NO_UNROLL                 before a loop: leave it
//   __restrict__, alignas, static_assert, if constexpr, concepts: plain C++20 that every compiler here knows.
//
// PLACE (all int; x is the fastest)
//   thread_index_x/y/z()  block_index_x/y/z()  block_size_x/y/z() in threads  grid_size_x/y/z() in blocks
//   lane_index()          place in the warp, 0..31; threads of a block are numbered x first, and 32 in a row are a warp
//   grid_number() -> uint32   of this launch, never 0: no two launches of a process have the same one, but the replays of a
//                         launch in a graph have
//   warp_size = 32        full_mask = 0xffffffff
//
// BARRIERS (all threads of the block, or all lanes named by the mask, must arrive)
//   block_barrier()       block_barrier_count(bool) -> int   block_barrier_or(bool) -> bool   block_barrier_and(bool)
//   warp_barrier(mask = full_mask)
//
// WARP COLLECTIVES (mask: the lanes that take part, all of which must call with the same mask)
//   shuffle(mask, value, lane, width = 32)         value of `lane` in the caller's segment of `width` lanes
//   shuffle_up / shuffle_down(mask, value, delta, width = 32)   own value where there is no such lane in the segment
//   shuffle_xor(mask, value, bits, width = 32)     T: trivially copyable, 1 to 16 bytes
//   ballot(mask, bool) -> uint32   any(mask, bool)   all(mask, bool)   match_any(mask, uint32 or uint64) -> uint32
//
// ATOMICS (relaxed, device-wide, global or shared memory)
//   atomic_add(T*, T)              int8 uint8 int16 int32 uint32 int64 uint64 float double. Nothing is returned.
//                                  (float on a GPU: subnormal operands and results in global memory count as 0)
//   atomic_add_in_word(T*, T or uint32 word)   int8 uint8 int16; a word: of all that stand in it. The sums are right when all are
//     done; before, neighbours in a word may be off, so nobody may write the word otherwise meanwhile.
//   atomic_add_half(uint16*, uint16 bits)   atomic_add_bfloat16(uint16*, uint16 bits)   one rounding to the dtype each;
//   atomic_add_half_pair(uint32*, uint32 bits)   atomic_add_bfloat16_pair(...)   two neighbours, the lower address in the
//     low bits, each rounded by itself.
//   atomic_add_floats(float*, uint64 or Word128 bits)   two or four of them   atomic_add_halves(uint32*, Word128 bits)   eight
//     atomic_add_bfloat16s(...)   aligned to their size; each number is added by itself. These seven: global memory only.
//     (`atomics.cuh` adds atomic_add for half, bfloat16 and complex.) Sums of integers wrap.
//   fetch_add(T*, T) -> old         int32 uint32 int64 uint64
//   atomic_exchange(T*, T) -> old   atomic_max / atomic_min(T*, T) -> old     uint32 uint64
//   compare_exchange(T*, expected, desired) -> old                            uint16 uint32 uint64
//
// ORDERED ACCESS (T: uint32, uint64 or Word128, naturally aligned, each one indivisible access; scope: the device)
//   load_relaxed(const T*)  load_acquire(const T*)  store_relaxed(T*, T)  store_release(T*, T)
//   Use every bit of a Word128 that was loaded (compare its halves whole): of a load whose result is used in part, ptxas
//   may make two.
//   load_shared(const uint32*)   what others of the block store, or change by atomics, meanwhile, relaxed for the block: by an address
//                         of 32 bits, where load_relaxed takes one that may be anywhere
//   memory_fence()          orders this thread's accesses for the whole device (sequentially consistent)
//   block_memory_fence()    the same, for the threads of the block
//
// PLAIN ACCESS WITH A CACHE HINT
//   load_word<Cache>(const W*) -> W     store_word<Cache>(W*, W)   W: uint8 uint16 uint32 uint64 Word128, aligned.
//     Cache::normal       what a plain access does
//     Cache::read_only    memory that nobody writes while the kernel runs (loads only)
//     Cache::streaming    used once: first to be evicted
//     Cache::no_allocate  used once: takes no line of L1
//   load_existing<Cache>(const W*, bool exists) -> W   global memory that nobody writes while the kernel runs; zero, and no access,
//                         where it does not exist. Loads side by side are all on their way at once. Plain, streaming, or
//     Cache::first_out    the L2 cache gives up these lines before any others, dirty ones too (compute capability 8.0 and later; L1
//                         keeps them as it does plain ones); takes two registers
//   prefetch(const void*)  ask for the 32 bytes that the address is in, into the L2 cache; nobody waits
//   A load with a hint may move across this thread's own stores: only for memory that the kernel does not write, or
//   whose loaded value each store depends on. `vector.cuh` builds typed and vector accesses on these.
//
// BITS AND NUMBERS
//   count_leading_zeros(uint32/uint64)  count_trailing_zeros(...) -> int; the width for 0.   population_count(...)
//   select_bytes(uint32 low, uint32 high, uint32 selector) -> uint32   byte i: of the eight bytes of both, from the lowest, the one
//                          that the selector's hexadecimal digit i (0 to 7) names
//   multiply_high(a, b)    upper half of the product, uint32 or uint64
//   half_to_float(uint16)  float_to_half(float) -> uint16  double_to_half(double) -> uint16   and the same for bfloat16;
//                          one rounding to nearest even
//   halves_to_floats(uint32) -> FloatPair   floats_to_halves(FloatPair) -> uint32   two side by side, the first in the lower
//                          half of the word; bfloat16s_to_floats, floats_to_bfloat16s
//   dot_items<T>(uint32 items, uint32 weights, int32 sum) -> int32   T: an 8- or 16-bit integer. The sum and the 4 or 2 items
//                          of a word, each times its weight: byte i, up to 127, for item i. Sums wrap.
//   rounded_product(float, float) -> float   a product that no sum behind it takes in
//   approximate_exp2(float)  approximate_log2(float)  approximate_reciprocal(float)   what the hardware has: errors of 2^-22 relative,
//                          2^-22 absolute between 0.5 and 2 (the logarithm), 2^-23 relative (0 for results below 2^-126); the C
//                          library's on the host. approximate_large_exp2: the same, but 0 below 2^-126, for less.
//   approximate_sqrt(float)   2^-23 relative
//   approximate_quotient(float, float)   2^-22 relative, of all numbers
//                          approximate_reciprocal(double): 2^-19, 0 for results below 2^-1022
//   reciprocal_sqrt(float/double)   the C functions of <math.h> in the global namespace (::expf, ::exp, ...): `math.cuh`
//
//   opaque(int) -> int     the same number, of which the compiler knows nothing: keeps it from splitting a warp on a
//                          condition that stands between shuffles
//   opaque(T*) -> T*       the same address, of global memory: kept, not worked out anew wherever it is used
//
// TIME
//   back_off(nanoseconds)  let others go first, for about that long   global_timer() -> uint64 ns   sm_clock() -> int64 ticks
//   chance() -> uint32     what nobody knows before: the lower half of the SM's clock. 0 on the host device, whose runs are alike
//   trap()                 stop the kernel with an error
//
// Portable, from `core.cuh`: int8 .. uint64, Word128, FloatPair, Cache, bit_cast<To>(from), and the traits in `traits.cuh`.
#pragma once

#if defined(__CUDACC_RTC__) || defined(__CUDACC__)
#include "gpubench/target/cuda.cuh"
#else
#include "gpubench/target/host.hpp"
#endif
