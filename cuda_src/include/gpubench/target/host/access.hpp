// Checks of single accesses. A checked build is compiled with the compiler's thread-sanitizer hooks, which call the
// functions at the end for every load and store; here they mean something else: is the address inside a buffer, was this
// byte of shared memory written, and did another thread touch it since the last barrier?
//
// Two accesses of one byte of shared memory by different threads, at least one of them a plain store, are a race unless
// a block barrier lies between them, or, within a warp, a warp barrier. Shuffles and votes order nothing.
#pragma once

#include "shared.hpp"

namespace gpubench::host {

enum class Access { read, write, atomic_read, atomic_write, atomic_store };  // atomic_write: reads as well

inline bool is_atomic(Access kind) { return kind != Access::read && kind != Access::write; }
inline bool writes(Access kind) { return kind != Access::read && kind != Access::atomic_read; }

// Readers of a byte: a thread's rank, or several threads of warp w (several_in_warp + w), or of several warps.
constexpr std::uint16_t several_in_warp = 2048;
constexpr std::uint16_t several = 0xFFFF;

[[noreturn]] inline void fail_race(const Thread& thread, const Cell& cell, const char* mine, const char* others, bool with_writer,
                                   Trouble trouble) {
    trouble.other_offset = with_writer ? cell.write_code : cell.read_code;
    const unsigned other = with_writer ? cell.writer : cell.reader;
    if (other >= several_in_warp) {
        fail(trouble, "race on shared memory: this thread %s what several threads %s, with no barrier in between", mine, others);
    }
    fail(trouble, "race on shared memory: this thread %s what thread %s %s, with no barrier in between", mine,
         name_of(thread.block->threads[other]), others);
}

// True when `other` (a rank or one of the marks above) touched a byte unordered with `rank`.
inline bool unordered(unsigned other, std::uint32_t epoch, std::uint32_t warp_epoch, const Thread& thread) {
    const Block& block = *thread.block;
    if (epoch != block.epoch || other == thread.view.rank) return false;
    const unsigned warp = thread.view.rank / warp_size;
    const bool same_warp = other < several_in_warp ? other / warp_size == warp : other == several_in_warp + warp;
    return !same_warp || warp_epoch == block.warps[warp].epoch;
}

inline void note_reader(Cell& cell, const Thread& thread, std::uint32_t code) {
    const Block& block = *thread.block;
    const auto rank = static_cast<std::uint16_t>(thread.view.rank);
    const auto mark = static_cast<std::uint16_t>(several_in_warp + rank / warp_size);
    const bool same = cell.reader == mark || (cell.reader < several_in_warp && cell.reader / warp_size == rank / warp_size);
    if (cell.read_epoch != block.epoch || (same && cell.read_warp_epoch != block.warps[rank / warp_size].epoch)) {
        cell.reader = rank;  // who read before a barrier of the same threads comes before whoever comes after this reader
    } else if (cell.reader != rank) {
        cell.reader = same ? mark : several;
    }
    cell.read_epoch = block.epoch;
    cell.read_warp_epoch = block.warps[rank / warp_size].epoch;
    cell.read_code = code;
}

inline void check_shared_byte(Thread& thread, Cell& cell, Access kind, const Trouble& trouble, std::uint32_t code) {
    Block& block = *thread.block;
    const bool written = cell.write_epoch >= block.first_epoch;
    const bool needs_value = !writes(kind) || kind == Access::atomic_write;
    if (needs_value && !written) fail(trouble, "uninitialised read of shared memory: no thread of this block has written it yet (is a barrier missing?)");
    const bool both_atomic = is_atomic(kind) && cell.write_atomic;
    if (written && !both_atomic && unordered(cell.writer, cell.write_epoch, cell.write_warp_epoch, thread)) {
        fail_race(thread, cell, writes(kind) ? "writes" : "reads", "wrote", true, trouble);
    }
    if (writes(kind) && cell.read_epoch >= block.first_epoch &&
        unordered(cell.reader, cell.read_epoch, cell.read_warp_epoch, thread)) {
        fail_race(thread, cell, "writes", "read", false, trouble);
    }
    if (writes(kind)) {
        cell.write_epoch = block.epoch;
        cell.write_warp_epoch = block.warps[thread.view.rank / warp_size].epoch;
        cell.writer = static_cast<std::uint16_t>(thread.view.rank);
        cell.write_code = code;
        cell.write_atomic = is_atomic(kind);
        if (kind == Access::write) cell.read_epoch = 0;  // whoever comes after this write comes after those reads, too
    } else if (kind == Access::read) {
        note_reader(cell, thread, code);
    }
}

inline void check_shared(Thread& thread, std::size_t offset, std::size_t bytes, Access kind, Trouble trouble, const void* where) {
    Block& block = *thread.block;
    const char* address = block.arena + offset;
    bool inside = false;
    for (const SharedPiece& piece : block.pieces) {
        inside = inside || (address >= piece.start && address + bytes <= piece.start + piece.bytes);
    }
    if (!inside) {
        const SharedPiece* nearest = nullptr;
        for (const SharedPiece& piece : block.pieces) {
            if (piece.start <= address) nearest = nearest && nearest->start > piece.start ? nearest : &piece;
        }
        fail(trouble, "out of bounds of shared memory: %s %zu bytes, %td bytes from the start of an array of %zu bytes",
             writes(kind) ? "writes" : "reads", bytes, nearest ? address - nearest->start : std::ptrdiff_t(offset) - std::ptrdiff_t(piece_gap),
             nearest ? nearest->bytes : 0);
    }
    const std::uint32_t code = where ? offset_in_module(*block.worker->launch, where) : 0;
    for (std::size_t i = 0; i < bytes; ++i) check_shared_byte(thread, block.cells[offset + i], kind, trouble, code);
}

inline bool in_fiber_stack(const Thread& thread, std::uintptr_t address) {
    return address - reinterpret_cast<std::uintptr_t>(thread.fiber->low) < Fiber::stack_bytes;
}

// Writes of one byte by two threads, or a read of what another thread wrote, must have a barrier between them; in
// different blocks an atomic or ordered access by the second block, which may have told it that the first was done.
inline void check_writer(Thread& thread, GlobalCell& cell, Access kind, const Trouble& trouble) {
    Block& block = *thread.block;
    const std::uint32_t number = block.number + 1;
    const Warp& warp = block.warps[thread.view.rank / warp_size];
    const bool mine = cell.block == number;
    const bool same_warp = cell.thread / warp_size == thread.view.rank / warp_size;
    const bool unordered_here = mine && cell.thread != thread.view.rank && cell.epoch == block.epoch &&
                                (!same_warp || cell.warp_epoch == static_cast<std::uint16_t>(warp.epoch));
    if (unordered_here || (cell.block != 0 && !mine && !block.met_others)) {
        fail(trouble, "race on global memory: this thread %s what thread %u of block %u wrote, with no %s in between",
             kind == Access::write ? "writes" : "reads", unsigned(cell.thread), cell.block - 1,
             mine ? "barrier" : "atomic or ordered access");
    }
    if (kind == Access::write) {
        cell = {number, block.epoch, static_cast<std::uint16_t>(thread.view.rank), static_cast<std::uint16_t>(warp.epoch)};
    }
}

inline void check_writers(Thread& thread, const Region& region, std::uintptr_t address, std::size_t bytes, Access kind,
                          const Trouble& trouble) {
    if (is_atomic(kind)) {
        thread.block->met_others = true;
    } else if (region.cells) {
        for (std::size_t i = 0; i < bytes; ++i) check_writer(thread, region.cells[address - region.low + i], kind, trouble);
    }
}

inline void check_global(Thread& thread, std::uintptr_t address, std::size_t bytes, Access kind, Trouble trouble) {
    Worker& worker = *thread.block->worker;
    const std::vector<Region>& regions = worker.launch->regions;
    const auto holds = [&](const Region& region) { return address >= region.low && address + bytes <= region.high; };
    if (in_fiber_stack(thread, address)) return;
    for (std::size_t i = 0, at = worker.last_region; i < regions.size(); ++i, at = at + 1 < regions.size() ? at + 1 : 0) {
        if (!holds(regions[at])) continue;
        worker.last_region = at;
        return check_writers(thread, regions[at], address, bytes, kind, trouble);
    }
    const Region* nearest = nullptr;
    std::uintptr_t best = ~std::uintptr_t(0);
    for (const Region& region : regions) {
        if (!region.buffer) continue;
        const std::uintptr_t away = address < region.low ? region.low - address : address - region.low;
        const std::uintptr_t past = address >= region.high ? address - region.high : away;
        if (past < best) best = past, nearest = &region;
    }
    if (!nearest || best > std::uintptr_t(1) << 32) {
        fail(trouble, "out of bounds: %s %zu bytes at address 0x%llx, which is far from every buffer", writes(kind) ? "writes" : "reads",
             bytes, static_cast<unsigned long long>(address));
    }
    trouble.buffer = nearest->low;
    fail(trouble, "out of bounds: %s %zu bytes at byte offset %lld of a buffer of %llu bytes", writes(kind) ? "writes" : "reads",
         bytes, static_cast<long long>(address - nearest->low), static_cast<unsigned long long>(nearest->high - nearest->low));
}

// `code`: the instruction, kept with shared memory so that a race can name both sides.
inline void check_access(const void* pointer, std::size_t bytes, Access kind, const void* code, Where where) {
    Thread& thread = self();
    Block& block = *thread.block;
    Trouble trouble;
    trouble.where = where;
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    const std::uintptr_t offset = address - reinterpret_cast<std::uintptr_t>(block.arena);
    if (offset < arena_bytes) {
        check_shared(thread, offset, bytes, kind, trouble, code);
    } else {
        check_global(thread, address, bytes, kind, trouble);
    }
}

// An access that the compiler knows to be aligned in a right program.
inline void check_aligned_access(const void* pointer, std::size_t bytes, Access kind, const void* code) {
    if (!current || !checking || in_fiber_stack(self(), reinterpret_cast<std::uintptr_t>(pointer))) return;
    if (reinterpret_cast<std::uintptr_t>(pointer) % bytes != 0) {
        fail(Trouble{}, "misaligned access: %zu bytes at address %p", bytes, pointer);
    }
    check_access(pointer, bytes, kind, code, Where{"", 0});
}

inline void check_any_access(const void* pointer, std::size_t bytes, Access kind, const void* code) {
    if (current && checking && bytes > 0) check_access(pointer, bytes, kind, code, Where{"", 0});
}

void fail_misaligned(Where where, const void* address, std::size_t bytes) {
    fail(where, "misaligned access: %zu bytes at address %p, which is no multiple of %zu", bytes, address, bytes);
}

}  // namespace gpubench::host

