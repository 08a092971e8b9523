"""Host work done ahead of its case: used when it fits, dropped when it does not, never in the way."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest

from gpubench.devices.fake import FakeDevice
from gpubench.devices.fake_script import parse_script
from gpubench.engine import ahead
from gpubench.engine.ahead import Ahead
from gpubench.engine.pipeline import Pipeline
from gpubench.engine.reference import KeptReference
from gpubench.model import Case, Ceiling, Record
from gpubench.operators import operator
from tests.engine.bed import case

FIRST = case("cumsum")
SECOND = case("sum")


def reference_of(one: Case, room: int = 10**9) -> KeptReference:
    """Return a case's reference."""
    found = operator(one.operator)
    problem = found.problem(one)
    return KeptReference(found.reference(problem, found.inputs(problem)), room)


def run(pipe: Pipeline, one: Case, upcoming: Case | None) -> Record:
    """Run one case."""
    found: list[Record] = []
    pipe.run(one, one.contenders, Ceiling(), 0, lambda *_: None, found.append, upcoming)
    return found[0]


@pytest.fixture
def pipe() -> Pipeline:
    """Return a pipeline on a fake device."""
    return Pipeline(FakeDevice(parse_script({})))


def test_the_next_case_is_made_once_and_away_from_the_main_thread(
    pipe: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was made ahead is used: inputs are made once a case, the second case's by the thread beside."""
    made: list[tuple[str, bool]] = []
    sums = operator("sum")
    inputs = type(sums).inputs

    def counted(self: Any, problem: Any) -> Any:
        made.append((problem.case.id, threading.current_thread() is threading.main_thread()))
        return inputs(self, problem)

    monkeypatch.setattr(type(sums), "inputs", counted)
    assert run(pipe, FIRST, SECOND).status == "ok"
    assert run(pipe, SECOND, None).status == "ok"
    assert made == [(SECOND.id, False)]


def test_another_case_than_expected_is_made_anew(pipe: Pipeline) -> None:
    """A case that was made ahead but does not come costs nothing but the work."""
    assert run(pipe, FIRST, SECOND).status == "ok"
    assert run(pipe, FIRST, None).status == "ok"


def test_an_error_made_ahead_is_told_when_its_case_comes(pipe: Pipeline) -> None:
    """Indices outside the dim: the case at work is untouched, the case itself says what is wrong."""
    bad = case("index_add", {"shape": [16, 4], "indices": 40, "pattern": {"out_of_range": 3}})
    assert run(pipe, FIRST, bad).status == "ok"
    record = run(pipe, bad, None)
    assert record.status == "unsupported"
    assert "no right answer" in (record.message or "")


def test_a_case_that_needs_much_memory_is_not_made_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """The case at work needs the memory too."""
    monkeypatch.setattr(ahead, "free_host_bytes", lambda: 1000)
    beside = Ahead(0)
    beside.begin(SECOND, reference_of(FIRST))
    assert beside.take(SECOND) is None


def test_a_reference_that_cannot_be_kept_is_not_worked_out_twice() -> None:
    """Without room it is left to the check, which goes through it once."""
    whole, none = reference_of(FIRST), reference_of(FIRST, room=0)
    whole.work_out()
    none.work_out()
    assert whole._kept
    assert none._kept is None
    assert [value.tolist() for _, value, _ in whole.blocks()] == [value.tolist() for _, value, _ in none.blocks()]


def test_nothing_is_made_beside_a_simulated_device() -> None:
    """The simulator computes on the host's own processors: work beside it would change its times."""
    assert "host" not in ahead.KINDS
    device = FakeDevice(parse_script({}))
    device.info = replace(device.info, kind="host")
    assert Pipeline(device)._shared.ahead is None
