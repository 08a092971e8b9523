// Mbarriers and bulk copies on a GPU. Part of target/cuda.cuh; `movement/stages.cuh` says what they mean and when they are used.
#pragma once

namespace gpubench {

constexpr bool has_bulk_copies = architecture >= 900;
constexpr bool has_async_copies = architecture >= 800;

// Between what a thread saw and what it does next; only the simulator's checks need to be told.
GPUBENCH_DEVICE void ordering_point() {}

// The compiler must take the result for any number. A condition on a lane that stands again and again between shuffles
// is otherwise hoisted out: the warp splits, and every shuffle in either half costs a slow rendezvous.
GPUBENCH_DEVICE int opaque(int value) {
    asm volatile("" : "+r"(value));
    return value;
}
// What is in registers stays there: addresses are otherwise worked out anew at each use, from constants that come late.
template <class T>
GPUBENCH_DEVICE T* opaque(T* global) {
    asm volatile("" : "+l"(global));
    __builtin_assume(__isGlobal(global));
    return global;
}

namespace hardware {

GPUBENCH_DEVICE void phase_init(uint32* barrier, int arrivals) {
    if constexpr (has_bulk_copies) {
        asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
    }
}
GPUBENCH_DEVICE void phase_init_done() {
    if constexpr (has_bulk_copies) asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
GPUBENCH_DEVICE void phase_arrive(uint32* barrier) {
    if constexpr (has_bulk_copies) {
        asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
    }
}
GPUBENCH_DEVICE void phase_wait(uint32* barrier, uint32 parity) {
    if constexpr (has_bulk_copies) {
        asm volatile(
            "{\n"
            ".reg .pred done;\n"
            "again: mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n"
            "@!done bra again;\n"
            "}" ::"r"(shared_address(barrier)),
            "r"(parity)
            : "memory");
    }
}
GPUBENCH_DEVICE void phase_arrive_expecting(uint32* barrier, uint32 bytes) {
    if constexpr (has_bulk_copies) {
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes) : "memory");
    }
}
template <Cache C = Cache::normal>
GPUBENCH_DEVICE void bulk_copy(void* target, const void* source, uint32 bytes, uint32* barrier) {
    if constexpr (has_bulk_copies && C == Cache::streaming) {
        asm volatile(
            "{\n"
            ".reg .b64 policy;\n"
            "createpolicy.fractional.L2::evict_first.b64 policy, 1.0;\n"
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], policy;\n"
            "}" ::"r"(shared_address(target)),
            "l"(source), "r"(bytes), "r"(shared_address(barrier))
            : "memory");
    } else if constexpr (has_bulk_copies) {
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared_address(target)),
            "l"(source), "r"(bytes), "r"(shared_address(barrier))
            : "memory");
    }
}

// A barrier of `threads` threads of the block, whole warps; `number` names it (0 is that of the whole block).
GPUBENCH_DEVICE void barrier_of_some(int number, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

template <Beside B>
GPUBENCH_DEVICE void copy_16_bytes(void* target, const void* source) {
    if constexpr (has_async_copies && B == Beside::nothing) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(target)), "l"(source) : "memory");
    } else if constexpr (has_async_copies && B == Beside::in_l1) {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(shared_address(target)), "l"(source) : "memory");
    } else if constexpr (has_async_copies) {
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(shared_address(target)), "l"(source) : "memory");
    }
}
// The first `exist` of them, and zero behind; of none the source is not touched.
GPUBENCH_DEVICE void copy_up_to_16_bytes(void* target, const void* source, uint32 exist) {
    if constexpr (has_async_copies) {
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(shared_address(target)), "l"(source), "r"(exist)
                     : "memory");
    }
}
GPUBENCH_DEVICE void close_copies() {
    if constexpr (has_async_copies) asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int Later>
GPUBENCH_DEVICE void await_copies() {
    if constexpr (has_async_copies) asm volatile("cp.async.wait_group %0;" ::"n"(Later) : "memory");
}

// Between this thread's own accesses to shared memory and those of bulk copies, which go another way.
GPUBENCH_DEVICE void bulk_copy_fence() {
    if constexpr (has_bulk_copies) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

}  // namespace hardware

}  // namespace gpubench
