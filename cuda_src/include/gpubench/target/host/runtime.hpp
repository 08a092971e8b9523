// What a kernel compiled for the host sees of the simulator: who it is, and the calls that let it meet other threads.
// The other side is runtime.cpp, compiled once into a library of its own that all kernel libraries share.
#pragma once

#include <cstddef>
#include <cstdint>

#pragma GCC visibility push(default)

namespace gpubench::host {

// The line of a kernel that called the platform: filled in by default arguments, so no kernel writes it.
struct Where {
    const char* file;
    int line;
    static constexpr Where here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
        return Where{file, line};
    }
};

struct Index3 {
    unsigned x, y, z;
};

struct Block;

// The part of a simulated thread that its kernel reads. The scheduler keeps more behind it.
struct ThreadView {
    Index3 thread_index;
    Index3 block_index;
    Index3 block_size;
    Index3 grid_size;
    unsigned rank;          // number of the thread in its block, x fastest
    unsigned launch_number; // from 1: no two launches of a process have the same one
    char* dynamic_shared;   // start of the block's dynamic shared memory
    const void* last_poll;  // address of the last ordered load, and what was there:
    alignas(16) unsigned char last_value[16];  // two in a row that find the same are a wait
    unsigned polls;         // ordered loads and lost compare-and-swaps since this thread last changed anything
};

// The thread now running on this OS thread; a fiber never moves to another OS thread. (`__thread`: unlike thread_local it
// needs no call to read.)
extern __thread ThreadView* current __attribute__((tls_model("initial-exec")));

// --- Meeting other threads -------------------------------------------------------------------------------------------

// Wait for all threads of the block; return how many of them gave a predicate other than 0.
int barrier(int predicate, Where where);

// What one lane brings to a warp collective, and takes from it.
struct LaneSlot {
    alignas(16) unsigned char value[16];
    int parameter;
};

// Turn what the lanes of `mask` brought into what each takes. Runs once, when the last lane of the mask has come.
// Returns -1, or the lane whose request makes no sense (it reads from a lane outside the mask).
using Finish = int (*)(LaneSlot* lanes, std::uint32_t mask);

// Wait for the lanes of `mask`, all of which must bring the same `finish`. `name` is the collective's name in messages.
LaneSlot& collective(std::uint32_t mask, Finish finish, const char* name, const LaneSlot& mine, Where where);

// Wait for the lanes of `mask`; what they did before in memory is then seen by each other.
void warp_barrier(std::uint32_t mask, Where where);

// Let other threads run: a thread that waits for a value in memory calls this in its loop. A launch in which every
// thread only waits is ended with a message.
void yield(Where where);

// The threads of the block have met by a way of their own (a counted phase): accesses before and after do not collide.
void ordering_point();

// --- Shared memory ---------------------------------------------------------------------------------------------------

// The block's piece of static shared memory for one declaration; `key` is an address that only this declaration has.
void* shared_array(const void* key, std::size_t bytes, std::size_t alignment, Where where);

// --- Atomic and ordered access ---------------------------------------------------------------------------------------
// Out of line, so that the access hooks of a checked build see one named access each. All are sequentially consistent.

enum class Atomic : int { add, exchange, smaller, larger };

// `width` is 1, 2, 4 or 8 bytes; numbers are unsigned. Returns the value before.
std::uint64_t atomic_update(Atomic kind, void* address, int width, std::uint64_t value, Where where);
std::uint64_t atomic_compare_exchange(void* address, int width, std::uint64_t expected, std::uint64_t desired, Where where);
// `width` is 4, 8 or 16. A load that finds the same address again lets other threads run: it is a wait.
void ordered_load(const void* address, int width, void* result, Where where);
void ordered_store(void* address, int width, const void* value, Where where);
void fence();

// --- Diagnostics -----------------------------------------------------------------------------------------------------

// End the launch with a message; never returns to the thread.
[[noreturn]] void fail(Where where, const char* format, ...) __attribute__((format(printf, 2, 3)));
[[noreturn]] void fail_misaligned(Where where, const void* address, std::size_t bytes);

}  // namespace gpubench::host

#pragma GCC visibility pop
