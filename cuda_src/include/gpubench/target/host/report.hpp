// Messages: how a launch ends when a kernel breaks a rule.
#pragma once

#include <dlfcn.h>
#include <execinfo.h>

#include "scheduler.hpp"

namespace gpubench::host {

struct Trouble {
    int kind = 1;
    Where where{"", 0};
    const void* code = nullptr;         // where, if not where the thread is now
    bool trace = true;                  // the place is of interest
    std::uint64_t other_offset = 0;
    std::uintptr_t buffer = 0;
};

inline std::uint32_t offset_in_module(const Launch& launch, const void* code) {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(code) - launch.module);
}

// Put the offsets of the calls that led here into the report: those of the running thread, unless the trouble names one.
inline void note_calls(Launch& launch, const Trouble& trouble) {
    void* calls[48];
    int count = 1;
    calls[0] = const_cast<void*>(trouble.code);
    if (!trouble.code && trouble.trace && current) count = backtrace(calls, 48);
    int noted = 0;
    for (int i = 0; i < count && noted < 8; ++i) {
        Dl_info library{};
        if (!calls[i] || !dladdr(calls[i], &library)) continue;
        if (reinterpret_cast<std::uintptr_t>(library.dli_fbase) == launch.module) {
            launch.report->calls[noted++] = offset_in_module(launch, calls[i]);
        }
    }
}

// Note where the kernel called a function of the runtime; stands first in each of them.
#define GPUBENCH_NOTE_CALL() (self().call = __builtin_return_address(0))

// Keep the first trouble of a launch; `thread` may be null.
inline void record(Launch& launch, const Thread* thread, const Trouble& trouble, const char* format, va_list values) {
    const std::lock_guard<std::mutex> lock(launch.reporting);
    if (launch.failed.exchange(true)) return;
    Report& report = *launch.report;
    report.kind = trouble.kind;
    report.line = trouble.where.line;
    std::snprintf(report.file, sizeof report.file, "%s", trouble.where.file);
    note_calls(launch, trouble);
    report.other_offset = trouble.other_offset;
    report.buffer = trouble.buffer;
    if (thread) {
        const Index3 b = thread->view.block_index, t = thread->view.thread_index;
        report.block[0] = b.x, report.block[1] = b.y, report.block[2] = b.z;
        report.thread[0] = t.x, report.thread[1] = t.y, report.thread[2] = t.z;
    }
    std::vsnprintf(report.message, sizeof report.message, format, values);
}

// Give the OS thread back to its worker, for good: the thread that fails is never resumed.
[[noreturn]] inline void abandon() {
    Worker& worker = *self().block->worker;
    worker.slice = Slice::failed;
    current = nullptr;
    Context lost;
    switch_context(lost, worker.main);
    std::abort();
}

[[noreturn]] __attribute__((format(printf, 2, 3))) inline void fail(const Trouble& trouble, const char* format, ...) {
    Thread& thread = self();
    va_list values;
    va_start(values, format);
    record(*thread.block->worker->launch, &thread, trouble, format, values);
    va_end(values);
    abandon();
}

void fail(Where where, const char* format, ...) {
    Thread& thread = self();
    Trouble trouble;
    trouble.where = where;
    va_list values;
    va_start(values, format);
    record(*thread.block->worker->launch, &thread, trouble, format, values);
    va_end(values);
    abandon();
}

// A thread's index as text; each use in one statement needs a `slot` of its own.
inline const char* name_of(const Thread& thread, int slot = 0) {
    static thread_local char text[4][48];
    const Index3 t = thread.view.thread_index;
    std::snprintf(text[slot], sizeof text[slot], "(%u,%u,%u)", t.x, t.y, t.z);
    return text[slot];
}

// Only the file's own name: the folder is of no use in a message.
inline const char* base_name(const char* file) {
    const char* slash = std::strrchr(file, '/');
    return slash ? slash + 1 : file;
}

}  // namespace gpubench::host
