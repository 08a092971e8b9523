"""Looks beside our stream on a GPU: digests of memory, and what a run does elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpubench.devices.base import Buffer
from gpubench.devices.cuda_binding import Binding
from gpubench.devices.cuda_cupti import Trace
from gpubench.devices.cuda_digest import Digester
from gpubench.devices.cuda_errors import reporting
from gpubench.devices.cuda_launch import KernelLoader
from gpubench.devices.cuda_timing import Sampler
from gpubench.devices.outside import between_stamps, judged, still_busy, watched
from gpubench.errors import MissingExtraError
from gpubench.model import DeviceInfo


class Probe:
    """Everything that `--integrity strict` asks of a GPU."""

    def __init__(self, binding: Binding, loader: KernelLoader, info: DeviceInfo, sampler: Sampler, stream: int) -> None:
        self._runtime = binding.runtime
        self._sampler = sampler
        self._stream = stream
        self._digester = Digester(binding, loader, info)
        try:
            self._trace: Trace | None = Trace()
        except MissingExtraError:
            self._trace = None

    def digest(self, buffer: Buffer) -> int:
        """Return a digest of what the buffer holds at this moment."""
        return self._digester.digest(buffer)

    def outside(self, restore: Callable[[], None], run: Callable[[], None], outputs: Sequence[Buffer]) -> str | None:
        """Return what one run does outside our stream, None for nothing."""
        restore()
        self._rest()
        before = self._digests(outputs)
        with self._sampler.held():
            run()
            held = watched(lambda: self._digests(outputs), before)
        done = self._digests(outputs)
        told = judged(held, done, lambda: self._digests(outputs), self._rest)
        if told is None and still_busy(run, self._wait, self._rest):
            told = "the device was busy after the run was over"
        if told is None and self._trace is not None:
            told = self._traced(self._trace, restore, run)
        return told

    def _traced(self, trace: Trace, restore: Callable[[], None], run: Callable[[], None]) -> str | None:
        with trace.recording():
            restore()
            self._rest()
            trace.take()
            with self._sampler.held():
                run()
            self._rest()
            return between_stamps(trace.take())

    def _digests(self, outputs: Sequence[Buffer]) -> list[int]:
        return [self._digester.digest(buffer) for buffer in outputs]

    def _wait(self) -> None:
        with reporting("waiting for the stream"):
            self._runtime.streamSynchronize(self._stream)

    def _rest(self) -> None:
        with reporting("waiting for the device"):
            self._runtime.deviceSynchronize()

    def close(self) -> None:
        """Give everything back."""
        self._digester.close()
