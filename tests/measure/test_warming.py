"""How often work runs before it is timed, and when it is too slow for that; on a fake clock."""

from __future__ import annotations

import contextlib

import pytest

from gpubench.errors import TooSlowError
from gpubench.measure.warming import require_in_time, warm_up
from gpubench.model import Method, TimingOptions
from tests.measure.test_timing import Clock


@pytest.mark.parametrize(("seconds", "runs"), [(0.5, 3), (0.51, 1), (100.0, 1)])
def test_warm_up_restores_before_every_run_and_repeats_no_long_one(seconds: float, runs: int) -> None:
    """In-place work warms up on its own input; what takes long is run once, and told how long that took."""
    calls: list[str] = []
    clock = Clock()

    def run() -> None:
        calls.append("run")
        clock.now += seconds

    first = warm_up(lambda: calls.append("restore"), run, lambda: calls.append("synchronize"), clock)
    assert first == pytest.approx(seconds)
    assert [call for call in calls if call != "synchronize"] == ["restore", "run"] * runs
    assert calls[0] == calls[-1] == "synchronize"  # what was enqueued before is no part of the first run


@pytest.mark.parametrize(("waited", "runs"), [(0.5, 3), (0.51, 0), (9.0, 0)])
def test_what_was_waited_for_long_already_is_warm(waited: float, runs: int) -> None:
    """A library that ran once when it was bound, and for long, is not run once more only to be warm."""
    calls: list[str] = []
    first = warm_up(lambda: None, lambda: calls.append("run"), lambda: None, Clock(), waited_s=waited)
    assert len(calls) == runs
    assert first == (0.0 if runs else waited)


@pytest.mark.parametrize(
    ("seconds", "method", "message"),
    [
        (10.0, "cold", None),
        (10.1, "cold", r"one run took 10.1 s; 10 s are allowed \(--call-limit S"),
        (10.1, "graph-cold", "one run took 10.1 s; 10 s"),
        (1.0, "hot", None),
        (1.1, "hot", "one run took 1.1 s, the 10 of one sample 11 s; 10 s"),
        (1.1, "graph", "the 10 of one sample 11 s"),
    ],
)
def test_a_sample_may_take_as_long_as_a_call_may(seconds: float, method: Method, message: str | None) -> None:
    """Beyond the limit it is refused before it is sampled, where a sample is the mean of several runs by their sum."""
    options = TimingOptions(method=method)
    with contextlib.nullcontext() if message is None else pytest.raises(TooSlowError, match=message):
        require_in_time(seconds, options)
