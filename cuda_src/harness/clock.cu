// What the harness runs on the GPU around a timed launch: a gate that holds the stream, a stamp of both clocks, a
// kernel that knows its own span, and the smallest possible one. CUDA only (the host simulator is not timed this way), hence the PTX reads right here.

namespace gpubench::harness {

/// The GPU's global timer in nanoseconds: one for all SMs. It moves in steps (32 ns on Hopper, up to 1 us elsewhere).
__device__ inline unsigned long long global_nanoseconds() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

/// The number of the SM that this thread runs on.
__device__ inline unsigned sm_number() {
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    return sm;
}

/// Holds the stream until the host has written `ticket` (or a later one) to `*released`, which lies in mapped host
/// memory, so that everything behind it is enqueued before any of it starts. One thread.
///
/// After `limit_ns` it lets go by itself and leaves its ticket in `*expired`: a host that never answers (killed, or
/// itself waiting for the stream) cannot hang the GPU.
__global__ void blocker(const volatile unsigned* released, volatile unsigned* expired, unsigned ticket,
                        unsigned long long limit_ns) {
    const unsigned long long start = global_nanoseconds();
    while (static_cast<int>(*released - ticket) < 0) {  // a signed distance: the tickets may wrap
        if (global_nanoseconds() - start > limit_ns) {
            *expired = ticket;
            __threadfence_system();
            return;
        }
        __nanosleep(100);  // leaves the bus to others between two looks
    }
}

/// Writes (global timer, SM clock) of every SM that a block lands on to slots[SM]; launch about one block an SM.
///
/// The clock is read at the moment the timer steps, so that two stamps give cycles over nanoseconds exactly, however
/// coarse the timer is. Both stamps of one SM belong together: the counters of different SMs have different origins.
__global__ void stamp(ulonglong2* slots, unsigned slot_count) {
    const unsigned sm = sm_number();
    if (threadIdx.x != 0 || sm >= slot_count) return;
    const unsigned long long first = global_nanoseconds();
    unsigned long long now = first;
    for (int look = 0; look < 1024 && now == first; ++look) now = global_nanoseconds();
    const unsigned long long cycles = static_cast<unsigned long long>(clock64());
    slots[sm] = make_ulonglong2(now, cycles);  // one 16-byte store: two blocks of one SM cannot mix their halves
}

/// Spins for `spin_ns` and writes (global timer at the first, at the last moment) of each block to spans[block]: a kernel
/// that knows how long it ran, from its first instruction to its last.
__global__ void self_timed(ulonglong2* spans, unsigned long long spin_ns) {
    const unsigned long long begin = global_nanoseconds();
    unsigned long long now = begin;
    while (now - begin < spin_ns) now = global_nanoseconds();
    if (threadIdx.x == 0) spans[blockIdx.x] = make_ulonglong2(begin, now);
}

/// The shortest kernel that does something: its time is what every launch pays.
__global__ void one_element(const float* x, float* y) {
    *y = *x;
}

}  // namespace gpubench::harness
