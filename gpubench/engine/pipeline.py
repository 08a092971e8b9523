"""One case on one device, from the problem to the records: the only place where the stages meet.

problem -> plans -> does it fit? -> compile -> inputs, reference -> time -> check -> records
"""

from __future__ import annotations

import gc
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gpubench.engine.ahead import KINDS, Ahead, make_inputs, make_reference
from gpubench.engine.buffers import Landing, Pristine
from gpubench.engine.changes import Inks
from gpubench.engine.clocks import Clocks
from gpubench.engine.contenders import Runner, resolve
from gpubench.engine.host_time import time_host
from gpubench.engine.memory import beyond_simulation, device_parts, free_host_bytes, host_parts, shortage
from gpubench.engine.recorder import Recorder
from gpubench.engine.reference import KeptReference
from gpubench.engine.strict import StrictTimed
from gpubench.engine.timed import Timed
from gpubench.errors import FatalDeviceError
from gpubench.measure.check import check
from gpubench.measure.clock_watch import ClockWatch
from gpubench.measure.digest import digest
from gpubench.measure.timing import time_contestants
from gpubench.model import Case, Ceiling, Problem, Record, Timing
from gpubench.names import NUMPY
from gpubench.operators import operator as find_operator

if TYPE_CHECKING:
    from gpubench.devices.base import Device
    from gpubench.operators.base import Array

Begin = Callable[[str, str], None]
"""Called with contender and stage before the work turns there."""


class Pipeline:
    """Runs cases on a device; keeps from case to case only what the clocks have shown.

    digests: answers of plans that are repeatable get a digest in their record.
    """

    def __init__(self, device: Device, digests: bool = False) -> None:
        secret = secrets.randbits(32)
        ahead = Ahead(secret) if device.info.kind in KINDS else None
        watch = ClockWatch(_rated_mhz(device))
        self._shared = _Shared(device, watch, Landing(), ahead, digests, Clocks(), secret)

    def run(
        self,
        case: Case,
        contenders: Sequence[str],
        ceiling: Ceiling,
        seed: int,
        begin: Begin,
        finished: Callable[[Record], None],
        upcoming: Case | None = None,
    ) -> dict[str, float]:
        """Run the contenders of a case, calling `finished` once for each. Returns the seconds spent by stage.

        `upcoming`, the case that probably comes next, has its inputs and right answers made meanwhile.

        FatalDeviceError when the device is lost: it names the contender begun last, who is at fault. The others that
        have no record yet may be run again in a new process.
        """
        work = _Work(self._shared, case, contenders, ceiling, begin, finished, upcoming)
        try:
            work.run(seed)
        except FatalDeviceError as error:
            error.contender = work.at_work
            raise
        except Exception as error:  # a stage that serves all contenders failed: each of them gets the reason
            work.fail_rest(error)
        finally:
            if work.recorder.failures:
                gc.collect()  # an error holds the frames that it passed, and with them buffers on the device
        return work.seconds


def _rated_mhz(device: Device) -> float | None:
    """Return the highest SM clock that the device is built for, None where it does not tell."""
    highest = device.info.properties.get("max_sm_mhz")
    return float(highest) if isinstance(highest, int | float) and highest > 0 else None


@dataclass(frozen=True, slots=True)
class _Shared:
    """What one case after the other uses."""

    device: Device
    watch: ClockWatch
    landing: Landing
    ahead: Ahead | None
    digests: bool
    clocks: Clocks
    secret: int
    """The seed of the inputs with strict integrity, unknown to whoever wrote a contender."""


