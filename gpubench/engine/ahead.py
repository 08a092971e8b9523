"""Host work done ahead: the inputs and the right answers of the next case, while the device is busy with this one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gpubench.engine.memory import free_host_bytes, host_parts, reference_room, total
from gpubench.engine.reference import KeptReference
from gpubench.errors import UnsupportedError
from gpubench.model import Case, Problem
from gpubench.operators import operator as find_operator

if TYPE_CHECKING:
    from gpubench.operators.base import Array, Operator

SHARE = 0.25
"""A case is made ahead only when it needs at most this part of the host's free memory: the one at work needs it too."""
KINDS = ("cuda", "fake")
"""Devices that leave the host's processors alone while they work, so that host work beside them disturbs no time."""


@dataclass(frozen=True, slots=True)
class HostSide:
    """What the host makes for a case. `reference` raises nothing: inputs without a right answer are refused before."""

    inputs: Mapping[str, Array]
    reference: KeptReference


def make_inputs(operator: Operator[Any], problem: Problem[Any], secret: int) -> Mapping[str, Array]:
    """Make the inputs; with strict integrity by a seed that nobody knew before (`secret`), in place of the case's."""
    if problem.case.timing.integrity == "strict":
        problem = replace(problem, case=replace(problem.case, seed=secret))
    return operator.inputs(problem)


def make_reference(operator: Operator[Any], problem: Problem[Any], inputs: Mapping[str, Array]) -> KeptReference:
    """Prepare the right answers. UnsupportedError for inputs that have none."""
    try:
        inner = operator.reference(problem, inputs)
    except ValueError as error:
        raise UnsupportedError(f"these inputs have no right answer: {error}") from error
    return KeptReference(inner, reference_room(free_host_bytes()))


class Ahead:
    """One thread that makes the host's side of one case at a time. An error in it is dropped: the case meets it again
    when its turn comes, where it can be told.
    """

    def __init__(self, secret: int) -> None:
        self._secret = secret
        self._pool = ThreadPoolExecutor(1, "ahead")
        self._case: Case | None = None
        self._made: Future[HostSide | None] | None = None
        self._reference: Future[None] | None = None

    def begin(self, case: Case | None, reference: KeptReference) -> None:
        """Work out the answers of the case at work, then make the next one, in the background."""
        self._reference = self._pool.submit(reference.work_out)
        if case is not None:
            self._case, self._made = case, self._pool.submit(_quietly, lambda: _make(case, self._secret))

    def wait_for_reference(self) -> None:
        """Wait until the answers of the case at work are there. An error in them is met again by the check."""
        waiting, self._reference = self._reference, None
        if waiting is not None:
            waiting.exception()

    def take(self, case: Case) -> HostSide | None:
        """Wait for what is being made, and return it when it is this case's; from here on nothing is at work."""
        made, self._made = self._made, None
        self.wait_for_reference()
        side = made.result() if made is not None else None
        return side if self._case == case else None


def _make(case: Case, secret: int) -> HostSide | None:
    operator = find_operator(case.operator)
    problem = operator.problem(case)
    free = free_host_bytes()
    if free is None or total(host_parts(problem, free)) > SHARE * free:
        return None
    inputs = make_inputs(operator, problem, secret)
    reference = make_reference(operator, problem, inputs)
    reference.work_out()
    return HostSide(inputs, reference)


def _quietly(make: Callable[[], HostSide | None]) -> HostSide | None:
    try:
        return make()
    except Exception:  # whatever it is, the case meets it again in its turn, and says so
        return None
