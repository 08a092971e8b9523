"""A measurer in this process: for contenders that are functions of the caller, which no worker could be given.

What a worker protects from is not protected from here: a crash of a kernel ends the caller, and nothing ends a case
that hangs. Everything else is the same code.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from gpubench.devices import open_device
from gpubench.devices.base import Device
from gpubench.engine.environment import environment
from gpubench.engine.events import ContenderStarted, Event, RecordFinished, RunStopped
from gpubench.engine.measurer import Outcome
from gpubench.engine.outcome import describe
from gpubench.engine.pipeline import Pipeline
from gpubench.errors import FatalDeviceError, GpubenchError
from gpubench.model import Case, Ceiling, Json, Record


def _ignore(_: object) -> None:
    """Do nothing with an event, a record or an environment."""


def _skipped(case: Case, contender: str, stopped: str | None) -> Record:
    return Record(case, contender, "skipped", f"not reached: {stopped or 'the run ended'}", None)


class InProcess:
    """Runs cases on a device that this process opens (`engine.measurer.Measurer`). Use as a context manager."""

    def __init__(self, device: str, seed: int = 0, on_event: Callable[[Event], None] = _ignore) -> None:
        self._spec = device
        self._seed = seed
        self._on_event = on_event
        self._device: Device | None = None
        self._pipeline: Pipeline | None = None
        self._ceiling = Ceiling()
        self._interrupted = False
        self._seconds: dict[str, float] = {}

    def open(
        self, ceiling: Ceiling | None = None, claim: Callable[[dict[str, Json]], None] = _ignore
    ) -> tuple[dict[str, Json], Ceiling]:
        """Open the device and return the environment and the ceiling (measured, unless one is given)."""
        began = time.monotonic()
        if self._device is None:
            self._device = open_device(self._spec)
            self._pipeline = Pipeline(self._device)
        found = environment(self._device.info)
        claim(found)
        self._ceiling = self._device.ceiling() if ceiling is None else ceiling
        self._spend({"start": time.monotonic() - began})
        return found, self._ceiling

    def run(
        self, cases: Sequence[Case], store: Callable[[Record], None] = _ignore, done: Iterable[Record] = ()
    ) -> Outcome:
        """Run what is not `done` and return all records, in the order of the cases. After a lost device, or an
        interruption, the rest is `skipped` and not stored.
        """
        assert self._device is not None, "open() comes first"
        records = {(record.case.id, record.contender): record for record in done}

        def keep(record: Record) -> None:
            store(record)
            records[record.case.id, record.contender] = record
            self._on_event(RecordFinished(record))

        stopped = self._all(cases, records, keep)
        if stopped is None and self._ceiling.sweep:
            began = time.monotonic()
            self._ceiling = self._device.ceiling(self._ceiling)
            self._spend({"ceiling at the end": time.monotonic() - began})
        if stopped is not None:
            self._on_event(RunStopped(stopped))
        wanted = [(case, name) for case in cases for name in dict.fromkeys(case.contenders)]
        missing = f"not reached: {stopped or 'the run ended'}"
        return Outcome(
            tuple(
                records.get((case.id, name)) or Record(case, name, "skipped", missing, None) for case, name in wanted
            ),
            stopped,
            self._interrupted,
            None,
            0,
            {stage: round(seconds, 6) for stage, seconds in self._seconds.items()},
            self._ceiling,
        )

    def measure(self, case: Case) -> tuple[Record, ...]:
        """Run one case, without a look at the ceiling afterwards, and return its records."""
        found: dict[tuple[str, str], Record] = {}
        stopped = self._all([case], {}, lambda record: found.update({(record.case.id, record.contender): record}))
        names = dict.fromkeys(case.contenders)
        return tuple(found.get((case.id, name)) or _skipped(case, name, stopped) for name in names)

    def _all(
        self, cases: Sequence[Case], records: dict[tuple[str, str], Record], keep: Callable[[Record], None]
    ) -> str | None:
        """Run the cases; return why it ended early."""
        for place, case in enumerate(cases):
            waiting = [name for name in dict.fromkeys(case.contenders) if (case.id, name) not in records]
            upcoming = cases[place + 1] if place + 1 < len(cases) else None
            try:
                stopped = self._interrupt_seen() if not waiting else self._one(case, waiting, upcoming, keep)
            except KeyboardInterrupt:
                self._interrupted, stopped = True, "interrupted"
            if stopped is not None:
                return stopped
        return None

    def _interrupt_seen(self) -> str | None:
        return "interrupted" if self._interrupted else None

    def _one(
        self, case: Case, waiting: Sequence[str], upcoming: Case | None, keep: Callable[[Record], None]
    ) -> str | None:
        if self._interrupted:
            return "interrupted"
        assert self._pipeline is not None

        def begin(contender: str, stage: str) -> None:
            self._on_event(ContenderStarted(case.id, contender, stage))

        try:
            self._spend(self._pipeline.run(case, waiting, self._ceiling, self._seed, begin, keep, upcoming))
        except FatalDeviceError as error:
            if error.contender:
                keep(Record(case, error.contender, "device_error", describe(error), None))
            return f"the device is lost to this process ({case.id} {error.contender}): {error}"
        return None

    def _spend(self, seconds: dict[str, float]) -> None:
        for stage, more in seconds.items():
            self._seconds[stage] = self._seconds.get(stage, 0.0) + more

    def interrupt(self) -> None:
        """End the run after the case at work. Safe in a signal handler."""
        self._interrupted = True

    def kill(self) -> None:
        """Do nothing: the process is the caller's."""

    def __enter__(self) -> InProcess:
        return self

    def __exit__(self, *_: object) -> None:
        device, self._device, self._pipeline = self._device, None, None
        if device is not None:
            try:
                device.close()
            except GpubenchError:  # after a lost device there is nothing left to give back
                return
