"""How a launch is timed on a GPU: cold, hot, or as a graph. docs/method.md explains why each step is there.

All methods enqueue their work behind a gate, so that the GPU starts only when everything is enqueued: what the events
then see is the GPU's time alone, not the host's.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from gpubench.devices.cuda_binding import Binding, reset_persisting_l2
from gpubench.devices.cuda_clock import EventPairs, Gate, Stamps
from gpubench.devices.cuda_errors import reporting
from gpubench.devices.cuda_launch import KernelLoader
from gpubench.devices.cuda_memory import CudaBuffer
from gpubench.errors import DeviceError
from gpubench.model import DeviceInfo, Method, Sample

Enqueue = Callable[[], None]

REPEATS = 10
"""Runs between the two events of one hot or graph sample; the sample is their mean."""

QUEUE = {"cold": 16, "hot": 4, "graph": 16}
"""Samples behind one gate. The stream's queue holds about a thousand entries; a full one would make the host wait for
the GPU, which waits for the host. A cold sample of a plan with three launches takes about 10 entries."""


class Sampler:
    """Times work on one stream."""

    def __init__(self, binding: Binding, loader: KernelLoader, info: DeviceInfo, stream: int) -> None:
        self._binding = binding
        self._stream = stream
        capacity = max(QUEUE.values())
        self._gate = Gate(binding, loader, stream)
        self._stamps = Stamps(binding, loader, info, stream, 2 * capacity)
        self._events = EventPairs(binding, stream, capacity)
        self._flushed = CudaBuffer(binding, 2 * info.l2_bytes)

    def sample(self, method: Method, restore: Enqueue, run: Enqueue, batch: int) -> list[Sample]:
        """Return `batch` samples. DeviceError when the work cannot be enqueued without waiting for the device."""
        with self._method(method, restore, run) as (before, timed, repeats):
            samples: list[Sample] = []
            queue = QUEUE[method]
            while len(samples) < batch:
                count = min(queue, batch - len(samples))
                some = self._behind_gate(before, timed, repeats, count)
                if some is None:
                    if queue == 1:
                        raise DeviceError(
                            "The work could not be enqueued within 2 s while the stream was held: it waits for the "
                            "device itself, or needs too many launches. It cannot be timed by this method."
                        )
                    queue = 1  # many launches a run may have filled the stream's queue: once more, one by one
                    continue
                samples.extend(some)
            return samples

    @contextlib.contextmanager
    def _method(self, method: Method, restore: Enqueue, run: Enqueue) -> Iterator[tuple[Enqueue, Enqueue, int]]:
        """Give (what comes before the first event, what lies between the events, runs between them)."""
        if method == "cold":
            reset_persisting_l2()  # our kernels pin no lines; a library's may

            def flush() -> None:
                restore()
                self._flush()

            yield flush, run, 1
        elif method == "hot":

            def once() -> None:
                restore()
                run()

            def again() -> None:
                for _ in range(REPEATS):
                    run()

            yield once, again, REPEATS
        else:
            with self._graph(run) as launch:

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

    def _behind_gate(self, before: Enqueue, timed: Enqueue, repeats: int, count: int) -> list[Sample] | None:
        """Enqueue `count` samples behind one gate, let them go and read them; None when the gate let go by itself."""
        with reporting("timing"):
            self._stamps.clear(2 * count)
            self._gate.close()
            try:
                for index in range(count):
                    before()
                    self._stamps.take(2 * index)
                    self._events.begin(index)
                    timed()
                    self._events.end(index)
                    self._stamps.take(2 * index + 1)
            finally:
                self._gate.open()  # whatever happens, the stream must go on
            self._binding.runtime.streamSynchronize(self._stream)
            if self._gate.expired:
                return None
            frequencies = self._stamps.frequencies(count)
            return [Sample(self._events.microseconds(index) / repeats, mhz) for index, mhz in enumerate(frequencies)]

    @contextlib.contextmanager
    def _graph(self, run: Enqueue) -> Iterator[Enqueue]:
        """Give a function that enqueues one launch of a graph of `REPEATS` runs."""
        runtime: Any = self._binding.runtime
        with reporting("capturing a graph"):
            graph = self._capture(run)
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

    def _capture(self, run: Enqueue) -> int:
        runtime: Any = self._binding.runtime
        runtime.streamBeginCapture(self._stream, runtime.streamCaptureModeThreadLocal)
        try:
            for _ in range(REPEATS):
                run()
        except BaseException:
            with contextlib.suppress(RuntimeError):  # the capture is invalid, which is what the error says already
                runtime.graphDestroy(runtime.streamEndCapture(self._stream))
            raise
        graph: int = runtime.streamEndCapture(self._stream)
        return graph

    def close(self) -> None:
        """Give everything back."""
        self._events.release()
        self._stamps.release()
        self._gate.release()
        self._flushed.release()
