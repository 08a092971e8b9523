// Shared memory: one arena a block, poisoned before each block, with gaps between its pieces.
#pragma once

#include "collectives.hpp"

namespace gpubench::host {

constexpr std::size_t piece_gap = 256;

// Start a block's shared memory anew, with `bytes` of dynamic memory.
inline void reset_shared(Block& block, std::size_t bytes) {
    const bool separate = block.worker->launch->request->checked == 2;
    if (separate) {
        for (const SharedPiece& piece : block.pieces) std::free(piece.start);
    }
    block.pieces.clear();
    block.static_bytes = 0;
    block.arena_used = piece_gap;
    if (!block.arena && posix_memalign(reinterpret_cast<void**>(&block.arena), 4096, arena_bytes) != 0) throw std::bad_alloc();
    if (block.worker->launch->request->checked == 1 && block.cells.empty()) block.cells.resize(arena_bytes);
    block.first_epoch = block.epoch = ++block.worker->epoch;
    (void)bytes;
}

// Cut a piece off the arena, or allocate it exactly where AddressSanitizer watches.
inline char* new_piece(Block& block, const void* key, std::size_t bytes, std::size_t alignment) {
    char* start = nullptr;
    alignment = alignment < 16 ? 16 : alignment;
    if (block.worker->launch->request->checked == 2) {
        if (posix_memalign(reinterpret_cast<void**>(&start), alignment, bytes ? bytes : 1) != 0) throw std::bad_alloc();
    } else {
        const std::size_t at = (block.arena_used + alignment - 1) & ~(alignment - 1);
        if (at + bytes + piece_gap > arena_bytes) return nullptr;
        start = block.arena + at;
        block.arena_used = at + bytes + piece_gap;
    }
    std::memset(start, shared_poison, bytes);
    block.pieces.push_back({key, start, bytes});
    return start;
}

void* shared_array(const void* key, std::size_t bytes, std::size_t alignment, Where where) {
    Block& block = *self().block;
    for (const SharedPiece& piece : block.pieces) {
        if (piece.key == key) return piece.start;
    }
    block.static_bytes += bytes;
    char* start = block.static_bytes > static_shared_limit ? nullptr : new_piece(block, key, bytes, alignment);
    if (!start) {
        fail(where, "too much shared memory: %zu bytes of static shared memory in one block, at most %zu are allowed",
             block.static_bytes, static_shared_limit);
    }
    return start;
}

}  // namespace gpubench::host
