#!/usr/bin/env python3
"""Show the steps in which the events of a short kernel come on a GPU, and what a median makes of them.

    scripts/event_steps.py cuda:0

Times one small kernel, cold, that works a little longer from line to line, and prints what there was of it: the
median, the mean of the middle half, the mean, and how many samples had which time. Where events came as finely as their
timer says (32 ns on an H100), all three would grow alike from line to line.
"""

from __future__ import annotations

import argparse
import collections
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import trim_mean

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from random_speed import OUTER  # noqa: E402 - the checkout must be found first

from gpubench.devices import open_device  # noqa: E402
from gpubench.peers.cupy import cupy_stream  # noqa: E402

KERNEL = r"""
extern "C" __global__ void __launch_bounds__(256) work(const float* x, float* y, int turns) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = x[i];
#pragma unroll 1
    for (int turn = 0; turn < turns; ++turn) value = value * 1.5f + 0.5f;
    y[i] = value;
}
"""

BLOCKS, THREADS = 256, 256
TURNS = range(0, 60, 3)
"""Of a thread, each a product and a sum that wait for those before: three take about 0.05 us."""

ROUNDS, SAMPLES = 8, 16


def main() -> int:
    """Take the samples in rounds over all lengths, so that a clock that moves moves them alike."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("device", help="such as cuda:0")
    device: Any = open_device(parser.parse_args().device)
    import cupy

    work = cupy.RawModule(code=KERNEL).get_function("work")
    stream = cupy_stream(cupy, device.stream)
    x, y = cupy.ones(BLOCKS * THREADS, cupy.float32), cupy.zeros(BLOCKS * THREADS, cupy.float32)
    cupy.cuda.runtime.deviceSynchronize()

    def launch(turns: int) -> None:
        with stream:
            work((BLOCKS,), (THREADS,), (x, y, np.int32(turns)))

    samples: dict[int, list[float]] = collections.defaultdict(list)
    for _ in range(ROUNDS):
        for turns in TURNS:
            taken = device.sample("cold", lambda: None, lambda turns=turns: launch(turns), SAMPLES)
            samples[turns] += [sample.us for sample in taken]
    for turns, us in samples.items():
        counts = " ".join(f"{value:.2f}:{count}" for value, count in sorted(collections.Counter(us).items()))
        print(f"{turns:3} {np.median(us):.3f} {trim_mean(us, OUTER):.3f} {np.mean(us):.3f}  {counts}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
