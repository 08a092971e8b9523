"""Timing that trusts no contender (`--integrity strict`): what its run is given changes, and what it did is looked at.

- Inputs change before every sample, and samples take turns on two sets of buffers, so that an answer kept from an
  earlier run is wrong. The last run of a round, which is the one checked, has inputs that were never shown before.
- After it, inputs must be what they were.
- One run, in a round that the contender cannot know, is held and watched for work outside the timed stream.
- What takes the times must be what it was before the contender was loaded.

docs/method.md says what this finds and what it cannot find.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gpubench.engine.buffers import Operands, Pristine
from gpubench.engine.changes import Changes, Inks
from gpubench.engine.clocks import Clocks
from gpubench.engine.contenders import Runner
from gpubench.engine.guards import room
from gpubench.engine.memory import storage_bytes
from gpubench.engine.patience import TIME
from gpubench.engine.timed import Round, Timed
from gpubench.errors import GpubenchError
from gpubench.model import Problem, Sample

if TYPE_CHECKING:
    from gpubench.devices.base import Device

SPARE = 1.25
"""A second set of buffers is made where this times its size is free."""


class StrictTimed(Timed):
    """A contestant that is not trusted. `second` is the same contender once more, for the second set of buffers."""

    def __init__(
        self,
        runners: tuple[Runner, Runner],
        device: Device,
        problem: Problem[Any],
        pristine: Pristine,
        announce: Callable[[str, str], None],
        inks: Inks,
        clocks: Clocks,
        seed: int,
    ) -> None:
        super().__init__(runners[0], device, problem, pristine, announce)
        self.clocks = clocks
        self.random = random.Random(f"{seed} {self.name}")
        self._runners = runners
        self._inks = inks
        self._watched = self.random.randrange(problem.case.timing.rounds)
        self._round = -1

    def prepare(self) -> Round:
        """Make the sets, each with inputs changed before the contender sees them."""
        self.announce(self.name, TIME)
        began = time.perf_counter()
        self._round += 1
        sets = [_Set(self, self._runners[0])]
        if self.device.free_bytes() > SPARE * self._set_bytes():
            sets.append(_Set(self, self._runners[1]))
        for buffers in sets:
            buffers.warm_up()
        self.device.synchronize()
        self.spend("prepare", time.perf_counter() - began)
        return _StrictRound(self, sets)

    def new_set(self, runner: Runner) -> tuple[Operands, Changes]:
        """Return new buffers with the case's inputs, and what changes them."""
        operands = Operands(self.device, self._problem, self._pristine, *runner.workspace)
        seed = self.random.getrandbits(64)
        return operands, Changes(self._inks, operands.buffers, seed)

    def digests(self, unchanged: Operands) -> Mapping[str, int]:
        """Return the digests of the inputs as they were made; nobody may have run on these yet."""
        return self._inks.digests(unchanged.inputs)

    def _set_bytes(self) -> int:
        return sum(room(storage_bytes(operand)) for operand in self._problem.operands) + room(self.runner.workspace[0])

    @property
    def is_watched(self) -> bool:
        """True in the one round, which the contender cannot know, whose last run is watched."""
        return self._round == self._watched

    def note(self, found: str | None) -> None:
        """Keep what the first look found that an honest contender would not do."""
        self.dishonest = self.dishonest or found

    def keep(self, operands: Operands, run: Callable[[], None]) -> None:
        """Keep the outputs; the runner of the other set gives back what it keeps."""
        super().keep(operands, run)
        for runner in self._runners:
            if runner is not self.runner:
                runner.release()


class _Set:
    """One set of buffers with the contender's work bound to it."""

    def __init__(self, timed: StrictTimed, runner: Runner) -> None:
        self._timed = timed
        self.runner = runner
        self.operands, self.changes = timed.new_set(runner)
        self.inputs = timed.digests(self.operands)
        self.changes.apply()  # binding may run the contender, which must not see what is checked in the end
        self.run = runner.bind(self.operands)

    def warm_up(self) -> None:
        """Run the plain way, then poison, so that what is checked was written by timed runs."""
        self._timed.warm_up(self.restore, self.run)
        self.operands.poison()
        self.operands.restore()

    def restore(self) -> None:
        """Enqueue another change of the inputs, and the in-place operands as they were."""
        self.changes.apply()
        self.operands.restore()

    def overwritten(self) -> str | None:
        """Return which inputs are not what they were; the change must be undone."""
        device = self._timed.device
        changed = [name for name, buffer in self.operands.inputs.items() if device.digest(buffer) != self.inputs[name]]
        return f"the input {', '.join(changed)} was overwritten" if changed else None


class _StrictRound(Round):
    """One round: samples take turns on the sets."""

    def __init__(self, timed: StrictTimed, sets: Sequence[_Set]) -> None:
        self._strict = timed
        self._sets = sets
        self._turn = 0
        super().__init__(timed, sets[0].operands, self._change, self._run_one)

    @property
    def _now(self) -> _Set:
        return self._sets[self._turn % len(self._sets)]

    def _change(self) -> None:
        if self._strict.method == "cold":  # other methods bind a sample's runs before they restore
            self._turn += 1
        self._now.restore()

    def _run_one(self) -> None:
        self._now.run()

    def sample(self, batch: int) -> Sequence[Sample]:
        """Take samples; afterwards what took their times must be what it was."""
        self._turn += 1
        samples = super().sample(batch)
        self._strict.note(self._strict.clocks.replaced())
        return samples

    def close(self) -> None:
        """Watch one run, make one more that is checked, look at the inputs, and keep the outputs."""
        began = time.perf_counter()
        strict = self._strict
        try:
            self._look()
        except GpubenchError as error:
            strict.lose(error)
        strict.spend("integrity", time.perf_counter() - began)
        self._operands, self._run = self._now.operands, self._now.run
        strict.runner = self._now.runner
        super().close()
        self._sets = ()
        del self._operands, self._run, self._restore  # which hold this round: its buffers are given back now

    def _look(self) -> None:
        strict, one = self._strict, self._now
        if strict.is_watched:
            found = strict.device.outside(one.restore, one.run, list(one.operands.outputs.values()))
            strict.note(None if found is None else f"work outside the timed stream: {found}")
        self._turn = strict.random.randrange(len(self._sets))
        one = self._now
        for each in self._sets:
            each.changes.undo()
        one.operands.poison()
        strict.device.sample(strict.method, one.operands.restore, one.run, 1)  # what is checked looks like any sample
        for each in self._sets:
            strict.note(each.overwritten())
