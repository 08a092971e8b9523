"""The records of one case: each is handed on as soon as it is known what became of its contender."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpubench.engine.outcome import describe, judged, status_of
from gpubench.engine.timed import Timed
from gpubench.measure.plausible import too_fast
from gpubench.measure.summary import summarise
from gpubench.model import Case, Ceiling, Check, DeviceInfo, Json, Problem, Record, Timing, Traced
from gpubench.names import NUMPY
from gpubench.operators.sectors import touched_bytes
from gpubench.results.format import with_sample_clocks


class Recorder:
    """See the module. `waiting`: the contenders that have no record yet; `failures`: how many raised an error.

    secret: the seed of the inputs with strict integrity.
    """

    def __init__(
        self,
        case: Case,
        contenders: Sequence[str],
        ceiling: Ceiling,
        device: DeviceInfo,
        secret: int,
        finished: Callable[[Record], None],
    ) -> None:
        """Let every contender wait for its record; `finished` is called with each."""
        self.waiting = list(dict.fromkeys(contenders))
        self.failures = 0
        self._case = case
        self._ceiling = ceiling
        self._device = device
        self._strict = {"integrity": {"mode": "strict", "seed": secret}} if case.timing.integrity == "strict" else {}
        self._finished = finished
        self._bytes: int | None = None
        self._moved = (0, 0)
        self._touched: tuple[int, int] | None = None
        self._assumed: Mapping[str, int] = {}

    def problem(self, problem: Problem[Any]) -> None:
        """Be told what the case moves; records made before that do not say it."""
        self._bytes = problem.bytes
        self._moved = (problem.bytes_read, problem.bytes_written)
        self._touched, self._assumed = touched_bytes(problem), problem.assumed

    def device(self, timed: Timed, timing: Timing, verdict: Check) -> None:
        """Record a contender that was timed on the device and checked."""
        simulated = self._device.simulated
        summary = self._summary(timing, self._ceiling, simulated, timed.traced)
        unbelievable = too_fast(summary, self._ceiling, self._case.timing) if self._strict else None
        status, message = judged(timed, timing, verdict, unbelievable, simulated)
        self._give(
            Record(
                self._case,
                timed.name,
                status,
                message,
                self._bytes,
                simulated,
                timing,
                summary,
                verdict,
                timed.runner.kernel(),
                dict(timed.telemetry),
            )
        )

    def host(self, timing: Timing) -> None:
        """Record numpy. On the host device the ceiling is that of the memory which numpy works in; not so on a GPU."""
        ceiling = self._ceiling if self._device.kind == "host" else Ceiling()
        summary = self._summary(timing, ceiling, False)
        self._give(Record(self._case, NUMPY, "ok", timing.message, self._bytes, False, timing, summary))

    def skip(self, names: Sequence[str], reason: str) -> None:
        """Record contenders that are not tried."""
        for name in list(names):
            self._give(Record(self._case, name, "skipped", reason, self._bytes))

    def fail(self, name: str, error: BaseException) -> None:
        """Record a contender that raised an error."""
        self.failures += 1
        self._give(Record(self._case, name, status_of(error), describe(error), self._bytes))

    def _summary(
        self, timing: Timing, ceiling: Ceiling, simulated: bool, traced: Sequence[Traced] = ()
    ) -> dict[str, Json]:
        summary = summarise(timing, self._moved, ceiling, simulated, self._case.timing, traced, self._touched)
        return summary | ({"assumed": dict(self._assumed)} if self._assumed else {}) | self._strict

    def _give(self, record: Record) -> None:
        self.waiting.remove(record.contender)
        self._finished(with_sample_clocks(replace(record, case=self._case)))
