// Faults of the processor inside a kernel, and the functions that Python calls.
#pragma once

#include <unistd.h>

#include "launch.hpp"

extern "C" {
// Present when AddressSanitizer is loaded.
__attribute__((weak)) void __asan_unpoison_memory_region(void const volatile* address, std::size_t size);
__attribute__((weak)) void __asan_set_error_report_callback(void (*callback)(const char*));
}

namespace gpubench::host {

// A wild access inside a kernel ends the launch, not the process. The handler runs on a stack of its own (the fault may
// be an overflow of the fiber's) and leaves it by switching to the worker, as every other failure does.
inline void on_fault(int signal, siginfo_t* info, void*) {
    if (!current) {  // not in a kernel: the process ends as it would have
        struct sigaction standard {};
        standard.sa_handler = SIG_DFL;
        sigaction(signal, &standard, nullptr);
        return;
    }
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    const Fiber& fiber = *self().fiber;
    const bool overflow = address >= reinterpret_cast<std::uintptr_t>(fiber.base) && address < reinterpret_cast<std::uintptr_t>(fiber.low);
    Trouble trouble;
    trouble.kind = 2;
    if (overflow) fail(trouble, "stack overflow: a thread of the kernel needs more than %zu bytes of stack", Fiber::stack_bytes);
    const char* what = signal == SIGFPE ? "division by zero" : signal == SIGILL ? "trap" : "illegal address";
    fail(trouble, "%s: %s (address 0x%llx)", what, strsignal(signal), static_cast<unsigned long long>(address));
}

// A kernel that calls exit ends the process here and now: what is to be done at an exit waits for threads that wait for
// this one. The status is EX_SOFTWARE of sysexits.h.
inline void at_exit() {
    if (!current) return;
    std::fprintf(stderr, "gpubench: kernel %s called exit\n", self().block->worker->launch->request->kernel);
    std::fflush(stderr);
    _exit(70);
}

// Adds to AddressSanitizer's report which thread it is about.
inline void name_thread(const char*) {
    if (!current) return;
    const Index3 b = current->block_index, t = current->thread_index;
    std::fprintf(stderr, "gpubench: in kernel %s, block (%u, %u, %u), thread (%u, %u, %u)\n",
                 self().block->worker->launch->request->kernel, b.x, b.y, b.z, t.x, t.y, t.z);
}

constexpr int fault_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};

// Catches faults while it lives. Under AddressSanitizer, whose own reports say more, it does nothing.
struct FaultGuard {
    struct sigaction before[4] {};
    stack_t stack_before{};
    std::vector<char> stack;
    bool active;

    explicit FaultGuard(bool wanted) : active(wanted) {
        if (!active) return;
        struct sigaction action {};
        action.sa_sigaction = on_fault;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        for (int i = 0; i < 4; ++i) sigaction(fault_signals[i], &action, &before[i]);
        use_stack();
    }
    void use_stack() {  // of this OS thread
        stack.resize(64 * 1024);
        stack_t mine{};
        mine.ss_sp = stack.data();
        mine.ss_size = stack.size();
        sigaltstack(&mine, &stack_before);
    }
    ~FaultGuard() {
        if (!active) return;
        sigaltstack(&stack_before, nullptr);
        for (int i = 0; i < 4; ++i) sigaction(fault_signals[i], &before[i], nullptr);
    }
};

// Workers outlive launches, so that stacks are mapped once; one launch runs at a time.
inline Worker& worker_number(std::size_t n) {
    static std::vector<std::unique_ptr<Worker>> workers;
    while (workers.size() <= n) workers.push_back(std::make_unique<Worker>());
    return *workers[n];
}

struct Buffer {
    std::uintptr_t low, high;
};
inline std::vector<Buffer>& buffers() {
    static std::vector<Buffer> all;
    return all;
}

constexpr std::size_t largest_watched = 64u << 20;  // bytes of a buffer whose writers are remembered

