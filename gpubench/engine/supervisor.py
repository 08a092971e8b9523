"""The supervisor: hands cases to a worker, keeps its records, and goes on whatever happens to the worker.

It never imports a GPU library and trusts nothing that a worker says before it is checked. Every contender of every case
ends with exactly one record.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType

from gpubench.engine.disclosure import without_paths
from gpubench.engine.events import ContenderStarted, Event, Note, RecordFinished, RunStopped, WorkerRestarted
from gpubench.engine.faults import at_fault, fault_of, status_of
from gpubench.engine.legs import legs
from gpubench.engine.measurer import Outcome as Outcome
from gpubench.engine.messages import Begin, Fault, Finished, FromWorker, Job, JobDone, ProtocolError
from gpubench.engine.patience import Patience
from gpubench.engine.process import WorkerEndedError, WorkerProcess
from gpubench.engine.workers import InterruptError, StopRunError, WorkerOptions, Workers
from gpubench.errors import DeviceError, GpubenchError, ResultFileError
from gpubench.model import Case, Ceiling, Json, Record
from gpubench.results.format import case_to_json, ceiling_to_json
from gpubench.results.records import ceiling_from_json, record_from_json
from gpubench.results.room import FullError
from gpubench.results.strict import Node


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a run goes about its work.

    retries: how often a contender that killed its worker is tried again. stop_after: how many cases in a row may cost
    a worker before the run stops (0: never stops). isolate: each contender of each case in a worker of its own.
    """

    worker: WorkerOptions = field(default_factory=WorkerOptions)
    seed: int = 0
    retries: int = 0
    stop_after: int = 5
    isolate: bool = False


@dataclass(slots=True)
class _State:
    """The case at work: which contenders are still to come, how often each was tried, and what happened before."""

    case: Case
    remaining: list[str]
    tries: Counter[str] = field(default_factory=Counter)
    before: dict[str, str] = field(default_factory=dict)
    faults: int = 0
    upcoming: Case | None = None
    asked: list[str] = field(default_factory=list)
    """Whom the worker was asked for last."""


def _ignore(_: object) -> None:
    """Do nothing with an event or a record."""


