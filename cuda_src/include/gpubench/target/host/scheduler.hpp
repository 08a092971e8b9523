// The simulator's own data: workers (OS threads) run blocks, blocks hold threads, threads run on fibers.
//
// A block's threads run one at a time, each until it meets a barrier or a warp collective and cannot go on; then it
// hands the OS thread to the next one directly. A fiber is taken only when a thread starts, and a thread that ends
// without having waited leaves its fiber to the next one: a kernel without collectives runs on a single fiber.
#pragma once

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

#include "fiber.hpp"
#include "runtime.hpp"

namespace gpubench::host {

constexpr unsigned warp_size = 32;
constexpr std::size_t arena_bytes = 256 * 1024;   // what the shared memory of one block may need at most
constexpr std::size_t static_shared_limit = 48 * 1024;
constexpr unsigned char shared_poison = 0xFF;     // NaN in every float, -1 in every integer

enum class Order : unsigned { forward = 0, reverse = 1, random = 2 };
enum class State : unsigned char { unstarted, ready, running, at_barrier, at_collective, parked, finished };
enum class Slice { finished, paused, stalled, stuck, failed };

// What Python asks for, with C layout.
struct Request {
    void (*entry)(void* const* arguments);
    void* const* arguments;      // one pointer an argument, followed by the arguments themselves
    std::size_t arguments_bytes;  // of both
    unsigned grid[3];
    unsigned block[3];
    unsigned shared_bytes;
    unsigned order;     // Order
    std::uint64_t seed;
    unsigned workers;   // OS threads
    unsigned ordered;   // 1: blocks start in increasing order, on one OS thread
    unsigned checked;   // 1: the kernel was compiled with access hooks; 2: every shared array gets its own allocation
    unsigned stall_limit;
    const char* kernel;  // its name
};

// What comes back, with C layout. `kind`: 0 fine, 1 the kernel broke a rule, 2 a fault of the processor.
struct Report {
    int kind;
    int line;
    unsigned block[3];
    unsigned thread[3];
    std::uint64_t calls[8];      // offsets in the kernel's library: the instruction at fault, then its callers; 0 ends
    std::uint64_t other_offset;  // of the access it collided with, 0 when there is none
    std::uint64_t buffer;        // start of the nearest buffer, 0 when there is none
    char file[512];
    char message[2048];
};

struct Thread {
    ThreadView view;  // first: `current` points here
    Block* block = nullptr;
    Fiber* fiber = nullptr;
    State state = State::unstarted;
    unsigned barriers = 0;
    int barrier_result = 0;
    std::uint32_t mask = 0;  // of the collective it waits at
    Finish finish = nullptr;
    const char* name = nullptr;
    Where where{"", 0};
    const void* parked_at = nullptr;  // the address whose change it waits for
    const void* call = nullptr;  // where the kernel last called the runtime
};

struct Warp {
    std::uint32_t lanes = 0;     // that exist
    std::uint32_t waiting = 0;   // at a collective
    std::uint32_t finished = 0;
    std::uint32_t parked = 0;    // for a value in memory
    std::uint32_t epoch = 0;     // counts warp barriers
    std::uint32_t common_mask = 0;   // of all lanes that wait, unless they want different things:
    Finish common_finish = nullptr;
    bool mixed = false;
    LaneSlot slots[warp_size];
};

struct SharedPiece {
    const void* key;
    char* start;
    std::size_t bytes;
};

// Who touched a byte of shared memory last, and when: `epoch` counts block barriers, `warp_epoch` warp barriers.
struct Cell {
    std::uint32_t write_epoch = 0, read_epoch = 0;
    std::uint32_t write_warp_epoch = 0, read_warp_epoch = 0;
    std::uint32_t write_code = 0, read_code = 0;
    std::uint16_t writer = 0, reader = 0;
    bool write_atomic = false;
};

struct Worker;

struct Block {
    Worker* worker = nullptr;
    Index3 index{};
    unsigned number = 0;
    std::vector<Thread> threads;
    std::vector<Warp> warps;
    std::vector<unsigned> start_order;
    std::size_t next_start = 0;
    std::vector<unsigned> ready;  // ring buffer of thread ranks
    std::size_t ready_head = 0, ready_count = 0;
    unsigned finished = 0;
    unsigned arrived = 0;   // at the barrier
    int predicates = 0;
    Where barrier_where{"", 0};
    unsigned barrier_first = 0;
    unsigned idle_yields = 0;
    unsigned parked = 0;    // threads that wait for a value in memory
    bool met_others = false;  // it made an atomic or ordered access: other blocks' writes may be ordered before it
    bool pause = false;     // hand the OS thread back to the worker at the next chance
    std::uint32_t first_epoch = 0, epoch = 0;
    char* arena = nullptr;
    std::size_t arena_used = 0, static_bytes = 0;
    std::vector<SharedPiece> pieces;
    std::vector<Cell> cells;

