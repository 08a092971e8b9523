// One launch: blocks over workers, and what Python calls.
#pragma once

#include <link.h>
#include <signal.h>

#include <algorithm>
#include <numeric>
#include <thread>

#include "undefined.hpp"

namespace gpubench::host {

// A stack and its guard are two mappings, of which Linux gives a process 65530; workers keep theirs from one launch to the next. Of one
// worker, whose blocks may wait for each other, and of several together, whose blocks do not.
constexpr std::size_t most_resident = 64, most_fibers_alone = 26 * 1024, most_fibers_together = 4 * 1024;

// The number of the `n`th block to start. Random order walks the blocks by a step that has no common factor with their
// number, so that each comes once.
inline unsigned long long block_number(const Launch& launch, unsigned long long n) {
    if (launch.request->ordered) return n;
    switch (Order(launch.request->order)) {
        case Order::reverse: return launch.blocks - 1 - n;
        case Order::random:
            return static_cast<unsigned long long>((static_cast<unsigned __int128>(n) * launch.stride + launch.request->seed) %
                                                   launch.blocks);
        default: return n;
    }
}

inline void order_threads(Block& block) {
    Worker& worker = *block.worker;
    std::iota(block.start_order.begin(), block.start_order.end(), 0u);
    const Order order = Order(worker.launch->request->order);
    if (order == Order::reverse) std::reverse(block.start_order.begin(), block.start_order.end());
    if (order != Order::random) return;
    for (std::size_t i = block.start_order.size(); i > 1; --i) {
        std::swap(block.start_order[i - 1], block.start_order[worker.below(static_cast<unsigned>(i))]);
    }
}

inline void reset_threads(Block& block) {
    const Request& request = *block.worker->launch->request;
    const Index3 size{request.block[0], request.block[1], request.block[2]};
    const Index3 grid{request.grid[0], request.grid[1], request.grid[2]};
    char* const dynamic = block.pieces.empty() ? nullptr : block.pieces.front().start;
    for (unsigned rank = 0; rank < block.threads.size(); ++rank) {
        Thread& thread = block.threads[rank];
        thread = Thread{};
        const Index3 place{rank % size.x, rank / size.x % size.y, rank / (size.x * size.y)};
        thread.view = ThreadView{place, block.index, size, grid, rank, block.worker->launch->number, dynamic, nullptr, {}, 0};
        thread.block = &block;
    }
    for (std::size_t w = 0; w < block.warps.size(); ++w) {
        const std::size_t lanes = std::min<std::size_t>(warp_size, block.threads.size() - w * warp_size);
        block.warps[w].lanes = lanes == warp_size ? ~0u : (1u << lanes) - 1u;
        block.warps[w].waiting = block.warps[w].finished = block.warps[w].parked = 0;
    }
}

// Take a block off the launch, or null when none is left.
inline std::unique_ptr<Block> start_block(Worker& worker) {
    Launch& launch = *worker.launch;
    const unsigned long long n = launch.next_block.fetch_add(1);
    if (n >= launch.blocks) return nullptr;
    std::unique_ptr<Block> block;
    if (worker.spare.empty()) {
        block = std::make_unique<Block>();
    } else {
        block = std::move(worker.spare.back());
        worker.spare.pop_back();
    }
    const unsigned long long number = block_number(launch, n);
    const Request& request = *launch.request;
    block->worker = &worker;
    block->number = static_cast<unsigned>(number);
    block->index = {static_cast<unsigned>(number % request.grid[0]), static_cast<unsigned>(number / request.grid[0] % request.grid[1]),
                    static_cast<unsigned>(number / request.grid[0] / request.grid[1])};
    block->threads.resize(launch.threads);
    block->warps.resize((launch.threads + warp_size - 1) / warp_size);
    block->start_order.resize(launch.threads);
    block->ready.resize(launch.threads);
    block->next_start = block->ready_head = block->ready_count = 0;
    block->finished = block->arrived = block->idle_yields = block->parked = 0;
    block->predicates = 0;
    block->pause = block->met_others = false;
    reset_shared(*block, request.shared_bytes);
    if (request.shared_bytes > 0) new_piece(*block, nullptr, request.shared_bytes, 128);
    order_threads(*block);
    reset_threads(*block);
    return block;
}

// Run a block until it ends or gives the OS thread back.
inline Slice run_slice(Worker& worker, Block& block) {
    worker.running = &block;
    worker.slice = Slice::stuck;
    leave(block, worker.main, nullptr);
    return worker.slice;
}

inline void fail_stalled(Worker& worker, const Block& block) {
    const Thread* waiting = nullptr;
    for (const Thread& thread : block.threads) {
        if (thread.state == State::ready || thread.state == State::parked) waiting = &thread;
    }
    Trouble trouble;
    if (waiting) trouble.where = waiting->where;
    const auto text = [&](const char* format, ...) __attribute__((format(printf, 2, 3))) {
        va_list values;
        va_start(values, format);
        record(*worker.launch, waiting, trouble, format, values);
        va_end(values);
    };
    text("deadlock: this thread waits for a value in memory that no running thread writes (a block may wait only for "
         "blocks that started before it)");
}

using Resident = std::vector<std::unique_ptr<Block>>;

// The next resident block to run, or as many as there are when none can. The newest for the reverse schedule, so that
// blocks wait for their predecessors as long as they can; the one after the last while nothing moves.
inline std::size_t choose_block(Worker& worker, const Resident& resident, std::size_t last, bool stalled) {
    const Order order = Order(worker.launch->request->order);
    const std::size_t count = resident.size();
    const bool down = order == Order::reverse && !stalled;
    std::size_t at = order == Order::random ? worker.below(static_cast<unsigned>(count)) : stalled ? (last + 1) % count : down ? count - 1 : 0;
    for (std::size_t tried = 0; tried < count; ++tried) {
        if (runnable(*resident[at])) return at;
        at = (at + (down ? count - 1 : 1)) % count;
    }
    return count;
}

// Blocks of a launch in which some wait for others are resident together under the other schedules than forward, so that
// every path of the waiting code is met.
inline std::size_t wanted_resident(const Request& request) {
    if (!request.ordered || Order(request.order) == Order::forward) return 1;
    return 6;
}

// Blocks that are resident at most, of each worker.
inline std::size_t resident_limit(const Launch& launch, bool alone) {
    const std::size_t fibers = alone ? most_fibers_alone : most_fibers_together / launch.request->workers;
    return std::max<std::size_t>(1, std::min(most_resident, fibers / launch.threads));
}

// Start blocks up to `wanted`, several at a time: a block that starts alone finds its predecessors far ahead.
inline void fill(Worker& worker, Resident& resident, std::size_t wanted, bool& more) {
    if (resident.size() > wanted / 2 && wanted <= wanted_resident(*worker.launch->request)) return;
    while (more && resident.size() < wanted) {
        if (auto block = start_block(worker)) resident.push_back(std::move(block));
        else more = false;
    }
}

// Run blocks until none is left or the launch has failed. `stalls` counts turns since anything last moved.
inline void run_blocks(Worker& worker, Resident& resident) {
    Launch& launch = *worker.launch;
    const bool alone = launch.request->ordered || launch.request->workers == 1;
    const std::size_t limit = resident_limit(launch, alone);
    std::size_t wanted = wanted_resident(*launch.request), last = 0;
    std::uint64_t progress = worker.progress;
    unsigned stalls = 0;
    bool more = true;
    while (!launch.failed.load(std::memory_order_relaxed)) {
        fill(worker, resident, wanted, more);
        if (resident.empty()) return;
        const std::size_t at = choose_block(worker, resident, last, stalls > 0);
        if (at == resident.size()) {  // every thread waits for memory: perhaps for a later block, or a plain store
            if (more && wanted < limit) {
                ++wanted;
                continue;
            }
            stalls += alone ? launch.request->stall_limit / 100 : 1;
            if (stalls > launch.request->stall_limit) return fail_stalled(worker, *resident.front());
            if (!alone) std::this_thread::yield();
            wake(worker, nullptr);
            continue;
        }
        last = at;
        Block& block = *resident[last];
        const Slice slice = run_slice(worker, block);
        if (worker.progress != progress) stalls = 0;
        progress = worker.progress;
        if (slice == Slice::finished) {
            worker.spare.push_back(std::move(resident[last]));
            resident.erase(resident.begin() + static_cast<std::ptrdiff_t>(last));
            if (last > 0) --last;
            wanted = wanted_resident(*launch.request);
        } else if (slice == Slice::stuck) {
            report_stuck(block);
        } else if (slice == Slice::stalled && runnable(block)) {
            ++stalls;
            if (stalls > 2 * resident.size() && more && wanted < limit) ++wanted;
            if (stalls > launch.request->stall_limit) fail_stalled(worker, block);
        }
    }
}

inline void work(Worker& worker) {
    Resident resident;
    for (auto& row : worker.parked) row.clear();
    run_blocks(worker, resident);
    if (!worker.launch->failed.load(std::memory_order_relaxed)) return;
    // A failed launch leaves fibers in the middle of a kernel: they and their blocks are given up.
    for (auto& block : resident) {
        reset_shared(*block, 0);
        worker.spare.push_back(std::move(block));
    }
    worker.free_fibers.clear();
    for (auto& fiber : worker.fibers) {
        fiber->start(fiber_main, fiber.get());
        worker.free_fibers.push_back(fiber.get());
    }
}

}  // namespace gpubench::host

#include "entry.hpp"
