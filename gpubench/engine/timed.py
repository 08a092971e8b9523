"""A contender as the timing sees it: fresh buffers each round, warm, poisoned, the last outputs kept for the check."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gpubench.engine.buffers import Landing, Operands, Pristine
from gpubench.engine.contenders import Runner
from gpubench.engine.guards import Stray
from gpubench.engine.idle import AT_WORK
from gpubench.engine.patience import FIRST_CALL, TIME
from gpubench.errors import DeviceError, GpubenchError, UnsupportedError
from gpubench.measure.warming import LONG_CALL_S, require_in_time, warm_up
from gpubench.model import COLD_METHODS, Clock, Json, Method, Problem, Sample, Traced

if TYPE_CHECKING:
    from gpubench.devices.base import Device
    from gpubench.operators.base import Array

TRACED = 8
"""Samples that CUPTI times in each round beside those of the events, with the clock `both`."""


class Timed:
    """A contestant of `measure.timing`. `announce` is called with its name and what comes, before it does that."""

    def __init__(
        self,
        runner: Runner,
        device: Device,
        problem: Problem[Any],
        pristine: Pristine,
        announce: Callable[[str, str], None],
    ) -> None:
        self.name = runner.name
        self.runner = runner
        self.device = device
        self.method: Method = problem.case.timing.method
        self.clock: Clock = problem.case.timing.clock
        self.announce = announce
        self.telemetry: dict[str, Json] = {}
        self._problem = problem
        self._pristine = pristine
        self._call_s = 0.0
        self.traced: list[Traced] = []
        self.seconds: dict[str, float] = {}
        self.strays: list[Stray] = []
        """What the first round that wrote beside its operands wrote there."""
        self.dishonest: str | None = None
        """What the contender did that an honest one would not (`engine.strict`)."""
        self._last: tuple[Operands, Callable[[], None] | None] | None = None
        self._lost: GpubenchError | None = None

    @property
    def repeats_in_place(self) -> bool:
        """True when timed runs pile up on an in-place operand, because the method restores it only before the first."""
        return self.method not in COLD_METHODS and any(operand.role == "inout" for operand in self._problem.operands)

    def prepare(self) -> Round:
        """Allocate, fill, bind and warm up; then poison again, so that what is checked was written by timed runs."""
        self.announce(self.name, TIME)
        began = time.perf_counter()
        operands = Operands(self.device, self._problem, self._pristine, *self.runner.workspace)
        run = self.runner.bind(operands)
        self.warm_up(operands.restore, run)
        operands.poison()
        operands.restore()
        self.device.synchronize()
        self.spend("prepare", time.perf_counter() - began)
        return Round(self, operands, operands.restore, run)

    def warm_up(self, restore: Callable[[], None], run: Callable[[], None]) -> None:
        """Run until warm. TooSlowError for what is too slow to be timed, where times are real: simulators are slow."""
        is_limited = not self.device.info.simulated
        waited = 0.0
        if is_limited:
            self.announce(self.name, FIRST_CALL)
            began = time.perf_counter()
            self.device.synchronize()  # torch and Inductor have run once when they were bound
            waited = time.perf_counter() - began
            require_in_time(waited, self._problem.case.timing)
            self.announce(self.name, FIRST_CALL)
        self._call_s = warm_up(restore, run, self.device.synchronize, waited_s=waited)
        if is_limited:
            self.announce(self.name, TIME)
            require_in_time(self._call_s, self._problem.case.timing)

    @property
    def samples_to_trace(self) -> int:
        """How many samples CUPTI times in a round with the clock `both`: one where a run takes long."""
        return TRACED if self._call_s <= LONG_CALL_S else 1

    def spend(self, what: str, seconds: float) -> None:
        """Add to the time of a part: prepare (allocate, fill, bind, warm up), samples, the device's work on them."""
        self.seconds[what] = self.seconds.get(what, 0.0) + seconds

    def lose(self, error: GpubenchError) -> None:
        """Keep the error for which there is no output to check."""
        self._lost = self._lost or error

    def keep(self, operands: Operands, run: Callable[[], None]) -> None:
        """Keep the outputs of a round in place of those of the round before; inputs only where `output` needs them."""
        try:
            self.strays = self.strays or operands.strays()
            if not self.repeats_in_place:
                self._collect()
                self.runner.release()
        except GpubenchError as error:
            self.lose(error)
        if self.repeats_in_place:
            self._last = (operands, run)
            return
        operands.drop_inputs()
        self._last = (operands, None)

    def _collect(self) -> None:
        self.runner.collect()
        self.device.synchronize()

    def output(self, landing: Landing) -> Array:
        """Return the logical output of the last timed run, in `landing`.

        Where timed runs pile up in place, of one more run on the same buffers, restored.
        """
        if self._lost is not None:
            raise self._lost
        if self._last is None:
            raise DeviceError(f"{self.name} was never run")
        operands, run = self._last
        if run is not None:
            operands.restore()
            run()
            self._collect()
        return operands.output(landing)

    def forget(self) -> None:
        """Give the outputs back."""
        if self.repeats_in_place:
            self.runner.release()
        self._last = None


