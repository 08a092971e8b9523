// Undefined behaviour: what UBSan's instrumentation calls. Written here rather than taken from the compiler's runtime, so
// that a message names kernel, block and thread, nothing has to be preloaded, and the process lives on.
#pragma once

#include "atomics.hpp"

namespace gpubench::host {

// The compilers' layouts.
struct SourceLocation {
    const char* file;
    std::uint32_t line, column;
};
struct TypeDescriptor {
    std::uint16_t kind;  // 0: integer
    std::uint16_t info;  // bit 0: signed; the rest: log2 of the width
    char name[1];
};
struct OverflowData {
    SourceLocation location;
    const TypeDescriptor* type;
};
struct ShiftData {
    SourceLocation location;
    const TypeDescriptor *left, *right;
};
struct IndexData {
    SourceLocation location;
    const TypeDescriptor *array, *index;
};
struct MismatchData {
    SourceLocation location;
    const TypeDescriptor* type;
    unsigned char log_alignment, kind;
};

inline long long number(const TypeDescriptor& type, std::uintptr_t value) {
    const unsigned bits = 1u << (type.info >> 1);
    if (bits > 64) return 0;
    const unsigned unused = 64 - bits;
    return (type.info & 1) ? static_cast<long long>(value << unused) >> unused
                           : static_cast<long long>(value << unused >> unused);
}

inline bool simulating() { return current != nullptr; }
inline Where where_of(const SourceLocation& location) { return {location.file, static_cast<int>(location.line)}; }

inline void overflow(const OverflowData* data, const char* what, std::uintptr_t left, std::uintptr_t right) {
    if (!simulating()) return;
    fail(where_of(data->location), "integer overflow: %lld %s %lld does not fit %s", number(*data->type, left), what,
         number(*data->type, right), data->type->name);
}

}  // namespace gpubench::host

extern "C" {
void __ubsan_handle_add_overflow(OverflowData* data, std::uintptr_t a, std::uintptr_t b) { overflow(data, "+", a, b); }
void __ubsan_handle_sub_overflow(OverflowData* data, std::uintptr_t a, std::uintptr_t b) { overflow(data, "-", a, b); }
void __ubsan_handle_mul_overflow(OverflowData* data, std::uintptr_t a, std::uintptr_t b) { overflow(data, "*", a, b); }
void __ubsan_handle_divrem_overflow(OverflowData* data, std::uintptr_t a, std::uintptr_t b) {
    if (!simulating()) return;
    if (number(*data->type, b) == 0) fail(where_of(data->location), "division by zero");
    overflow(data, "/", a, b);
}
void __ubsan_handle_negate_overflow(OverflowData* data, std::uintptr_t a) { overflow(data, "negated from", 0, a); }
void __ubsan_handle_shift_out_of_bounds(ShiftData* data, std::uintptr_t, std::uintptr_t b) {
    if (simulating()) {
        fail(where_of(data->location), "shift by %lld of a %s", number(*data->right, b), data->left->name);
    }
}
void __ubsan_handle_out_of_bounds(IndexData* data, std::uintptr_t index) {
    if (simulating()) {
        fail(where_of(data->location), "out of bounds: index %lld of %s", number(*data->index, index), data->array->name);
    }
}
void __ubsan_handle_type_mismatch_v1(MismatchData* data, std::uintptr_t pointer) {
    if (!simulating()) return;
    if (pointer == 0) fail(where_of(data->location), "null pointer used as %s", data->type->name);
    fail(where_of(data->location), "misaligned access: %s at address 0x%llx, which is no multiple of %u", data->type->name,
         static_cast<unsigned long long>(pointer), 1u << data->log_alignment);
}
void __ubsan_handle_pointer_overflow(SourceLocation* location, std::uintptr_t base, std::uintptr_t result) {
    if (simulating()) {
        fail(where_of(*location), "pointer overflow: from 0x%llx to 0x%llx", static_cast<unsigned long long>(base),
             static_cast<unsigned long long>(result));
    }
}
void __ubsan_handle_builtin_unreachable(SourceLocation* location) {
    if (simulating()) fail(where_of(*location), "a place was reached that was declared unreachable");
    std::abort();
}
void __ubsan_handle_missing_return(SourceLocation* location) {
    if (simulating()) fail(where_of(*location), "a function that must return a value ended without one");
    std::abort();
}
void __ubsan_handle_load_invalid_value(OverflowData* data, std::uintptr_t value) {
    if (simulating()) {
        fail(where_of(data->location), "a %s holds the impossible value %llu", data->type->name,
             static_cast<unsigned long long>(value));
    }
}
}
