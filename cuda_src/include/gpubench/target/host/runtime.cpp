// The host device's runtime: fibers, blocks, barriers, warp collectives and every diagnostic.
// Compiled once into its own library; kernels reach it through runtime.hpp, Python through the functions at the end.
#define GPUBENCH_HOST_RUNTIME 1

#include "scheduler.hpp"

namespace gpubench::host {

__thread ThreadView* current __attribute__((tls_model("initial-exec"))) = nullptr;
__thread bool checking __attribute__((tls_model("initial-exec"))) = false;

}  // namespace gpubench::host

#include "report.hpp"
#include "threads.hpp"
#include "collectives.hpp"
#include "shared.hpp"
#include "access.hpp"
#include "atomics.hpp"
#include "undefined.hpp"
#include "launch.hpp"