class _Work:
    """The state of one case at work. `_waiting` are the contenders that have no record yet: the recorder's own list."""

    def __init__(
        self,
        shared: _Shared,
        case: Case,
        contenders: Sequence[str],
        ceiling: Ceiling,
        begin: Begin,
        finished: Callable[[Record], None],
        upcoming: Case | None,
    ) -> None:
        self.seconds: dict[str, float] = {}
        self.at_work = ""
        self._ahead = shared.ahead
        self._clocks = shared.clocks
        self._secret = shared.secret
        self._is_strict = case.timing.integrity == "strict"
        self._upcoming = upcoming
        self._device = shared.device
        self._watch = shared.watch
        self._landing = shared.landing
        self._digests = shared.digests
        self._case = case
        self._announce = begin
        self.recorder = Recorder(case, contenders, ceiling, shared.device.info, shared.secret, finished)
        self._waiting = self.recorder.waiting

    def run(self, seed: int) -> None:
        """Take the case through all stages."""
        operator = find_operator(self._case.operator)
        self._begin("", "problem")
        problem = operator.problem(self._case)
        self.recorder.problem(problem)
        runners: dict[str, Runner] = {}
        with self._stage("plan"):
            for name in self._each("plan", [name for name in self._waiting if name != NUMPY]):
                with self._blaming(name):
                    runners[name] = resolve(name, operator, problem, self._device)
        with self._stage("compile"):
            for name in self._each("compile", runners):
                with self._blaming(name):
                    runners[name].compile()
        keep_inputs = self._fits(problem, [runners[name] for name in self._waiting if name in runners])
        if not self._waiting:
            return
        with self._stage("inputs"):
            self._begin("", "inputs")
            side = None if self._ahead is None else self._ahead.take(self._case)
            inputs = make_inputs(operator, problem, self._secret) if side is None else side.inputs
        with self._stage("reference"):  # before anything runs: it refuses inputs that have no right answer
            self._begin("", "reference")
            reference = make_reference(operator, problem, inputs) if side is None else side.reference
        if NUMPY in self._waiting:
            with self._stage("numpy"), self._blaming(NUMPY):
                self._begin(NUMPY, "time")
                self.recorder.host(time_host(operator.numpy(problem, inputs), self._case.timing))
        if self._waiting:
            several = [runners[name] for name in self._waiting]
            self._on_device(problem, inputs, reference, several, keep_inputs, seed)

    def fail_rest(self, error: BaseException) -> None:
        """Give every contender without a record the status of an error that concerns them all."""
        for name in list(self._waiting):
            self.recorder.fail(name, error)

    # --- stages ------------------------------------------------------------------------------------------------------

    def _fits(self, problem: Problem[Any], runners: Sequence[Runner]) -> bool:
        """Skip what does not fit into memory; return whether the inputs may stay on the device beside the operands."""
        self._begin("", "memory")
        room = free_host_bytes()
        lack = shortage(host_parts(problem, room), room, "host")
        if lack is not None:
            self.recorder.skip(self._waiting, lack)
            return False
        if not runners:
            return False
        too_large = beyond_simulation(problem, self._device.info)
        if too_large is not None:
            self.recorder.skip([runner.name for runner in runners], too_large)
            return False
        workspaces = [runner.workspace[0] for runner in runners]
        free, l2_bytes = self._device.free_bytes(), self._device.info.l2_bytes
        if shortage(device_parts(problem, workspaces, l2_bytes, True), free, "device") is None:
            return True
        lack = shortage(device_parts(problem, workspaces, l2_bytes, False), free, "device")
        if lack is not None:
            self.recorder.skip([runner.name for runner in runners], lack)
        return False

    def _on_device(
        self,
        problem: Problem[Any],
        inputs: Mapping[str, Array],
        reference: KeptReference,
        runners: Sequence[Runner],
        keep_inputs: bool,
        seed: int,
    ) -> None:
        """Time the contenders together and check what they wrote."""
        if self._ahead is not None:
            self._ahead.begin(self._upcoming, reference)
        with self._stage("upload"):
            self._begin("", "upload")
            pristine = Pristine(self._device, problem, inputs, keep_inputs)
        with self._stage("time"):
            inks = Inks(self._device, problem, inputs) if self._is_strict else None
            timed = [self._timed(runner, problem, pristine, inks) for runner in runners]
            outcomes = time_contestants(timed, self._case.timing, seed, watch=self._watch)
        for work in timed:
            for name, spent in work.seconds.items():
                self.seconds[f"time: {name}"] = self.seconds.get(f"time: {name}", 0.0) + spent
        if self._ahead is not None:
            with self._stage("reference"):
                self._ahead.wait_for_reference()
        with self._stage("check"):
            for work in timed:
                self._begin(work.name, "check")
                with self._blaming(work.name):
                    outcome = outcomes[work.name]
                    if not isinstance(outcome, Timing):
                        raise outcome
                    with self._stage("check: download"):
                        output = work.output(self._landing)
                    verdict = check(problem, reference, work.runner.accuracy, output)
                    if work.strays:
                        strays = tuple(stray.to_json() for stray in work.strays)
                        verdict = replace(verdict, ok=False, stray_writes=strays)
                    if self._digests and work.runner.repeatable and not self._is_strict:  # whose inputs differ
                        verdict = replace(verdict, answer_sha256=digest(output))
                    self.recorder.device(work, outcome, verdict)
                work.forget()

    def _timed(self, runner: Runner, problem: Problem[Any], pristine: Pristine, inks: Inks | None) -> Timed:
        """Return the contestant; one that is not trusted is there twice, for two sets of buffers."""
        if inks is None:
            return Timed(runner, self._device, problem, pristine, self._begin)
        return StrictTimed(
            (runner, runner.another()),
            self._device,
            problem,
            pristine,
            self._begin,
            inks,
            self._clocks,
            self._secret,
        )

    # --- bookkeeping -------------------------------------------------------------------------------------------------

    def _begin(self, name: str, stage: str = "time") -> None:
        self.at_work = name
        self._announce(name, stage)

    def _each(self, stage: str, names: Sequence[str] | Mapping[str, object]) -> Iterator[str]:
        """Yield the names that still wait for a record, each announced."""
        for name in list(names):
            if name in self._waiting:
                self._begin(name, stage)
                yield name

    @contextmanager
    def _blaming(self, name: str) -> Iterator[None]:
        """Turn an error into the record of this contender; only a lost device ends the case."""
        try:
            yield
        except FatalDeviceError:
            raise
        except Exception as error:  # whatever it is, it is this contender's outcome and no other's
            if name not in self._waiting:
                raise
            self.recorder.fail(name, error)

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        """Add the wall time of a stage to `seconds`."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - began