// All memory that a kernel may touch besides shared memory and its own stack: buffers, its arguments, its library's data.
inline void collect_regions(Launch& launch) {
    for (const Buffer& buffer : buffers()) {
        const std::size_t bytes = buffer.high - buffer.low;
        void* const cells = bytes <= largest_watched ? std::calloc(bytes, sizeof(GlobalCell)) : nullptr;
        launch.regions.push_back({buffer.low, buffer.high, true, static_cast<GlobalCell*>(cells)});
    }
    const auto arguments = reinterpret_cast<std::uintptr_t>(launch.request->arguments);
    launch.regions.push_back({arguments, arguments + launch.request->arguments_bytes, false});
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* data) {
            Launch& wanted = *static_cast<Launch*>(data);
            if (info->dlpi_addr != wanted.module) return 0;
            for (int i = 0; i < info->dlpi_phnum; ++i) {
                const auto& header = info->dlpi_phdr[i];
                if (header.p_type != PT_LOAD) continue;
                wanted.regions.push_back({info->dlpi_addr + header.p_vaddr, info->dlpi_addr + header.p_vaddr + header.p_memsz, false});
            }
            return 1;
        },
        &launch);
}

inline void work_on(Launch& launch, std::size_t n, std::uint64_t seed) {
    Worker& worker = worker_number(n);
    worker.launch = &launch;
    worker.random = seed * 0x9E3779B97F4A7C15ull + n + 1;
    worker.last_region = 0;
    checking = launch.request->checked == 1;
    if (__asan_unpoison_memory_region) {
        for (auto& fiber : worker.fibers) __asan_unpoison_memory_region(fiber->low, static_cast<std::size_t>(fiber->high - fiber->low));
    }
    work(worker);
    checking = false;
}

inline void run_on_workers(Launch& launch, bool guarded) {
    const Request& request = *launch.request;
    const unsigned long long useful = request.ordered ? 1 : std::min<unsigned long long>(launch.blocks, request.workers);
    std::vector<std::thread> others;
    for (std::size_t n = 1; n < useful; ++n) {
        worker_number(n);
        others.emplace_back([&launch, n, guarded, seed = request.seed] {
            std::vector<char> stack(64 * 1024);
            stack_t mine{};
            mine.ss_sp = stack.data();
            mine.ss_size = stack.size();
            if (guarded) sigaltstack(&mine, nullptr);
            work_on(launch, n, seed);
            mine.ss_flags = SS_DISABLE;
            if (guarded) sigaltstack(&mine, nullptr);
        });
    }
    work_on(launch, 0, request.seed);
    for (auto& other : others) other.join();
}

}  // namespace gpubench::host

extern "C" {

// Make a piece of memory known as a buffer that kernels may touch; `forget` takes it back.
void gpubench_host_buffer(std::uintptr_t address, std::size_t bytes) { buffers().push_back({address, address + bytes}); }
void gpubench_host_forget(std::uintptr_t address) {
    std::erase_if(buffers(), [=](const gpubench::host::Buffer& buffer) { return buffer.low == address; });
}

// Run a launch to its end. Returns the report's kind.
int gpubench_host_launch(const Request* request, Report* report) {
    static unsigned launches = 0;
    Launch launch;
    launch.request = request;
    launch.number = ++launches;
    launch.report = report;
    launch.threads = request->block[0] * request->block[1] * request->block[2];
    launch.blocks = 1ull * request->grid[0] * request->grid[1] * request->grid[2];
    *report = Report{};
    if (launch.blocks == 0 || launch.threads == 0) return 0;
    launch.stride = 1 + request->seed % launch.blocks * 2654435761ull % launch.blocks;
    while (std::gcd(launch.stride, launch.blocks) != 1) ++launch.stride;
    Dl_info library{};
    if (dladdr(reinterpret_cast<void*>(request->entry), &library)) launch.module = reinterpret_cast<std::uintptr_t>(library.dli_fbase);
    if (request->checked == 1) collect_regions(launch);
    const bool guarded = request->checked != 2;
    if (__asan_set_error_report_callback) __asan_set_error_report_callback(name_thread);
    worker_number(0);  // before the line below, so that it is destroyed after it
    [[maybe_unused]] static const int registered = std::atexit(at_exit);
    const FaultGuard guard(guarded);
    run_on_workers(launch, guarded);
    return report->kind;
}

std::size_t gpubench_host_request_bytes() { return sizeof(Request); }
std::size_t gpubench_host_report_bytes() { return sizeof(Report); }
}
