"""Who comes when in a round."""

from __future__ import annotations

from collections.abc import Sequence

from gpubench.measure.timing import time_contestants
from gpubench.model import Sample, TimingOptions


class Contestant:
    """Writes its name down whenever its buffers are made."""

    def __init__(self, name: str, log: list[str]) -> None:
        self.name = name
        self.log = log

    def prepare(self) -> Contestant:
        """Note the turn."""
        self.log.append(self.name)
        return self

    def sample(self, batch: int) -> Sequence[Sample]:
        """Return equal samples."""
        return [Sample(100.0)] * batch

    def close(self) -> None:
        """Give nothing back."""


def turns(order: str, rounds: int) -> str:
    """Return the names in the order of their turns."""
    log: list[str] = []
    options = TimingOptions(rounds=rounds, order="alternating" if order == "alternating" else "random")
    time_contestants([Contestant("A", log), Contestant("B", log)], options, seed=3)
    return "".join(log)


def test_alternating_contenders_change_the_order_each_round() -> None:
    """A B, B A, A B, B A: what drifts steadily disturbs both alike."""
    assert turns("alternating", 4) == "ABBAABBA"


def test_a_random_order_gives_each_a_turn_a_round() -> None:
    """At random, both still come once in every round, and not always in the same order."""
    given = turns("random", 20)
    rounds = {given[i : i + 2] for i in range(0, 40, 2)}
    assert rounds == {"AB", "BA"}