// --- The compiler's hooks --------------------------------------------------------------------------------------------
// Their names and meaning are the compilers'; no sanitizer runtime is linked.

#define GPUBENCH_HOOKS(size)                                                                                             \
    void __tsan_read##size(void* p) { check_aligned_access(p, size, Access::read, __builtin_return_address(0)); }        \
    void __tsan_write##size(void* p) { check_aligned_access(p, size, Access::write, __builtin_return_address(0)); }      \
    void __tsan_volatile_read##size(void* p) { check_aligned_access(p, size, Access::read, __builtin_return_address(0)); }     \
    void __tsan_volatile_write##size(void* p) { check_aligned_access(p, size, Access::write, __builtin_return_address(0)); }   \
    void __tsan_unaligned_read##size(void* p) { check_any_access(p, size, Access::read, __builtin_return_address(0)); }  \
    void __tsan_unaligned_write##size(void* p) { check_any_access(p, size, Access::write, __builtin_return_address(0)); } \
    void __tsan_read_write##size(void* p) {                                                                              \
        check_aligned_access(p, size, Access::read, __builtin_return_address(0));                                        \
        check_aligned_access(p, size, Access::write, __builtin_return_address(0));                                       \
    }

extern "C" {
using namespace gpubench::host;
GPUBENCH_HOOKS(1)
GPUBENCH_HOOKS(2)
GPUBENCH_HOOKS(4)
GPUBENCH_HOOKS(8)
GPUBENCH_HOOKS(16)
void __tsan_read_range(void* p, unsigned long n) { check_any_access(p, n, Access::read, __builtin_return_address(0)); }
void __tsan_write_range(void* p, unsigned long n) { check_any_access(p, n, Access::write, __builtin_return_address(0)); }
void* __tsan_memcpy(void* to, const void* from, unsigned long n) {
    check_any_access(from, n, Access::read, __builtin_return_address(0));
    check_any_access(to, n, Access::write, __builtin_return_address(0));
    return std::memcpy(to, from, n);
}
void* __tsan_memset(void* to, int byte, unsigned long n) {
    check_any_access(to, n, Access::write, __builtin_return_address(0));
    return std::memset(to, byte, n);
}
void __tsan_atomic_thread_fence(int) { std::atomic_thread_fence(std::memory_order_seq_cst); }
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
}
#undef GPUBENCH_HOOKS
