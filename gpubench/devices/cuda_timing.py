"""How a launch is timed on a GPU: cold, hot, or as a graph (cold, too). docs/method.md explains why each step is there.

All methods enqueue their work behind a gate, so that the GPU starts only when everything is enqueued: what the events
then see is the GPU's time alone, not the host's.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Literal

from gpubench.devices.cuda_binding import Binding, reset_persisting_l2
from gpubench.devices.cuda_clock import EventPairs, Gate, Stamps
from gpubench.devices.cuda_errors import reporting
from gpubench.devices.cuda_launch import KernelLoader
from gpubench.devices.cuda_memory import CudaBuffer
from gpubench.errors import DeviceError
from gpubench.model import REPEATS, DeviceInfo, Method, Sample

Enqueue = Callable[[], None]
Clock = Literal["events", "cupti"]

BATCH = 16
"""Samples whose stamps and events are read together. Each has a gate of its own, and nothing is enqueued behind it
before it is over: work that waits in the stream delays the second event by up to a microsecond."""

BEFORE = BATCH
"""The event pair around what comes before the first sample of a batch, which tells how long the GPU is busy with it."""

TOO_LONG = (
    "The work could not be enqueued within 2 s while the stream was held: it waits for the device itself, "
    "or needs too many launches. It cannot be timed by this method."
)

DIGITS = 4
"""Decimals of a sample in microseconds: a tenth of a nanosecond, far below any clock's step. More would only be digits
of binary fractions, and most of a result file."""


class Sampler:
    """Times work on one stream."""

    def __init__(self, binding: Binding, loader: KernelLoader, info: DeviceInfo, stream: int) -> None:
        self._binding = binding
        self._stream = stream
        self._gate = Gate(binding, loader, stream)
        self._stamps = Stamps(binding, loader, info, stream, 2 * BATCH)
        self._events = EventPairs(binding, stream, BATCH + 1)
        self.worked_s = 0.0
        """Seconds that the GPU was at work on samples so far: restore, flush and runs; not stamps and gates."""
        self._flushed = CudaBuffer(binding, 2 * info.l2_bytes)

    def sample(
        self, method: Method, restore: Enqueue, run: Enqueue, batch: int, clock: Clock = "events"
    ) -> list[Sample]:
        """Return `batch` samples. DeviceError when the work cannot be enqueued without waiting for the device.

        clock `cupti`: the times are CUPTI's, from the start of a run's first kernel to the end of its last, and the
        samples have `traced`. MissingExtraError when CUPTI is not installed.
        """
        with self._method(method, restore, run) as (before, timed, repeats):
            if clock == "cupti":
                return self._traced(before, timed, repeats, batch)
            samples: list[Sample] = []
            while len(samples) < batch:
                samples += self._several(before, timed, repeats, min(BATCH, batch - len(samples)))
            return samples

    def _traced(self, before: Enqueue, timed: Enqueue, repeats: int, batch: int) -> list[Sample]:
        """Return `batch` samples with CUPTI's times in place of the events'."""
        from gpubench.devices.cuda_cupti import Trace, between_stamps

        trace = Trace()
        samples: list[Sample] = []
        with trace.recording():
            while len(samples) < batch:
                trace.take()
                some = self._several(before, timed, repeats, min(BATCH, batch - len(samples)))
                traced = between_stamps(trace.take(), len(some), repeats)
                samples += [Sample(trace.span_us, old.sm_mhz, trace) for old, trace in zip(some, traced, strict=True)]
        return samples

    @contextlib.contextmanager
    def _method(self, method: Method, restore: Enqueue, run: Enqueue) -> Iterator[tuple[Enqueue, Enqueue, int]]:
        """Give (what comes before the first event, what lies between the events, runs between them)."""
        if method == "cold":

            def flush() -> None:
                restore()
                self._flush()

            yield flush, run, 1
        elif method == "graph-cold":
            with self._graph(run, 1) as launch:

                def restore_and_flush() -> None:
                    restore()
                    self._flush()

                yield restore_and_flush, launch, 1
        elif method == "hot":

            def once() -> None:
                restore()
                run()

            def again() -> None:
                for _ in range(REPEATS):
                    run()

            yield once, again, REPEATS
        else:
            with self._graph(run, REPEATS) as launch:

                def replay() -> None:
                    restore()
                    launch()

                yield replay, launch, REPEATS

    def _flush(self) -> None:
        """Enqueue writing twice the L2 cache's size: no line of the operands stays in it.

        The cache is then full of lines to be written back, as it is after the timed work: what that work must write
        back of others' lines at its start makes up for its own lines that stay behind at its end.
        """
        with reporting("flushing the L2 cache"):
            self._binding.runtime.memsetAsync(self._flushed.address, 0, self._flushed.nbytes, self._stream)

    def _several(self, before: Enqueue, timed: Enqueue, repeats: int, count: int) -> list[Sample]:
        """Take `count` samples one after the other, then read them."""
        with reporting("timing"):
            self._stamps.clear(2 * count)
            for index in range(count):
                self._one(before, timed, index)
            frequencies = self._stamps.frequencies(count)
            spans = [self._events.microseconds(index) for index in range(count)]
            self.worked_s += (sum(spans) + count * self._events.microseconds(BEFORE)) / 1e6
            return [Sample(round(us / repeats, DIGITS), mhz) for us, mhz in zip(spans, frequencies, strict=True)]

    def _one(self, before: Enqueue, timed: Enqueue, index: int) -> None:
        """Enqueue one sample, let it go, and wait for it. What comes `before` runs while the rest is enqueued.

        Lines that a run asked the L2 cache to keep outlive a flush, so they are set free before each sample: else they
        would flatter the next run of the same work, and whatever comes after it.
        """
        reset_persisting_l2()
        if index == 0:  # what comes before is alike for all samples of a batch: one look at it is enough
            self._events.begin(BEFORE)
        before()
        if index == 0:
            self._events.end(BEFORE)
        self._gate.close()
        try:
            self._stamps.take(2 * index)
            self._events.begin(index)
            timed()
            self._events.end(index)
            self._stamps.take(2 * index + 1)
        finally:
            self._gate.open()  # whatever happens, the stream must go on
        self._binding.runtime.streamSynchronize(self._stream)
        if self._gate.expired:
            raise DeviceError(TOO_LONG)

    @contextlib.contextmanager
    def _graph(self, run: Enqueue, repeats: int) -> Iterator[Enqueue]:
        """Give a function that enqueues one launch of a graph of so many runs."""
        runtime: Any = self._binding.runtime
        with reporting("capturing a graph"):
            graph = self._capture(run, repeats)
            try:
                executable = runtime.graphInstantiate(graph)
            finally:
                runtime.graphDestroy(graph)
        try:
            with reporting("uploading a graph"):
                runtime.graphUpload(executable, self._stream)
            yield lambda: runtime.graphLaunch(executable, self._stream)
        finally:
            with contextlib.suppress(RuntimeError):  # after a fatal error there is nothing left to destroy
                runtime.graphExecDestroy(executable)

    def _capture(self, run: Enqueue, repeats: int) -> int:
        runtime: Any = self._binding.runtime
        runtime.streamBeginCapture(self._stream, runtime.streamCaptureModeThreadLocal)
        try:
            for _ in range(repeats):
                run()
        except BaseException:
            with contextlib.suppress(RuntimeError):  # the capture is invalid, which is what the error says already
                runtime.graphDestroy(runtime.streamEndCapture(self._stream))
            raise
        graph: int = runtime.streamEndCapture(self._stream)
        return graph

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the stream while the block enqueues, between two stamps, then let it go and wait for it. DeviceError
        when the gate had to let go by itself.
        """
        with reporting("holding the stream"):
            self._gate.close()
            try:
                self._stamps.take(0)
                yield
                self._stamps.take(1)
            finally:
                self._gate.open()
            self._binding.runtime.streamSynchronize(self._stream)
        if self._gate.expired:
            raise DeviceError(TOO_LONG)

    def close(self) -> None:
        """Give everything back."""
        self._events.release()
        self._stamps.release()
        self._gate.release()
        self._flushed.release()