class Supervisor:
    """Runs cases on one device. Use as a context manager: leaving it ends the worker."""

    def __init__(
        self,
        options: RunOptions,
        on_event: Callable[[Event], None] = _ignore,
        spawn: Callable[[], WorkerProcess] = WorkerProcess,
    ) -> None:
        self._options = options
        self._on_event = on_event
        self._workers = Workers(options.worker, spawn)
        self.environment: dict[str, Json] = {}  # what the first worker told; empty before `open`
        self._number = 0
        self._used = False
        self._tainted = False
        self._ceiling = Ceiling()
        self._soak: dict[str, Json] | None = None
        self._seconds: dict[str, float] = {}
        self._records: dict[tuple[str, str], Record] = {}
        self._store: Callable[[Record], None] = _ignore

    # --- for the caller ----------------------------------------------------------------------------------------------

    def open(
        self, ceiling: Ceiling | None = None, claim: Callable[[dict[str, Json]], None] = _ignore
    ) -> tuple[dict[str, Json], Ceiling]:
        """Start a worker and return the environment and the ceiling (measured, unless one is given).

        `claim` is called with the environment before anything is measured: it may take the device's lock, or refuse.
        NoDeviceError when there is no such device; DeviceError when the worker does not come up.
        """
        began = time.monotonic()
        try:
            ready = self._workers.start()
            claim(ready.environment)
            soaked = self._workers.soak()
            self._soak = None if soaked is None else soaked.state
            self._ceiling = ceiling or ceiling_from_json(Node(self._workers.measure().ceiling, "worker", "ceiling"))
        except InterruptError:
            raise KeyboardInterrupt from None
        except StopRunError as error:
            raise DeviceError(str(error)) from error
        self._spend({"start": time.monotonic() - began})
        self.environment = ready.environment
        return ready.environment, self._ceiling

    def run(
        self,
        cases: Sequence[Case],
        store: Callable[[Record], None] = _ignore,
        done: Iterable[Record] = (),
        *,
        ends: bool = True,
    ) -> Outcome:
        """Run every (case, contender) that is not in `done` and return all records, in the order of the cases.

        `store` is called with each new record before anything else happens to it. A record of a contender that was
        not reached (interrupted, stopped) has the status `skipped` and is not stored, so that a resumed run does it.
        ends: False where more cases will follow, so that the ceiling need not be measured again.
        """
        self._store = store
        self._records = {(record.case.id, record.contender): record for record in done}
        stopped: str | None = None
        error: GpubenchError | None = None
        try:
            if self._run_all(cases) and ends:
                self._measure_again()
        except ResultFileError as caught:
            stopped, error = without_paths(str(caught)), caught
        except StopRunError as caught:
            stopped = without_paths(str(caught))
        if stopped is not None:
            self._on_event(RunStopped(stopped))
        return Outcome(
            tuple(self._result(case, name, stopped) for case in cases for name in dict.fromkeys(case.contenders)),
            stopped,
            self._workers.interrupted,
            error,
            self._workers.started,
            {stage: round(seconds, 6) for stage, seconds in self._seconds.items()},
            self._ceiling,
            self._soak,
        )

    def interrupt(self) -> None:
        """End the run soon, keeping what is there. Safe in a signal handler."""
        self._workers.interrupted = True

    def kill(self) -> None:
        """Kill the worker at once. Safe in a signal handler."""
        self._workers.kill_now()

    def __enter__(self) -> Supervisor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None and not self._workers.interrupted:
            self._workers.stop()
        else:
            self._workers.drop()

    # --- cases -------------------------------------------------------------------------------------------------------

    def _run_all(self, cases: Sequence[Case]) -> bool:
        """Run what has no record yet; return whether there was anything to run."""
        in_a_row = 0
        all_legs = legs(((case, self._remaining(case)) for case in cases), self._options.isolate)
        for owner, leg in all_legs:
            self._change_over(owner)
            states = [_State(case, names) for case, names in leg]
            for state, after in itertools.zip_longest(states, states[1:]):
                state.upcoming = None if after is None else after.case
                self._run_case(state)
                in_a_row = in_a_row + 1 if state.faults else 0
                if in_a_row >= self._options.stop_after > 0:
                    raise StopRunError(
                        f"{in_a_row} cases in a row each cost a worker, the last one {state.case.id}; the device or "
                        "the machine seems to be in trouble (see the messages of those cases)"
                    )
        return bool(all_legs)

    def _change_over(self, owner: str) -> None:
        """Have the next leg begin with a worker that nobody used, where it or the leg before is one contender's own."""
        if self._tainted or (owner and self._used):
            self._workers.stop()
        self._tainted = bool(owner)

    def _measure_again(self) -> None:
        """Time the ceiling's sweep once more after the last case; where that cannot be done it stays as it was."""
        if not self._ceiling.sweep:
            return
        began = time.monotonic()
        if self._tainted:
            self._workers.stop()
        try:
            self._workers.current()
            measured = self._workers.measure(ceiling_to_json(self._ceiling))
            self._ceiling = ceiling_from_json(Node(measured.ceiling, "worker", "ceiling"))
        except (StopRunError, GpubenchError) as error:
            self._on_event(Note(f"the ceiling was not measured again at the end of the run: {error}"))
        self._spend({"ceiling at the end": time.monotonic() - began})

    def _remaining(self, case: Case) -> list[str]:
        return [name for name in dict.fromkeys(case.contenders) if (case.id, name) not in self._records]

    def _run_case(self, state: _State) -> None:
        while state.remaining:
            state.asked = self._next(state)
            fault = self._attempt(state)
            if fault is None:
                continue
            state.faults += 1
            self._workers.drop()
            left = [name for name in state.asked if name in state.remaining]
            for contender in at_fault(fault, state.asked, left):
                self._blame(state, contender, fault)
            self._on_event(WorkerRestarted(fault.message))

    def _next(self, state: _State) -> list[str]:
        """Return whom a worker is asked for next: all, or with `isolate` one, in a worker that nobody used."""
        if not self._options.isolate:
            return list(state.remaining)
        if self._used:
            self._workers.stop()
        return state.remaining[:1]

    def _blame(self, state: _State, contender: str, fault: Fault) -> None:
        """Give a contender the status of its fault, or another try."""
        state.before[contender] = f"{fault.status}: {fault.message}"
        if state.tries[contender] < self._options.retries:
            state.tries[contender] += 1
            self._on_event(Note(f"{state.case.id} {contender}: {fault.message}; trying again"))
            return
        tried = f" (tried {state.tries[contender] + 1} times)" if state.tries[contender] else ""
        self._keep(state, Record(state.case, contender, status_of(fault), fault.message + tried, None))

    def _keep(self, state: _State, record: Record) -> None:
        """Store a record; from here on it is part of the result."""
        if record.message is not None:
            record = replace(record, message=without_paths(record.message))
        state.remaining.remove(record.contender)
        self._records[state.case.id, record.contender] = record
        try:
            self._store(record)
        except FullError:
            del self._records[state.case.id, record.contender]
            raise
        self._on_event(RecordFinished(record))

    def _result(self, case: Case, contender: str, stopped: str | None) -> Record:
        found = self._records.get((case.id, contender))
        return found or Record(case, contender, "skipped", f"not reached: {(stopped or 'the run ended')[:500]}", None)

    def _spend(self, seconds: dict[str, float]) -> None:
        for stage, more in seconds.items():
            self._seconds[stage] = self._seconds.get(stage, 0.0) + more

    # --- one attempt -------------------------------------------------------------------------------------------------

    def _attempt(self, state: _State) -> Fault | None:
        """Give the remaining contenders to a worker once. None: it did its work; else what went wrong, and by whom."""
        began = time.monotonic()
        worker = self._workers.current()
        self._spend({"start": time.monotonic() - began})
        self._number += 1
        job = Job(
            self._number,
            case_to_json(state.case),
            list(state.asked),
            ceiling_to_json(replace(self._ceiling, rounds=())),
            self._options.seed,
            None if state.upcoming is None else case_to_json(state.upcoming),
        )
        worker.send(job)
        self._used = True
        patience = Patience(state.case, self._number)
        while (overdue := patience.fault()) is None:
            try:
                message = self._workers.receive(patience.left_s())
                match message:
                    case None:
                        if line := patience.line():
                            self._on_event(Note(line))
                    case Begin(self._number):
                        patience.turn(message)
                        self._on_event(ContenderStarted(state.case.id, message.contender, message.stage))
                    case Fault(self._number):
                        return message
                    case JobDone(self._number):
                        return self._job_done(state, message)
                    case _:
                        self._keep(state, self._accept(state, message))
            except WorkerEndedError as error:
                return fault_of(patience.current, error.status, str(error))
            except ProtocolError as error:
                return fault_of(patience.current, "crashed", f"the worker wrote what is no message: {error}")
        return overdue

    def _job_done(self, state: _State, message: JobDone) -> Fault | None:
        self._spend(message.seconds)
        left = [name for name in state.asked if name in state.remaining]
        if not left:
            return None
        missing = ", ".join(left)
        return Fault(message.job, "", "crashed", f"the worker gave no record of {missing}")

    def _accept(self, state: _State, message: FromWorker) -> Record:
        """Return the record that a worker sent, if it is one that was asked for. ProtocolError otherwise."""
        if not isinstance(message, Finished) or message.job != self._number:
            raise ProtocolError(f"unexpected {type(message).__name__}")
        try:
            record = record_from_json(Node(message.record, "record", ""))
        except ResultFileError as error:
            raise ProtocolError(str(error)) from error
        if record.case.id != state.case.id or record.contender not in {*state.remaining} & {*state.asked}:
            raise ProtocolError(f"a record of {record.case.id} {record.contender}, which was not asked for")
        before = state.before.get(record.contender)
        if before is not None:
            again = f"try {state.tries[record.contender] + 1}; before that {before}"
            record = replace(record, message=f"{record.message}; {again}" if record.message else again)
        return replace(record, case=state.case)
