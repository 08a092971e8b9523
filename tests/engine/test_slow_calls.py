"""A contender whose calls take seconds, or never end, costs a bounded time, its own record and nobody else's."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import gpubench as gb
from gpubench.engine import patience
from gpubench.engine.events import Event, Note
from gpubench.engine.messages import Begin, Fault
from gpubench.engine.patience import FIRST_CALL, Patience
from gpubench.results.format import case_to_json
from gpubench.results.records import case_from_json
from gpubench.results.strict import Node
from tests.engine.bed import NAIVE, QUICK, case, run, script, statuses
from tests.engine.test_pipeline import go

CUMSUM = "gpubench::cumsum::*"
REAL: dict[str, Any] = {"info": {"simulated": False}, "times": [{"us": 20.0}]}
"""A fake device whose times count."""


class Clock:
    """A clock that the test moves."""

    now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


@gb.contender("cumsum", arrays="numpy", name="slow")
def _slow(x: Any, y: Any, *, dim: int) -> None:
    time.sleep(0.6)
    x.cumsum(axis=dim, out=y)


@pytest.mark.parametrize(("limit", "status"), [(0.3, "timeout"), (5.0, "ok")])
def test_a_call_over_the_limit_ends_its_contender_alone(limit: float, status: str, tmp_path: Path) -> None:
    """It is called once, told by how much it is too slow, and the others are timed in the same process."""
    result = gb.run(
        gb.case("cumsum", shape=[8, 9], dim=1),
        contenders=[_slow, NAIVE],
        device=script(tmp_path, **REAL),
        rounds=2,
        time_limit_s=0.05,
        max_noise=0.5,
        call_limit_s=limit,
    )
    slow = result.record("own:slow")
    assert slow.status == status, slow.message
    assert result.record(NAIVE).status == "ok"
    said = (
        rf"one run took 0\.\d+ s; {limit:g} s are allowed" if status == "timeout" else "Only 2 of 20 samples were taken"
    )
    assert re.search(said, str(slow.message))


def test_a_call_that_never_ends_costs_its_limit_not_the_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker is killed, who waits for what is said meanwhile, and the case's others and the next case are done."""
    monkeypatch.setattr(patience, "FIRST_LINE_S", 0.1)
    timing = replace(QUICK, call_limit_s=0.3, timeout_s=300.0)
    cases = (case(contenders=(NAIVE, "numpy"), timing=timing), case("sum"))
    events: list[Event] = []
    device = script(tmp_path, faults=[{"at": "run", "kernel": CUMSUM, "do": "hang"}], **REAL)
    outcome = run(cases, device, events=events)
    assert statuses(outcome) == ["timeout", "ok", "ok"]
    message = str(outcome.records[0].message)
    assert message.startswith("first call: not over after 0.6")
    assert message.endswith("0.3 s are allowed (--call-limit S, or call_limit_s in the suite's timing)")
    assert outcome.workers == 2
    assert any(isinstance(e, Note) and f"{NAIVE}: waiting for 0 s (first call)" in e.message for e in events)


def test_a_slow_call_made_while_binding_counts_as_one() -> None:
    """What a library enqueued when it was bound is waited for once, and ends its contender before it runs again."""
    faults = [{"at": "synchronize", "do": "sleep", "seconds": 0.1, "times": 1}, {"at": "run", "error": "DeviceError"}]
    (record,) = go(case(timing=replace(QUICK, call_limit_s=0.05)), faults=faults, **REAL)
    assert record.status == "timeout"
    assert "s; 0.05 s are allowed" in str(record.message)


def test_a_simulator_may_be_slow(tmp_path: Path) -> None:
    """Where times mean nothing, the limit of a call does not hold."""
    timing = replace(QUICK, call_limit_s=0.001)
    faults = [{"at": "run", "do": "sleep", "seconds": 0.01}]
    assert statuses(run((case(timing=timing),), script(tmp_path, faults=faults))) == ["ok"]


def _patience(timeout_s: float = 300.0) -> tuple[Patience, Clock]:
    clock = Clock()
    return Patience(case(timing=replace(QUICK, timeout_s=timeout_s)), 1, clock), clock


def test_the_deadline_is_laid_upon_who_took_the_time() -> None:
    """Not upon a quick contender that is at work when it passes, nor upon the stages that serve all."""
    one, clock = _patience()
    for seconds, contender in ((150, ""), (10, NAIVE), (100, "torch"), (39, NAIVE), (2, "cub")):
        one.turn(Begin(1, contender, "time" if contender else "inputs"))
        assert one.fault() is None
        clock.now += seconds
    message = "time: the case was not done within 300 s: killed; 100 s of it went here"
    assert one.fault() == Fault(1, "torch", "timeout", message)


def test_without_a_contender_the_deadline_is_everybodys() -> None:
    """Inputs that take too long are the fault of nobody in particular."""
    one, clock = _patience(5.0)
    one.turn(Begin(1, "", "inputs"))
    clock.now = 5.0
    assert one.fault() == Fault(1, "", "timeout", "inputs: the case was not done within 5 s: killed")


def test_only_a_first_call_is_held_to_the_limit_of_a_call() -> None:
    """A compiler may take longer; a first call is given twice its limit, so that one that returns costs no worker."""
    one, clock = _patience()
    one.turn(Begin(1, "torch", "compile"))
    clock.now = 200.0
    assert one.fault() is None
    one.turn(Begin(1, "torch", FIRST_CALL))
    clock.now = 220.0
    assert one.fault() is None
    clock.now = 220.5
    fault = one.fault()
    assert fault is not None
    assert (fault.contender, fault.message[:33]) == ("torch", "first call: not over after 20.5 s")


def test_what_is_waited_for_is_said_ever_more_seldom() -> None:
    """A line after 10, 20, 40 s at the same work, and from the start again when it turns to other work."""
    one, clock = _patience()
    one.turn(Begin(1, "torch", "compile"))
    said = []
    for now in range(100):
        clock.now = float(now)
        if line := one.line():
            said.append((now, line.rpartition(" torch: ")[2]))
    assert said == [(now, f"waiting for {now} s (compile)") for now in (10, 20, 40, 80)]
    one.turn(Begin(1, "torch", FIRST_CALL))
    clock.now = 110.0
    assert str(one.line()).endswith("torch: waiting for 11 s (first call)")
    assert one.line() is None


def test_a_limit_survives_the_file_and_the_usual_one_is_not_written() -> None:
    """Files of before have no limit of a call and mean the default."""
    plain, other = case(), case(timing=replace(QUICK, call_limit_s=2.5))
    assert "call_limit_s" not in case_to_json(plain)["timing"]
    for written in (plain, other):
        assert case_from_json(Node(case_to_json(written), "case", "")).timing == written.timing
