// Warp collectives: lanes bring a value, wait for the lanes of their mask, and the last to come works out the results.
#pragma once

#include "threads.hpp"

namespace gpubench::host {

// What is wrong with this lane's call, before it waits; fails when something is.
inline void refuse_bad_mask(const Thread& thread, const Warp& warp, Where where) {
    const unsigned lane = thread.view.rank % warp_size;
    if ((thread.mask >> lane & 1u) == 0) {
        fail(where, "wrong mask: lane %u calls %s with mask 0x%08x, in which it is not itself", lane, thread.name, thread.mask);
    }
    if ((thread.mask & ~warp.lanes) != 0) {
        fail(where, "wrong mask: %s with mask 0x%08x names lane %d, but this warp has only %d threads", thread.name,
             thread.mask, __builtin_ctz(thread.mask & ~warp.lanes), __builtin_popcount(warp.lanes));
    }
    if ((thread.mask & warp.finished) != 0) {
        fail(where, "wrong mask: %s with mask 0x%08x waits for lane %d, which has already ended", thread.name, thread.mask,
             __builtin_ctz(thread.mask & warp.finished));
    }
}

// How many lanes of the mask are here; fails when two lanes can never meet because they want different things.
inline std::uint32_t lanes_here(const Block& block, const Thread& thread, const Warp& warp, Where where) {
    const unsigned lane = thread.view.rank % warp_size;
    const unsigned first = thread.view.rank - lane;
    std::uint32_t here = 1u << lane;
    if (!warp.mixed) return here | (warp.waiting & thread.mask);
    for (std::uint32_t rest = warp.waiting & thread.mask; rest != 0; rest &= rest - 1) {
        const unsigned other_lane = static_cast<unsigned>(__builtin_ctz(rest));
        const Thread& other = block.threads[first + other_lane];
        if (other.mask == thread.mask && other.finish == thread.finish) {
            here |= 1u << other_lane;
        } else if (other.mask >> lane & 1u) {
            fail(where,
                 "mismatched warp collectives: lane %u calls %s with mask 0x%08x, but lane %u waits for it at %s with mask "
                 "0x%08x (%s:%d)",
                 lane, thread.name, thread.mask, other_lane, other.name, other.mask, base_name(other.where.file),
                 other.where.line);
        }
    }
    return here;
}

inline int no_finish(LaneSlot*, std::uint32_t) { return -1; }

inline LaneSlot& meet(std::uint32_t mask, Finish finish, const char* name, const LaneSlot& mine, Where where) {
    Thread& thread = self();
    Block& block = *thread.block;
    const unsigned lane = thread.view.rank % warp_size;
    Warp& warp = block.warps[thread.view.rank / warp_size];
    thread.mask = mask;
    thread.finish = finish;
    thread.name = name;
    thread.where = where;
    refuse_bad_mask(thread, warp, where);
    warp.slots[lane] = mine;
    if (warp.waiting == 0) {
        warp.common_mask = mask;
        warp.common_finish = finish;
        warp.mixed = false;
    } else if (mask != warp.common_mask || finish != warp.common_finish) {
        warp.mixed = true;
    }
    if (lanes_here(block, thread, warp, where) != mask) {
        warp.waiting |= 1u << lane;
        thread.state = State::at_collective;
        if (warp.parked & mask) call_lanes(block, warp, thread.view.rank - lane, mask);
        leave(block, thread.fiber->context, thread.fiber);
        return warp.slots[lane];
    }
    const int bad = finish(warp.slots, mask);
    if (bad >= 0) {
        fail(where, "wrong lane: lane %d of %s with mask 0x%08x reads from lane %d, which is not in the mask", bad, name, mask,
             warp.slots[bad].parameter);
    }
    if (finish == no_finish) ++warp.epoch;
    const unsigned first = thread.view.rank - lane;
    warp.waiting &= ~mask;
    release(block, first, warp_size, [&](unsigned rank) { return (mask >> (rank - first) & 1u) != 0; });
    leave(block, thread.fiber->context, thread.fiber);
    return warp.slots[lane];
}

LaneSlot& collective(std::uint32_t mask, Finish finish, const char* name, const LaneSlot& mine, Where where) {
    GPUBENCH_NOTE_CALL();
    return meet(mask, finish, name, mine, where);
}

void warp_barrier(std::uint32_t mask, Where where) {
    GPUBENCH_NOTE_CALL();
    meet(mask, no_finish, "warp_barrier", LaneSlot{}, where);
}

// Why a block in which no thread can run will never end.
inline void report_stuck(const Block& block) {
    const Thread* at_collective = nullptr;
    unsigned collectives = 0;
    for (const Thread& thread : block.threads) {
        if (thread.state != State::at_collective) continue;
        if (!at_collective) at_collective = &thread;
        ++collectives;
    }
    const Thread& first = at_collective ? *at_collective : block.threads[block.barrier_first];
    Trouble trouble;
    trouble.where = first.where;
    trouble.code = first.call;
    char missing[256] = "";
    if (at_collective) {
        const unsigned start = first.view.rank / warp_size * warp_size;
        std::size_t used = 0;
        for (unsigned lane = 0; lane < warp_size && used < sizeof missing - 64; ++lane) {
            if ((first.mask >> lane & 1u) == 0) continue;
            const Thread& other = block.threads[start + lane];
            if (other.state == State::at_collective && other.mask == first.mask) continue;
            const char* what = other.state == State::finished ? "has ended" : other.state == State::at_barrier
                                   ? "is at a block barrier" : "is at another collective";
            used += static_cast<std::size_t>(std::snprintf(missing + used, sizeof missing - used, " lane %u %s (line %d);",
                                                           lane, what, other.where.line));
            break;
        }
    }
    const auto text = [&](const char* format, ...) __attribute__((format(printf, 2, 3))) {
        va_list values;
        va_start(values, format);
        record(*block.worker->launch, &first, trouble, format, values);
        va_end(values);
    };
    if (at_collective) {
        text("deadlock: %u threads wait at a warp collective and %u at a block barrier; here %s with mask 0x%08x:%s",
             collectives, block.arrived, first.name, first.mask, missing);
    } else {
        text("deadlock: %u threads wait at a block barrier that the others never reach", block.arrived);
    }
}

}  // namespace gpubench::host
