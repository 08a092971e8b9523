// How Python starts a kernel: through one function a kernel that unpacks its arguments for a single thread.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace gpubench::host {

template <auto Kernel>
struct EntryPoint;

template <class... A, void (*Kernel)(A...)>
struct EntryPoint<Kernel> {
    // A copy of the argument that `bytes` points to, which need not be aligned.
    template <class T>
    static T argument(const void* bytes) {
        alignas(T) unsigned char place[sizeof(T)];
        __builtin_memcpy(place, bytes, sizeof(T));
        return *reinterpret_cast<T*>(place);
    }
    template <std::size_t... I>
    static void unpack(void* const* values, std::index_sequence<I...>) {
        Kernel(argument<std::remove_cv_t<A>>(values[I])...);
    }
    static void run(void* const* values) { unpack(values, std::index_sequence_for<A...>{}); }

    // Sizes of the arguments, closed by 0: what Python packs is checked against them.
    static constexpr std::size_t sizes[] = {sizeof(A)..., 0};
};

}  // namespace gpubench::host

#define GPUBENCH_ENTRY_POINT(number, ...)                                                                           \
    extern "C" __attribute__((visibility("default"))) void gpubench_kernel_##number(void* const* values) {          \
        ::gpubench::host::EntryPoint<&__VA_ARGS__>::run(values);                                                    \
    }                                                                                                               \
    extern "C" __attribute__((visibility("default"))) const std::size_t* gpubench_sizes_##number() {                \
        return ::gpubench::host::EntryPoint<&__VA_ARGS__>::sizes;                                                   \
    }
