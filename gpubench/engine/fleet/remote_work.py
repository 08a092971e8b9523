"""One member's work on a cluster, as the command sees it: orders go out, reports come in, and losses are made good."""

from __future__ import annotations

import contextlib
import os
import queue
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from typing import Any

import gpubench
from gpubench.engine.events import ContenderStarted, Event, Note, RecordFinished, RunStopped
from gpubench.engine.fleet.cluster import Cluster
from gpubench.engine.fleet.order import Order, Plan, Report, unpack, works
from gpubench.engine.measurer import Outcome
from gpubench.errors import DeviceError, ResultFileError
from gpubench.findings import Work
from gpubench.fleet import Member
from gpubench.model import Case, Ceiling, Json, Record
from gpubench.results.format import with_sample_clocks
from gpubench.results.records import ceiling_from_json
from gpubench.results.strict import Node

READY_S = 240.0
"""How long a worker may take to open its device and measure the ceiling, beside the soak."""
SILENCE_S = 30.0
"""A worker says every other second that it is at work; after so long without a word it is lost."""
RETURN_S = 60.0
"""How long a worker that was lost may take to come back, as a nanny starts it again."""
ATTEMPTS = 20
"""How often one member's work is taken up again. Each loss of a worker costs one."""
LAST_WORD_S = 10.0
"""How long a worker that was told to stop may take to say what it still has."""
_TICK_S = 0.2
_MISSED_S = 5.0
"""So long without a word is more than a worker at work takes."""


class LostError(Exception):
    """The worker, or the way to it, is gone; the message says how it showed."""


