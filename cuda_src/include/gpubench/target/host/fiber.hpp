// A fiber: a stack of its own and the place where it was left. Part of the host device's runtime, never of a kernel.
//
// Switching saves the registers that a called function must keep and the stack pointer, nothing else: no signal mask,
// no system call. x86-64 and aarch64 have a hand-written switch; other machines (and builds with
// GPUBENCH_HOST_UCONTEXT defined, so that the slow path can be tested anywhere) go through ucontext.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#if !defined(__x86_64__) && !defined(__aarch64__) && !defined(GPUBENCH_HOST_UCONTEXT)
#define GPUBENCH_HOST_UCONTEXT 1
#endif

#ifdef GPUBENCH_HOST_UCONTEXT
#include <ucontext.h>
#endif

namespace gpubench::host {

using FiberMain = void (*)(void*);

#ifdef GPUBENCH_HOST_UCONTEXT

// One saved place. `context` is filled by swapcontext.
struct Context {
    ucontext_t context;
};

inline void switch_context(Context& from, Context& to) { swapcontext(&from.context, &to.context); }

// makecontext passes ints only: the two pointers travel in halves.
inline void ucontext_entry(unsigned main_low, unsigned main_high, unsigned argument_low, unsigned argument_high) {
    const auto join = [](unsigned low, unsigned high) { return (std::uintptr_t(high) << 16 << 16) | low; };
    reinterpret_cast<FiberMain>(join(main_low, main_high))(reinterpret_cast<void*>(join(argument_low, argument_high)));
}

inline void make_context(Context& context, char* low, char* high, FiberMain main, void* argument) {
    getcontext(&context.context);
    context.context.uc_stack.ss_sp = low;
    context.context.uc_stack.ss_size = static_cast<std::size_t>(high - low);
    context.context.uc_link = nullptr;
    const auto m = reinterpret_cast<std::uintptr_t>(main);
    const auto a = reinterpret_cast<std::uintptr_t>(argument);
    makecontext(&context.context, reinterpret_cast<void (*)()>(ucontext_entry), 4, unsigned(m), unsigned(m >> 16 >> 16),
                unsigned(a), unsigned(a >> 16 >> 16));
}

#else

// One saved place: the stack pointer, under which the kept registers lie.
struct Context {
    void* stack_pointer;
};

extern "C" void gpubench_host_switch(void** from, void* to);
extern "C" void gpubench_host_start();

#ifdef GPUBENCH_HOST_RUNTIME  // the switch itself is defined once, in the runtime
#if defined(__x86_64__)
asm(R"(
.text
.p2align 4
.globl gpubench_host_switch
.type gpubench_host_switch, @function
gpubench_host_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size gpubench_host_switch, .-gpubench_host_switch
.globl gpubench_host_start
.type gpubench_host_start, @function
gpubench_host_start:
    movq %r12, %rdi
    callq *%rbx
    ud2
.size gpubench_host_start, .-gpubench_host_start
)");
#else
asm(R"(
.text
.p2align 4
.globl gpubench_host_switch
.type gpubench_host_switch, %function
gpubench_host_switch:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
.size gpubench_host_switch, .-gpubench_host_switch
.globl gpubench_host_start
.type gpubench_host_start, %function
gpubench_host_start:
    mov x0, x20
    blr x19
    brk #1
.size gpubench_host_start, .-gpubench_host_start
)");
#endif
#endif

inline void switch_context(Context& from, Context& to) { gpubench_host_switch(&from.stack_pointer, to.stack_pointer); }

// Lay out the stack as if gpubench_host_switch had been left there, to return into gpubench_host_start.
inline void make_context(Context& context, char* low, char* high, FiberMain main, void* argument) {
    (void)low;
    auto** top = reinterpret_cast<void**>(reinterpret_cast<std::uintptr_t>(high) & ~std::uintptr_t(15));
#if defined(__x86_64__)
    // r15 r14 r13 r12 rbx rbp, return address; the start routine finds a 16-byte aligned stack.
    void** frame = top - 9;
    std::memset(frame, 0, 9 * sizeof(void*));
    frame[3] = argument;
    frame[4] = reinterpret_cast<void*>(main);
    frame[6] = reinterpret_cast<void*>(gpubench_host_start);
#else
    void** frame = top - 20;
    std::memset(frame, 0, 20 * sizeof(void*));
    frame[0] = reinterpret_cast<void*>(main);
    frame[1] = argument;
    frame[11] = reinterpret_cast<void*>(gpubench_host_start);
#endif
    context.stack_pointer = frame;
}

#endif

// A fiber on a guarded stack. The lowest part cannot be accessed, so that an overflow faults instead of
// spoiling a neighbour.
struct Fiber {
    Context context;
    char* base = nullptr;  // start of the mapping: the guard
    char* low = nullptr;   // lowest usable byte
    char* high = nullptr;  // one past the highest byte
    void* owner = nullptr;

    static constexpr std::size_t stack_bytes = 128 * 1024;
    static constexpr std::size_t guard_bytes = 64 * 1024;  // a whole page on every machine, and more than most frames

    // Map a stack. `number` staggers the tops: were all at the same offset, every switch would meet the same cache set.
    void map(unsigned number) {
        constexpr std::size_t total = stack_bytes + guard_bytes;
        void* memory = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc();
        base = static_cast<char*>(memory);
        if (mprotect(base, guard_bytes, PROT_NONE) != 0) throw std::bad_alloc();
        low = base + guard_bytes;
        high = base + total - (number * 192u) % 4096u;
    }
    void unmap() {
        if (base) munmap(base, stack_bytes + static_cast<std::size_t>(low - base));
        base = nullptr;
    }
    void start(FiberMain main, void* argument) { make_context(context, low, high, main, argument); }
};

}  // namespace gpubench::host
