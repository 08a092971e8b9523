"""Contenders that cheat at cumsum along the last dim, for numpy on the host's memory and for CuPy on a GPU's.

Each is a class whose instances are functions of (x, y, dim, stream), with a name that says how it cheats.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy

from gpubench.operators import operator

CASE: dict[str, Any] = {"shape": [32, 256], "dim": 1}
"""The case that they know."""

LIBRARY: dict[str, Any] = {"numpy": numpy}


class Cheat:
    """The honest way, which every cheat goes at least once."""

    def __init__(self, arrays: str = "numpy") -> None:
        if arrays not in LIBRARY:
            import cupy

            LIBRARY[arrays] = cupy
        self.xp: Any = LIBRARY[arrays]
        self.kept: dict[Any, Any] = {}

    def __call__(self, x: Any, y: Any, dim: int, stream: int | None = None) -> None:
        """Write the sums into y."""
        del stream
        self.honest(x, y, dim)

    def honest(self, x: Any, y: Any, dim: int) -> None:
        """Do the work."""
        self.xp.cumsum(x, axis=dim, out=y)

    def replay(self, key: Any, x: Any, y: Any, dim: int) -> None:
        """Do the work once a key, and give that answer ever after."""
        if key not in self.kept:
            self.honest(x, y, dim)
            self.kept[key] = y.copy()
        else:
            y[...] = self.kept[key]


class ReplayByAddress(Cheat):
    """Takes equal addresses for equal inputs."""

    def __call__(self, x: Any, y: Any, dim: int, stream: int | None = None) -> None:
        """Replay."""
        del stream
        self.replay(x.data.ptr if hasattr(x.data, "ptr") else x.ctypes.data, x, y, dim)


class ReplayByFingerprint(Cheat):
    """Takes equal first and last elements for equal inputs: noted at the first sight, as a copy would show in time."""

    def __call__(self, x: Any, y: Any, dim: int, stream: int | None = None) -> None:
        """Replay."""
        del stream
        self.replay(x.shape, x, y, dim)


class DeviceCache(Cheat):
    """Keeps the first answer in the module: on a GPU in a `__device__` array, which no buffer of ours shows."""

    SOURCE = """
    __device__ float kept[1 << 16]; __device__ int filled;
    extern "C" __global__ void scan(const float* x, float* y, long long rows, long long length) {
        long long row = blockIdx.x * (long long)blockDim.x + threadIdx.x;
        if (row >= rows) return;
        float sum = 0;
        for (long long i = row * length; i < (row + 1) * length; ++i) {
            if (filled) { y[i] = kept[i]; continue; }
            y[i] = kept[i] = sum += x[i];
        }
    }
    extern "C" __global__ void done() { filled = 1; }
    """

    def __call__(self, x: Any, y: Any, dim: int, stream: int | None = None) -> None:
        """Replay what the module holds."""
        del stream
        if self.xp is numpy:
            self.replay("module", x, y, dim)
            return
        if not self.kept:
            self.kept["module"] = self.xp.RawModule(code=self.SOURCE)
        module = self.kept["module"]
        module.get_function("scan")((1,), (64,), (x, y, numpy.int64(x.shape[0]), numpy.int64(x.shape[1])))
        module.get_function("done")((1,), (1,), ())


class SideStream(Cheat):
    """Lets the work be done elsewhere, and returns at once."""

    def __call__(self, x: Any, y: Any, dim: int, stream: int | None = None) -> None:
        """Start the work where the events do not see it."""
        del stream
        if self.xp is numpy:
            threading.Timer(0.02, self.honest, (x, y, dim)).start()  # later than a busy machine looks
            return
        other = self.kept.setdefault("stream", self.xp.cuda.Stream(non_blocking=True))
        with other:
            self.honest(x, y, dim)


class OverwritesInput(Cheat):
    """Works in place, which spares the reads of a second run."""

    def __call__(self, x: Any, y: Any, dim: int, stream: int | None = None) -> None:
        """Leave the answer in x, too."""
        del stream
        self.honest(x, y, dim)
        x[...] = 0
        x[:, 0] = y[:, 0]
        x[:, 1:] = y[:, 1:] - y[:, :-1]


class ConstantOutput(Cheat):
    """Knows the answer to the suite's own inputs."""

    def __call__(self, x: Any, y: Any, dim: int, stream: int | None = None) -> None:
        """Copy the known answer."""
        del stream, x
        if not self.kept:
            from tests.engine.bed import case

            cumsum = operator("cumsum")
            problem = cumsum.problem(case(params=CASE))
            known = cumsum.inputs(problem)["x"].reshape(CASE["shape"]).cumsum(axis=dim, dtype=numpy.float32)
            self.kept["y"] = self.xp.asarray(known)
        y[...] = self.kept["y"]


class TimerPatched(Cheat):
    """Replaces what takes the times."""

    def __call__(self, x: Any, y: Any, dim: int, stream: int | None = None) -> None:
        """Do the work, and turn the clock."""
        del stream
        self.honest(x, y, dim)
        if self.xp is numpy:
            real = self.kept.setdefault("real", time.perf_counter)
            time.perf_counter = lambda: real() / 1000
            return
        from gpubench.devices.cuda_clock import EventPairs

        real = self.kept.setdefault("real", EventPairs.microseconds)
        EventPairs.microseconds = lambda self, index: real(self, index) / 4  # type: ignore[method-assign]

    def undo(self) -> None:
        """Put the real one back."""
        if self.xp is numpy:
            time.perf_counter = self.kept["real"]
        else:
            from gpubench.devices.cuda_clock import EventPairs

            EventPairs.microseconds = self.kept["real"]  # type: ignore[method-assign]


class PrecisionDropped(Cheat):
    """Adds halves where floats were asked for."""

    def __call__(self, x: Any, y: Any, dim: int, stream: int | None = None) -> None:
        """Add halves."""
        del stream
        y[...] = self.xp.cumsum(x.astype(self.xp.float16), axis=dim, dtype=self.xp.float16)


CHEATS: tuple[type[Cheat], ...] = (
    ReplayByAddress,
    ReplayByFingerprint,
    DeviceCache,
    SideStream,
    OverwritesInput,
    ConstantOutput,
    TimerPatched,
    PrecisionDropped,
)

TOLD = {
    ReplayByAddress: "differs from the reference",
    ReplayByFingerprint: "differs from the reference",
    DeviceCache: "differs from the reference",
    SideStream: "work outside the timed stream",
    OverwritesInput: "the input x was overwritten",
    ConstantOutput: "differs from the reference",
    TimerPatched: "the contender replaced",
    PrecisionDropped: "differs from the reference",
}
"""What strict integrity says of each."""