class RemoteWork:
    """Stands for the supervisor of one member: the same calls, answered by a worker far away."""

    def __init__(
        self,
        cluster: Cluster,
        member: Member,
        name: str,
        plan: Plan,
        known: Iterable[Work],
        on_event: Callable[[Event], None],
    ) -> None:
        """`name`: of the measurement, under which the worker keeps its journal. `known`: work that has a record."""
        self._cluster = cluster
        self._member = member
        self._name = name
        self._plan = plan
        self._known: dict[Work, None] = dict.fromkeys(known)
        self._on_event = on_event
        self._attempts = 0
        self._order: Order | None = None
        self._future: Any = None
        self._heard = 0.0
        self._interrupted = False

    # --- what `engine.run.execute` calls -----------------------------------------------------------------------------

    def open(
        self, ceiling: Ceiling | None = None, claim: Callable[[dict[str, Json]], None] = lambda _: None
    ) -> tuple[dict[str, Json], Ceiling]:
        """Give the worker its order and wait until its device is open. DeviceError when it does not come to that."""
        while True:
            try:
                ready = self._begin()
            except LostError as error:
                if self._interrupted:
                    raise KeyboardInterrupt from None
                if self._member.worker is None or self._attempts >= ATTEMPTS or not self._returns():
                    raise DeviceError(f"worker {self._member.worker}: {error}") from error
                continue
            environment = Node(ready.get("environment"), "worker", "environment").object()
            claim(environment)
            return environment, ceiling or ceiling_from_json(Node(ready.get("ceiling"), "worker", "ceiling"))

    def run(
        self,
        cases: Sequence[Case],
        store: Callable[[Record], None] = lambda _: None,
        done: Iterable[Record] = (),
    ) -> Outcome:
        """Take in what the worker sends until all is there, or it is gone for good; see `Supervisor.run`."""
        records = {(record.case.id, record.contender): record for record in done}
        wanted = {(case.id, name): case for case in cases for name in case.contenders}
        stopped: str | None = None
        error: ResultFileError | None = None
        end: Report = {}
        while stopped is None and not end:
            try:
                end = self._listen(wanted, records, store)
                missing = [work for work in works(cases) if work not in records]
                if missing and not end.get("stopped"):
                    end, stopped = {}, self._again(f"{len(missing)} records did not arrive")
            except LostError as lost:
                stopped = self._again(str(lost))
            except ResultFileError as full:
                stopped, error = str(full), full
        self._release()
        stopped = stopped if stopped is not None else end.get("stopped")
        if stopped is not None:
            self._on_event(RunStopped(str(stopped)))
        return _outcome(cases, records, stopped, self._interrupted or bool(end.get("interrupted")), error, end)

    def interrupt(self) -> None:
        """End the run soon. Safe in a signal handler."""
        self._interrupted = True

    def kill(self) -> None:
        """Do nothing more than `interrupt`: the worker sees that its work is no longer wanted."""
        self._interrupted = True

    def __enter__(self) -> RemoteWork:
        return self

    def __exit__(self, *_: object) -> None:
        self._release()

    # --- one attempt -------------------------------------------------------------------------------------------------

    def _begin(self) -> Report:
        """Start an attempt and return what the worker says when its device is open. LostError."""
        self._release()
        self._attempts += 1
        address = self._cluster.address(str(self._member.worker))
        if address is None:
            raise LostError("it is not there")
        attempt = os.urandom(8).hex()
        plan = self._plan
        self._order = order = Order(
            **{field.name: getattr(plan, field.name) for field in fields(plan)},
            member=self._name,
            attempt=attempt,
            topic=self._cluster.topic,
            key=f"gpubench-{plan.run}-{attempt}",
            gpubench=gpubench.__version__,
            known=tuple(self._known),
        )
        self._cluster.box(attempt)
        self._future = self._cluster.submit(order, address)
        self._heard = time.monotonic()
        deadline = time.monotonic() + READY_S + plan.soak_s
        while time.monotonic() < deadline:
            report = self._next(SILENCE_S if self._is_begun() else READY_S)
            if report is not None and report["kind"] == "ready":
                return report
            if report is not None and report["kind"] == "refused":
                raise DeviceError(f"worker {self._member.worker}: {report.get('message')}")
        raise LostError(f"its device was not open after {READY_S + plan.soak_s:g} s")

    def _is_begun(self) -> bool:
        return self._future is not None and self._future.status == "pending" and self._heard > 0

    def _next(self, silence_s: float = SILENCE_S) -> Report | None:
        """Return the next report, None when there is none yet. LostError when there will be none."""
        assert self._order is not None
        with contextlib.suppress(queue.Empty):
            report = self._cluster.box(self._order.attempt).get(timeout=_TICK_S)
            self._heard = time.monotonic()
            return report
        if self._interrupted:
            self._cancel()
        silent = time.monotonic() - self._heard
        if not self._cluster.is_connected() and silent > LAST_WORD_S:
            raise LostError("the scheduler is gone")
        if self._future.status != "pending" and silent > (1.0 if not self._interrupted else LAST_WORD_S):
            raise LostError(f"its task ended ({self._future.status}) without a last word: it was killed, or restarted")
        if silent > silence_s:
            raise LostError(f"it has said nothing for {silent:.0f} s")
        if silent > _MISSED_S and self._cluster.address(str(self._member.worker)) is None:
            raise LostError("the scheduler has lost it")
        return None

    def _listen(self, wanted: dict[Work, Case], records: dict[Work, Record], store: Callable[[Record], None]) -> Report:
        """Take reports in until the attempt's last one, and return that. LostError, ResultFileError."""
        while True:
            report = self._next()
            kind = None if report is None else report["kind"]
            if report is None or kind == "alive":
                continue
            if kind == "end":
                return report
            if kind == "refused":
                raise LostError(str(report.get("message")))
            if kind == "record":
                self._take(report, wanted, records, store)
            elif kind == "begin":
                words = (str(report.get(name) or "") for name in ("case", "contender", "stage"))
                self._on_event(ContenderStarted(*words))
            elif kind == "note":
                self._on_event(Note(str(report.get("message")), bool(report.get("is_warning"))))

    def _take(
        self, report: Report, wanted: dict[Work, Case], records: dict[Work, Record], store: Callable[[Record], None]
    ) -> None:
        """Store a record that was asked for and is not there yet; anything else is not believed."""
        try:
            record = unpack(report.get("record"))
        except ResultFileError as error:
            raise LostError(f"it sent what is no record: {error}") from error
        work = (record.case.id, record.contender)
        if work not in wanted:
            raise LostError(f"it sent a record of {work[0]} {work[1]}, which was not asked for")
        if work in records:
            return
        record = with_sample_clocks(replace(record, case=wanted[work]))
        store(record)
        records[work] = record
        self._known[work] = None
        self._on_event(RecordFinished(record))

    def _again(self, why: str) -> str | None:
        """Take the work up again where that makes sense; None when it goes on, else why the run stops."""
        name = self._member.worker
        while not self._interrupted and self._attempts < ATTEMPTS:
            if not self._cluster.is_connected() or not self._returns():
                break
            self._on_event(Note(f"worker {name}: {why}; its work is taken up again"))
            try:
                self._begin()
            except LostError as lost:
                why = str(lost)
                continue
            except DeviceError as error:
                return str(error)
            return None
        return "interrupted" if self._interrupted else f"worker {name}: {why}"

    def _returns(self) -> bool:
        """Wait until the worker is there, at most RETURN_S."""
        deadline = time.monotonic() + RETURN_S
        while time.monotonic() < deadline and not self._interrupted and self._cluster.is_connected():
            if self._cluster.address(str(self._member.worker)) is not None:
                return True
            time.sleep(_TICK_S)
        return False

    def _cancel(self) -> None:
        """Tell the scheduler that the work is no longer wanted; the worker sees it and ends in good order."""
        if self._future is not None:
            with contextlib.suppress(Exception):  # a scheduler that is gone cannot be told
                self._future.cancel()

    def _release(self) -> None:
        """Let go of the attempt: its task, and its box."""
        self._cancel()
        self._future = None
        if self._order is not None:
            self._cluster.close_box(self._order.attempt)
            self._order = None


def _outcome(
    cases: Sequence[Case],
    records: dict[Work, Record],
    stopped: str | None,
    interrupted: bool,
    error: ResultFileError | None,
    end: Report,
) -> Outcome:
    """Return what the whole run gave, as a supervisor here would."""
    reason = f"not reached: {(stopped or 'the run ended')[:500]}"
    found = tuple(
        records.get((case.id, name)) or Record(case, name, "skipped", reason, None)
        for case in cases
        for name in dict.fromkeys(case.contenders)
    )
    told = Node(end, "worker", "end")
    seconds = told.get("seconds").object() if told.has("seconds") else {}
    ceiling = ceiling_from_json(told.get("ceiling")) if told.has("ceiling") else Ceiling()
    return Outcome(
        found,
        stopped,
        interrupted,
        error,
        told.get("workers").integer(0) if told.has("workers") else 0,
        {stage: told.get("seconds").get(stage).number(lowest=0.0) for stage in seconds},
        ceiling,
        told.get("soak").object() if told.has("soak") else None,
    )