    ~Block() { std::free(arena); }
};

// The last plain write to a byte of a buffer. `block` is its number + 1, so that zeroed memory means nobody.
struct GlobalCell {
    std::uint32_t block, epoch;
    std::uint16_t thread, warp_epoch;
};

// Memory that a kernel may touch; `cells` for a buffer that is not too large, one a byte.
struct Region {
    std::uintptr_t low, high;
    bool buffer;
    GlobalCell* cells = nullptr;
};

struct Launch {
    const Request* request;
    Report* report;
    unsigned threads = 0;
    unsigned number = 0;             // of this launch in the process
    unsigned long long blocks = 0;
    std::atomic<unsigned long long> next_block{0};
    std::atomic<bool> failed{false};
    std::mutex reporting;
    unsigned long long stride = 1;   // of the random order of blocks
    std::uintptr_t module = 0;       // where the kernel's library starts
    std::vector<Region> regions;     // memory that a kernel may touch

    ~Launch() {
        for (const Region& region : regions) std::free(region.cells);
    }
};

struct Worker {
    Launch* launch = nullptr;
    Context main;
    Block* running = nullptr;
    Slice slice = Slice::finished;
    std::uint64_t random = 1;
    std::vector<std::unique_ptr<Fiber>> fibers;
    std::vector<Fiber*> free_fibers;
    std::vector<std::unique_ptr<Block>> spare;
    std::uint64_t progress = 0;  // counts what a waiting thread could be waiting for
    std::uint32_t epoch = 0;
    std::size_t last_region = 0;
    std::vector<Thread*> parked[64];  // by address

    // splitmix64: small, and the same everywhere.
    std::uint64_t next_random() {
        std::uint64_t z = (random += 0x9E3779B97F4A7C15ull);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
        return z ^ (z >> 31);
    }
    unsigned below(unsigned n) { return static_cast<unsigned>((next_random() >> 32) * n >> 32); }
    ~Worker() {
        for (auto& fiber : fibers) fiber->unmap();
    }
};

// Threads that wait for the same 16 bytes stand in the same row.
inline std::vector<Thread*>& parked_row(Worker& worker, const void* address) {
    return worker.parked[(reinterpret_cast<std::uintptr_t>(address) >> 4) % 64];
}

inline bool runnable(const Block& block) { return block.ready_count > 0 || block.next_start < block.start_order.size(); }

inline Thread& self() { return *reinterpret_cast<Thread*>(current); }

inline void push_ready(Block& block, unsigned rank) {
    block.threads[rank].state = State::ready;
    std::size_t at = block.ready_head + block.ready_count++;
    if (at >= block.ready.size()) at -= block.ready.size();
    block.ready[at] = rank;
}

inline unsigned pop_ready(Block& block, std::size_t at) {
    const std::size_t size = block.ready.size();
    std::size_t slot = block.ready_head + at;
    if (slot >= size) slot -= size;
    const unsigned rank = block.ready[slot];
    block.ready[slot] = block.ready[block.ready_head];
    if (++block.ready_head == size) block.ready_head = 0;
    --block.ready_count;
    return rank;
}

// The thread that runs next, or null: those that can go on come before those that have not begun, so that warps drift
// as far apart as barriers let them. A random schedule draws from both.
inline Thread* pick_next(Block& block) {
    Worker& worker = *block.worker;
    const bool random = Order(worker.launch->request->order) == Order::random;
    const std::size_t unstarted = block.start_order.size() - block.next_start;
    if (block.ready_count == 0 && unstarted == 0) return nullptr;
    std::size_t choice = 0;
    if (random) choice = worker.below(static_cast<unsigned>(block.ready_count + unstarted));
    if (choice < block.ready_count) return &block.threads[pop_ready(block, choice)];
    return &block.threads[block.start_order[block.next_start++]];
}

inline Fiber* take_fiber(Worker& worker, FiberMain main) {
    if (worker.free_fibers.empty()) {
        auto fiber = std::make_unique<Fiber>();
        fiber->map(static_cast<unsigned>(worker.fibers.size()));
        fiber->start(main, fiber.get());
        worker.free_fibers.push_back(fiber.get());
        worker.fibers.push_back(std::move(fiber));
    }
    Fiber* fiber = worker.free_fibers.back();
    worker.free_fibers.pop_back();
    return fiber;
}

}  // namespace gpubench::host