class Round:
    """One round's buffers with the work bound to them."""

    def __init__(self, timed: Timed, operands: Operands, restore: Callable[[], None], run: Callable[[], None]) -> None:
        self._timed = timed
        self._operands = operands
        self._restore = restore
        self._run = run
        self._is_traced = False

    def sample(self, batch: int) -> Sequence[Sample]:
        """Take samples by the clock that the case asks for. DeviceError for a time that cannot be."""
        timed = self._timed
        began, worked = time.perf_counter(), timed.device.worked_s
        if timed.clock == "both" and not self._is_traced:
            self._is_traced = True
            timed.traced += [
                sample.traced for sample in self._trace(timed.samples_to_trace) if sample.traced is not None
            ]
        if timed.clock == "cupti":
            samples = self._trace(batch)
            timed.traced += [sample.traced for sample in samples if sample.traced is not None]
        else:
            samples = timed.device.sample(timed.method, self._restore, self._run, batch)
        for sample in samples:
            if not (math.isfinite(sample.us) and sample.us > 0):
                raise DeviceError(f"the device reported a time of {sample.us} us")
        timed.spend("samples", time.perf_counter() - began)
        timed.spend(AT_WORK, timed.device.worked_s - worked)
        return samples

    def _trace(self, batch: int) -> Sequence[Sample]:
        """Take samples by CUPTI's clock. UnsupportedError on a device that has none."""
        timed = self._timed
        trace = getattr(timed.device, "trace", None)
        if trace is None:
            raise UnsupportedError(f"CUPTI times CUDA devices; this one is {timed.device.info.kind}")
        samples: Sequence[Sample] = trace(timed.method, self._restore, self._run, batch)
        return samples

    def close(self) -> None:
        """Keep the outputs and note the device's state. Must not raise: an error may be on its way already."""
        timed = self._timed
        timed.keep(self._operands, self._run)
        try:
            merge_telemetry(timed.telemetry, timed.device.telemetry())
        except GpubenchError as error:
            timed.telemetry["error"] = str(error)


def merge_telemetry(so_far: dict[str, Json], now: dict[str, Json]) -> None:
    """Add a reading: the highest temperature and power, every throttle reason met, the last of everything else.

    The driver's own SM clock goes under `driver_sm_mhz`: `sm_mhz` holds the clocks of the samples.
    """
    for key, value in now.items():
        name = "driver_sm_mhz" if key == "sm_mhz" else key
        before = so_far.get(name)
        if name in ("temperature_c", "power_w") and before is not None and value is not None:
            so_far[name] = max(before, value)
        elif name == "throttle":
            so_far[name] = list(dict.fromkeys([*(before or []), *(value or [])]))
        else:
            so_far[name] = value
