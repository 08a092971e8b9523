// Running threads on fibers, and block barriers.
#pragma once

#include "report.hpp"

namespace gpubench::host {

void fiber_main(void* argument);

// Leave the thread that runs now (its state already says why) for the next one of its block. `from` keeps its place.
inline void leave(Block& block, Context& from, const Fiber* own) {
    Worker& worker = *block.worker;
    Thread* next = block.pause ? nullptr : pick_next(block);
    if (!next) {
        worker.slice = block.finished == block.threads.size() ? Slice::finished
                       : block.pause                          ? Slice::paused
                       : block.parked > 0                     ? Slice::stalled
                                                              : Slice::stuck;
        block.pause = false;
        current = nullptr;
        switch_context(from, worker.main);
        return;
    }
    if (next->state == State::unstarted) {
        ++worker.progress;
        next->fiber = take_fiber(worker, fiber_main);
        next->fiber->owner = next;
    }
    next->state = State::running;
    current = &next->view;
    if (next->fiber != own) switch_context(from, next->fiber->context);
}

// A thread ended: note it, and return the next thread of this fiber, when that is one that has not begun.
inline Thread* finish_thread(Thread& thread, Fiber& fiber) {
    Block& block = *thread.block;
    thread.state = State::finished;
    ++block.finished;
    ++block.worker->progress;
    block.idle_yields = 0;
    block.warps[thread.view.rank / warp_size].finished |= 1u << thread.view.rank % warp_size;
    if (block.arrived > 0) {
        const Thread& waiting = block.threads[block.barrier_first];
        Trouble trouble;
        trouble.where = block.barrier_where;
        trouble.trace = false;
        fail(trouble,
             "divergent barrier: this thread ended after %u barriers, while thread %s waits at barrier %u (%s:%d); "
             "every thread of a block must reach every barrier",
             thread.barriers, name_of(waiting), waiting.barriers, base_name(block.barrier_where.file),
             block.barrier_where.line);
    }
    fiber.owner = nullptr;
    Worker& worker = *block.worker;
    worker.free_fibers.push_back(&fiber);
    leave(block, fiber.context, &fiber);
    return static_cast<Thread*>(fiber.owner);
}

// The life of a fiber: one thread after another. It is left for good only when a launch fails.
inline void fiber_main(void* argument) {
    Fiber& fiber = *static_cast<Fiber*>(argument);
    for (;;) {
        Thread& thread = *static_cast<Thread*>(fiber.owner);
        const Request& request = *thread.block->worker->launch->request;
        request.entry(request.arguments);
        finish_thread(thread, fiber);
    }
}

// Make `count` threads from rank `first` on that `waits` holds for ready again, in the order of the schedule.
template <class Waits>
void release(Block& block, unsigned first, unsigned count, Waits waits) {
    const bool reverse = Order(block.worker->launch->request->order) == Order::reverse;
    for (unsigned i = 0; i < count; ++i) {
        const unsigned rank = first + (reverse ? count - 1 - i : i);
        if (waits(rank)) push_ready(block, rank);
    }
}

inline void release_barrier(Block& block) {
    const int predicates = block.predicates;
    block.arrived = 0;
    block.predicates = 0;
    block.epoch = ++block.worker->epoch;
    for (Thread& thread : block.threads) thread.barrier_result = predicates;
    release(block, 0, static_cast<unsigned>(block.threads.size()), [](unsigned) { return true; });
    block.idle_yields = 0;
    ++block.worker->progress;
    block.pause = block.worker->launch->request->ordered && block.worker->launch->request->order != 0;
}

int barrier(int predicate, Where where) {
    GPUBENCH_NOTE_CALL();
    Thread& thread = self();
    Block& block = *thread.block;
    ++thread.barriers;
    thread.view.polls = 0;
    if (block.finished > 0) {
        fail(where,
             "divergent barrier: this thread waits at barrier %u, but %u of the block's %zu threads have already ended; "
             "every thread of a block must reach every barrier",
             thread.barriers, block.finished, block.threads.size());
    }
    if (block.arrived == 0) {
        block.barrier_where = where;
        block.barrier_first = thread.view.rank;
    } else if (where.line != block.barrier_where.line || std::strcmp(where.file, block.barrier_where.file) != 0) {
        fail(where, "divergent barrier: this thread is at the barrier of %s:%d, while thread %s waits at the one of %s:%d",
             base_name(where.file), where.line, name_of(block.threads[block.barrier_first]),
             base_name(block.barrier_where.file), block.barrier_where.line);
    }
    ++block.arrived;
    block.predicates += predicate != 0;
    thread.where = where;
    thread.state = State::at_barrier;
    if (block.arrived == block.threads.size()) release_barrier(block);
    leave(block, thread.fiber->context, thread.fiber);
    return thread.barrier_result;
}

void ordering_point() {
    Block& block = *self().block;
    block.epoch = ++block.worker->epoch;
}

// Let a thread that waits for memory look again.
inline void unpark(Thread& thread) {
    Block& block = *thread.block;
    --block.parked;
    block.warps[thread.view.rank / warp_size].parked &= ~(1u << thread.view.rank % warp_size);
    push_ready(block, thread.view.rank);
}

// Let every thread look again that waits for a change of these 16 bytes (or, for null, of any memory). Under the other
// schedules than forward the block that made the change then pauses, so that the waiting one sees what is there now.
inline void wake(Worker& worker, const void* address) {
    const auto line = [](const void* place) { return reinterpret_cast<std::uintptr_t>(place) >> 4; };
    const bool pauses = current && Order(worker.launch->request->order) != Order::forward;
    const auto wake_row = [&](std::vector<Thread*>& row) {
        std::erase_if(row, [&](Thread* thread) {
            if (address && line(thread->parked_at) != line(address)) return false;
            unpark(*thread);
            if (pauses && thread->block != self().block) self().block->pause = true;
            return true;
        });
    };
    if (address) return wake_row(parked_row(worker, address));
    for (auto& row : worker.parked) wake_row(row);
}

// Hand the OS thread back when all of this block's threads have only waited for a while: another block gets its turn.
inline bool give_way(Thread& thread) {
    Block& block = *thread.block;
    const auto live = static_cast<unsigned>(block.threads.size()) - block.finished;
    if (++block.idle_yields <= 2 * live) return false;
    block.idle_yields = 0;
    block.worker->slice = Slice::stalled;
    current = nullptr;
    switch_context(thread.fiber->context, block.worker->main);
    return true;
}

// True when a lane of this warp waits at a collective for the thread.
inline bool is_called(const Thread& thread) {
    const Block& block = *thread.block;
    const unsigned lane = thread.view.rank % warp_size, first = thread.view.rank - lane;
    for (std::uint32_t rest = block.warps[first / warp_size].waiting; rest != 0; rest &= rest - 1) {
        if (block.threads[first + static_cast<unsigned>(__builtin_ctz(rest))].mask >> lane & 1u) return true;
    }
    return false;
}

// Put this thread behind the others.
inline void wait_a_turn(Where where) {
    Thread& thread = self();
    Block& block = *thread.block;
    if (block.worker->launch->failed.load(std::memory_order_relaxed)) abandon();
    thread.where = where;
    push_ready(block, thread.view.rank);
    if (!give_way(thread)) leave(block, thread.fiber->context, thread.fiber);
}

// Wait until somebody writes to `address` by an atomic or ordered access, or a lane of this warp waits for this one at a
// collective (which then means that this lane was not the one to wait).
inline void park(const void* address, Where where) {
    Thread& thread = self();
    Block& block = *thread.block;
    if (is_called(thread)) return wait_a_turn(where);
    if (block.worker->launch->failed.load(std::memory_order_relaxed)) abandon();
    thread.where = where;
    thread.parked_at = address;
    thread.state = State::parked;
    ++block.parked;
    block.warps[thread.view.rank / warp_size].parked |= 1u << thread.view.rank % warp_size;
    parked_row(*block.worker, address).push_back(&thread);
    if (!give_way(thread)) leave(block, thread.fiber->context, thread.fiber);
}

// The lanes of a collective's mask that wait for memory must come, whatever they wait for.
inline void call_lanes(Block& block, Warp& warp, unsigned first, std::uint32_t mask) {
    for (std::uint32_t rest = warp.parked & mask; rest != 0; rest &= rest - 1) {
        Thread& thread = block.threads[first + static_cast<unsigned>(__builtin_ctz(rest))];
        std::erase(parked_row(*block.worker, thread.parked_at), &thread);
        unpark(thread);
    }
}

void yield(Where where) {
    GPUBENCH_NOTE_CALL();
    wait_a_turn(where);
}

}  // namespace gpubench::host
