// Warp collectives on the host. Part of target/host.hpp.
#pragma once

namespace gpubench {

namespace detail {

// Each lane takes the value of the lane that it named in `parameter`.
GPUBENCH_HOST_OWN int finish_shuffle(host::LaneSlot* lanes, uint32 mask) {
    host::LaneSlot brought[warp_size];
    memcpy(brought, lanes, sizeof brought);
    for (uint32 rest = mask; rest != 0; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        const int from = brought[lane].parameter;
        if ((mask >> from & 1u) == 0) return lane;
        memcpy(lanes[lane].value, brought[from].value, sizeof lanes[lane].value);
    }
    return -1;
}

GPUBENCH_HOST_OWN int finish_ballot(host::LaneSlot* lanes, uint32 mask) {
    uint32 votes = 0;
    for (int lane = 0; lane < warp_size; ++lane) {
        if ((mask >> lane & 1u) != 0 && lanes[lane].parameter != 0) votes |= 1u << lane;
    }
    for (uint32 rest = mask; rest != 0; rest &= rest - 1) memcpy(lanes[__builtin_ctz(rest)].value, &votes, sizeof votes);
    return -1;
}

GPUBENCH_HOST_OWN int finish_match(host::LaneSlot* lanes, uint32 mask) {
    uint64 values[warp_size];
    for (int lane = 0; lane < warp_size; ++lane) memcpy(&values[lane], lanes[lane].value, sizeof(uint64));
    for (uint32 rest = mask; rest != 0; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        uint32 same = 0;
        for (int other = 0; other < warp_size; ++other) {
            if ((mask >> other & 1u) != 0 && values[other] == values[lane]) same |= 1u << other;
        }
        memcpy(lanes[lane].value, &same, sizeof same);
    }
    return -1;
}

template <class T>
GPUBENCH_HOST_OWN T shuffle_from(uint32 mask, T value, int lane, const char* name, host::Where where) {
    static_assert(sizeof(T) <= 16, "a shuffle moves at most 16 bytes");
    host::LaneSlot slot;
    memcpy(slot.value, &value, sizeof(T));
    slot.parameter = lane;
    const host::LaneSlot& result = host::collective(mask, finish_shuffle, name, slot, where);
    memcpy(&value, result.value, sizeof(T));
    return value;
}

GPUBENCH_HOST_OWN uint32 vote(uint32 mask, bool predicate, const char* name, host::Where where) {
    host::LaneSlot slot;
    slot.parameter = predicate ? 1 : 0;
    uint32 votes;
    memcpy(&votes, host::collective(mask, finish_ballot, name, slot, where).value, sizeof votes);
    return votes;
}

}  // namespace detail

inline void warp_barrier(uint32 mask = full_mask, host::Where where = host::Where::here()) {
    host::warp_barrier(mask, where);
}

template <class T>
T shuffle(uint32 mask, T value, int lane, int width = warp_size, host::Where where = host::Where::here()) {
    const int from = (lane_index() & ~(width - 1)) | (lane & (width - 1));
    return detail::shuffle_from(mask, value, from, "shuffle", where);
}
template <class T>
T shuffle_up(uint32 mask, T value, int delta, int width = warp_size, host::Where where = host::Where::here()) {
    const int lane = lane_index();
    const bool inside = lane - delta >= (lane & ~(width - 1));
    return detail::shuffle_from(mask, value, inside ? lane - delta : lane, "shuffle_up", where);
}
template <class T>
T shuffle_down(uint32 mask, T value, int delta, int width = warp_size, host::Where where = host::Where::here()) {
    const int lane = lane_index();
    const bool inside = lane + delta <= (lane | (width - 1));
    return detail::shuffle_from(mask, value, inside ? lane + delta : lane, "shuffle_down", where);
}
template <class T>
T shuffle_xor(uint32 mask, T value, int bits, int width = warp_size, host::Where where = host::Where::here()) {
    const int lane = lane_index();
    const bool inside = (lane ^ bits) <= (lane | (width - 1));
    return detail::shuffle_from(mask, value, inside ? lane ^ bits : lane, "shuffle_xor", where);
}

inline uint32 ballot(uint32 mask, bool predicate, host::Where where = host::Where::here()) {
    return detail::vote(mask, predicate, "ballot", where);
}
inline bool any(uint32 mask, bool predicate, host::Where where = host::Where::here()) {
    return detail::vote(mask, predicate, "any", where) != 0;
}
inline bool all(uint32 mask, bool predicate, host::Where where = host::Where::here()) {
    return detail::vote(mask, predicate, "all", where) == mask;
}
GPUBENCH_HOST_OWN uint32 match_any(uint32 mask, uint64 value, host::Where where = host::Where::here()) {
    host::LaneSlot slot;
    memcpy(slot.value, &value, sizeof value);
    uint32 same;
    memcpy(&same, host::collective(mask, detail::finish_match, "match_any", slot, where).value, sizeof same);
    return same;
}
inline uint32 match_any(uint32 mask, uint32 value, host::Where where = host::Where::here()) {
    return match_any(mask, uint64{value}, where);
}

}  // namespace gpubench
