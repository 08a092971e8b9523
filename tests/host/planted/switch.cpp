// Three fibers take turns three times: each must find its stack aligned and the registers that it keeps as it left them.
// Prints the turns taken, and what the registers of the main program hold in the end.
#define GPUBENCH_HOST_RUNTIME 1
#include <cstdio>

#include "fiber.hpp"

using namespace gpubench::host;

static Context home;
static Fiber fibers[3];
static int turns = 0;

static double opaque(double value) {
    asm volatile("" : "+m"(value));
    return value;
}

static void body(void* argument) {
    auto* const fiber = static_cast<Fiber*>(argument);
    const double kept = opaque(static_cast<double>(fiber - fibers));
    const long number = fiber - fibers;
    for (;;) {
        alignas(16) char aligned[16];
        asm volatile("" : : "r"(aligned) : "memory");
        const bool right = reinterpret_cast<std::uintptr_t>(aligned) % 16 == 0 && kept == static_cast<double>(number);
        turns += right && fiber->low < aligned && aligned < fiber->high;
        switch_context(fiber->context, home);
    }
}

int main() {
    for (int i = 0; i < 3; ++i) {
        fibers[i].map(static_cast<unsigned>(i));
        fibers[i].start(body, &fibers[i]);
    }
    double product = opaque(0.25);
    for (int turn = 0; turn < 3; ++turn) {
        for (Fiber& fiber : fibers) {
            switch_context(home, fiber.context);
            product *= 2;
        }
    }
    std::printf("%d %g\n", turns, product);
}
