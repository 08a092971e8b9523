// CUDA's atomic functions, by the simulator's: each returns the value before. Numbers that the simulator does not add or
// compare by itself go through compare-and-swap.
#pragma once

namespace gpubench::cuda_names {

template <class T>
T from_word(uint64 word) {
    T value;
    memcpy(&value, &word, sizeof value);
    return value;
}

template <class T>
uint64 to_word(T value) {
    uint64 word = 0;
    memcpy(&word, &value, sizeof value);
    return word;
}

// Change *address by `change`, which gives the new value of the old one.
template <class T, class Change>
T changed(T* address, Change change, host::Where where) {
    uint64 seen = host::atomic_update(host::Atomic::add, address, sizeof(T), 0, where);
    for (;;) {
        const uint64 wanted = to_word<T>(change(from_word<T>(seen)));
        const uint64 found = host::atomic_compare_exchange(address, sizeof(T), seen, wanted, where);
        if (found == seen) return from_word<T>(seen);
        seen = found;
    }
}

template <class T>
struct Identity {
    using type = T;
};
template <class T>
using same_t = typename Identity<T>::type;  // in a parameter: the type comes from the pointer alone

}  // namespace gpubench::cuda_names

#define GPUBENCH_ATOMIC(function, expression)                                                                      \
    template <class T>                                                                                             \
    T function(T* address, gpubench::cuda_names::same_t<T> value,                                                  \
               gpubench::host::Where where = gpubench::host::Where::here()) {                                      \
        return gpubench::cuda_names::changed(                                                                      \
            address, [=](T old) -> T { (void)old; return static_cast<T>(expression); }, where);                    \
    }                                                                                                              \
    template <class T>                                                                                             \
    T function##_block(T* address, gpubench::cuda_names::same_t<T> value,                                          \
                       gpubench::host::Where where = gpubench::host::Where::here()) {                              \
        return function(address, value, where);                                                                    \
    }                                                                                                              \
    template <class T>                                                                                             \
    T function##_system(T* address, gpubench::cuda_names::same_t<T> value,                                         \
                        gpubench::host::Where where = gpubench::host::Where::here()) {                             \
        return function(address, value, where);                                                                    \
    }

GPUBENCH_ATOMIC(atomicAdd, old + value)
GPUBENCH_ATOMIC(atomicSub, old - value)
GPUBENCH_ATOMIC(atomicMin, value < old ? value : old)
GPUBENCH_ATOMIC(atomicMax, old < value ? value : old)
GPUBENCH_ATOMIC(atomicExch, value)
GPUBENCH_ATOMIC(atomicAnd, old& value)
GPUBENCH_ATOMIC(atomicOr, old | value)
GPUBENCH_ATOMIC(atomicXor, old ^ value)
GPUBENCH_ATOMIC(atomicInc, old >= value ? 0 : old + 1)
GPUBENCH_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)
#undef GPUBENCH_ATOMIC

template <class T>
T atomicCAS(T* address, gpubench::cuda_names::same_t<T> expected, gpubench::cuda_names::same_t<T> desired,
            gpubench::host::Where where = gpubench::host::Where::here()) {
    using namespace gpubench::cuda_names;
    return from_word<T>(
        gpubench::host::atomic_compare_exchange(address, sizeof(T), to_word<T>(expected), to_word<T>(desired), where));
}
