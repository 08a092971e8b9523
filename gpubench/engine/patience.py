"""How long a worker is waited for: what it is at, since when, when that is said, and when it is too long."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable

from gpubench.engine.faults import fault_of
from gpubench.engine.messages import Begin, Fault
from gpubench.measure.warming import limit_of
from gpubench.model import Case

TIME = "time"
FIRST_CALL = "first call"
"""The stage of a contender's first run in a round, which alone is held to the limit of a call from outside."""

SPARE = 2.0
"""A first call is given so many times its limit before the worker is killed: one that returns costs nobody else's work,
and a new worker takes about as long to start."""

FIRST_LINE_S = 10.0
"""After so long without news a line says what is waited for; the next ones come after twice, four times as long."""


class Patience:
    """Watches one attempt at a case. `job` is its number."""

    def __init__(self, case: Case, job: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.current = Begin(job, "", "")
        self._case = case
        self._clock = clock
        self._began = self._turned = clock()
        self._line_s = FIRST_LINE_S
        self._spent: defaultdict[str, float] = defaultdict(float)
        self._last: dict[str, Begin] = {}

    def turn(self, begin: Begin) -> None:
        """Take the worker's word that it turns to something."""
        self._book()
        if begin != self.current:
            self._line_s = FIRST_LINE_S
        self.current = self._last[begin.contender] = begin

    def left_s(self) -> float:
        """Return the seconds until the case's deadline."""
        return self._began + self._case.timing.timeout_s - self._clock()

    def line(self) -> str | None:
        """Return what is waited for, once each time that it has taken twice as long; None in between."""
        waited = self._clock() - self._turned
        if waited < self._line_s:
            return None
        while self._line_s <= waited:
            self._line_s *= 2
        who = f"{self._case.id} {self.current.contender}".rstrip()
        return f"{who}: waiting for {waited:.0f} s ({self.current.stage or 'start'})"

    def fault(self) -> Fault | None:
        """Return what is wrong with waiting any longer, None while nothing is.

        A first call is its contender's own fault. A case that is over its deadline is laid upon the contender at which
        most of the time went, which may be another one than is at work by then.
        """
        options = self._case.timing
        waited = self._clock() - self._turned
        if self.current.stage == FIRST_CALL and waited > SPARE * options.call_limit_s:
            return fault_of(self.current, "timeout", f"not over after {waited:.3g} s: killed; {limit_of(options)}")
        if self.left_s() > 0:
            return None
        self._book()
        message = f"the case was not done within {options.timeout_s:g} s: killed"
        most = max((name for name in self._spent if name), key=self._spent.__getitem__, default="")
        if most == self.current.contender or not most:
            return fault_of(self.current, "timeout", message)
        return fault_of(self._last[most], "timeout", f"{message}; {self._spent[most]:.3g} s of it went here")

    def _book(self) -> None:
        now = self._clock()
        self._spent[self.current.contender] += now - self._turned
        self._turned = now
