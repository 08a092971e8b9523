#!/usr/bin/env python3
"""Show how many vectors of 16 bytes a GPU reads, and adds to, at random places of tables of several sizes.

    scripts/addition_rates.py cuda:0

Each thread takes one place after the other, 2^23 in all, and does nothing else: `read` sums what is there, `add` adds
to it (`red.v4.f32`, from compute capability 9.0 on), `ask_add` has asked for each place four turns before
(`prefetch`). Prints billions a second, of the fastest of eight launches that find the L2 cache full of something else.
What index_add's rows without a place in shared memory cost beyond the L2 cache follows from it (docs/index_add.md).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from gpubench.devices import open_device  # noqa: E402 - the checkout must be found first
from gpubench.peers.cupy import cupy_stream  # noqa: E402

CODE = r"""
__device__ unsigned place(unsigned i, unsigned mask) {
    i ^= i >> 16; i *= 0x7feb352dU; i ^= i >> 15; i *= 0x846ca68bU; i ^= i >> 16;
    return i & mask;
}
__device__ void ask(const float4* at) { asm volatile("prefetch.global.L2 [%0];" :: "l"(at)); }
__device__ void add_ones(float4* at) {
    asm volatile("red.global.add.v4.f32 [%0], {%1, %1, %1, %1};" :: "l"(at), "f"(1.f) : "memory");
}
extern "C" __global__ void read(float4* table, unsigned mask, unsigned count, float* out) {
    float sum = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        const float4 found = __ldcg(table + place(i, mask));
        sum += found.x + found.y + found.z + found.w;
    }
    if (sum == 1234.5f) *out = sum;
}
extern "C" __global__ void add(float4* table, unsigned mask, unsigned count, float* out) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        add_ones(table + place(i, mask));
}
extern "C" __global__ void ask_add(float4* table, unsigned mask, unsigned count, float* out) {
    const unsigned step = gridDim.x * blockDim.x;
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned k = 0; k < 4; ++k) ask(table + place(i + k * step, mask));
    for (; i < count; i += step) {
        ask(table + place(i + 4 * step, mask));
        add_ones(table + place(i, mask));
    }
}
"""

COUNT, SAMPLES = 2**23, 8
BLOCKS, THREADS = 8, 256
"""Of an SM, and of a block."""

SIZES = (20, 21, 22, 23, 24, 26)
"""log2 of a table's vectors: 16 MB to 1 GB."""


def main() -> int:
    """Time every kernel on every table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("device", help="such as cuda:0")
    device: Any = open_device(parser.parse_args().device)
    import cupy

    module = cupy.RawModule(code=CODE)
    stream = cupy_stream(cupy, device.stream)
    table, out = cupy.zeros(4 << max(SIZES), cupy.float32), cupy.zeros(1, cupy.float32)
    functions = {name: module.get_function(name) for name in ("read", "add", "ask_add")}  # compiled before any is timed

    def launch(name: str, size: int) -> None:
        with stream:
            given = (table, np.uint32((1 << size) - 1), np.uint32(COUNT), out)
            functions[name]((BLOCKS * device.info.sm_count,), (THREADS,), given)

    for size in SIZES:
        rates = []
        for name in functions:
            launch(name, size)  # code is loaded when it first runs
            cupy.cuda.runtime.deviceSynchronize()
            taken = device.sample("cold", lambda: None, lambda name=name, size=size: launch(name, size), SAMPLES)
            rates.append(f"{name} {COUNT / min(sample.us for sample in taken) / 1e3:.1f}")
        print(f"{(16 << size) >> 20:5} MB  {'  '.join(rates)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
