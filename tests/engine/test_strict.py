"""Strict integrity: eight ways to cheat are found, honest contenders are not touched, whatever the method."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpubench.devices.cuda_cupti import Activity
from gpubench.devices.fake import FakeDevice
from gpubench.devices.fake_memory import FakeBuffer
from gpubench.devices.fake_script import parse_script
from gpubench.devices.outside import between_stamps, still_busy
from gpubench.engine.ahead import make_inputs
from gpubench.engine.changes import WINDOW, Changes, Inks, window
from gpubench.engine.clocks import Clocks
from gpubench.engine.events import Event, RecordFinished
from gpubench.measure.plausible import too_fast
from gpubench.model import Ceiling, Record, TimingOptions
from gpubench.operators import operator
from gpubench.peers.own_function import OwnFunction, register
from tests.engine.bed import NAIVE, QUICK, case, run, script, statuses
from tests.engine.cheats import CASE, CHEATS, TOLD, Cheat, SideStream, TimerPatched
from tests.engine.test_pipeline import go, only

STRICT = replace(QUICK, integrity="strict")
FLOATS = ("float16", "bfloat16", "float32", "float64", "complex64")


def judged(cheat: Cheat, timing: TimingOptions = STRICT, params: Any = CASE, **device: Any) -> Record:
    """Return the record of a contender."""
    register(OwnFunction("own:mine", ("cumsum",), cheat, "numpy"))
    return only(go(case(params=params, contenders=("own:mine",), timing=timing), **device))


@pytest.fixture
def lasting_memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep the fake device's bytes until no thread of a cheat can write to them any more."""
    kept: list[Any] = []
    make = FakeBuffer.__init__

    def make_and_keep(buffer: FakeBuffer, nbytes: int) -> None:
        make(buffer, nbytes)
        kept.append(buffer.bytes)

    monkeypatch.setattr(FakeBuffer, "__init__", make_and_keep)
    yield
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.join()


@pytest.mark.usefixtures("lasting_memory")
@pytest.mark.parametrize("kind", CHEATS)
def test_every_cheat_is_caught_and_named(kind: type[Cheat]) -> None:
    """Each is `wrong`, in words that say what it did."""
    cheat = kind()
    try:
        record = judged(cheat)
    finally:
        if isinstance(cheat, TimerPatched):
            cheat.undo()
    assert record.status == "wrong"
    # a thread that a loaded machine starts only after the check has not written at all
    late = kind is SideStream and "never written" in (record.message or "")
    assert late or TOLD[kind] in (record.message or "")


@pytest.mark.parametrize("kind", CHEATS[:3])
def test_a_replay_passes_without_it(kind: type[Cheat]) -> None:
    """What an answer kept from an earlier run looks like otherwise: the tests above test something."""
    assert judged(kind(), QUICK).status == "ok"


@pytest.mark.parametrize("method", ["cold", "hot", "graph", "graph-cold"])
@pytest.mark.parametrize("name", ["cumsum", "sum", "elementwise", "index_add"])
def test_an_honest_contender_is_ok_by_every_method(name: str, method: Any) -> None:
    """Ours, in place too, are right on inputs that change; the record keeps the seed of the changes."""
    record = only(go(case(name, timing=replace(STRICT, method=method))))
    assert record.status == "ok", record.message
    assert record.summary is not None
    assert record.summary["integrity"]["mode"] == "strict"


@pytest.mark.parametrize("params", [{"shape": [0]}, {"shape": []}, {"shape": [1]}, {"shape": [3, 1]}])
def test_nearly_nothing_to_change_is_no_reason_to_fail(params: Any) -> None:
    """Empty operands, scalars and single elements are measured like others."""
    record = only(go(case(params=params, timing=STRICT)))
    assert record.status == "ok", record.message


def test_one_set_of_buffers_will_do_where_two_do_not_fit() -> None:
    """A case that just fits is still measured, and a replay is still found: its inputs change all the same."""
    tight: dict[str, Any] = {"info": {"memory_bytes": 2 * 2**20 + 2**26 + 2_000_000}}
    record = judged(CHEATS[0](), params={"shape": [100, 1000], "dim": 1}, **tight)
    assert (record.status, "differs from" in (record.message or "")) == ("wrong", True)


@pytest.mark.parametrize("dtype", [*FLOATS, "int8", "int64"])
def test_a_change_shows_in_a_sum_of_a_million_and_is_undone(dtype: str) -> None:
    """The changed input's sum differs far beyond what rounding allows; undoing gives back every byte."""
    cumsum = operator("sum")
    problem = cumsum.problem(case("sum", {"shape": [1_000_000], "dim": [0]}, dtype))
    storage = cumsum.inputs(problem)["x"]
    device = FakeDevice()
    buffer = device.allocate(storage.nbytes)
    device.upload(storage, buffer)
    before = device.digest(buffer)
    changes = Changes(Inks(device, problem, {"x": storage}), {"x": buffer}, 1)
    seen, sums = set(), set()
    for _ in range(5):
        changes.apply()
        seen.add(device.digest(buffer))
        held = np.empty_like(storage)
        device.download(buffer, held)
        assert 1 <= np.count_nonzero(held != storage) <= WINDOW
        sums.add(complex(held.astype(np.complex128).sum() - storage.astype(np.complex128).sum()))
    assert len(seen) == 5
    if dtype in FLOATS:
        assert min(map(abs, sums)) > 4 * 4 * np.sqrt(1e6) * 2.0**-24 * 1e6  # 4 x the bound of a serial float32 sum
    changes.undo()
    assert device.digest(buffer) == before


def test_inputs_are_drawn_by_a_seed_that_nobody_knew() -> None:
    """The same seed gives the same inputs, another one others, and without strict integrity it is the case's own."""
    add = operator("index_add")
    plain, strict = (
        add.problem(case("index_add", {"shape": [64, 8], "dim": 0, "indices": 500}, timing=timing))
        for timing in (QUICK, STRICT)
    )
    one, other, again = (make_inputs(add, strict, seed) for seed in (8, 9, 8))
    own = add.inputs(plain)
    for name in ("source", "index"):
        assert (one[name] == again[name]).all()
        assert (one[name] != other[name]).any()
        assert (one[name] != own[name]).any()
        assert (make_inputs(add, plain, 8)[name] == own[name]).all()


def test_every_input_but_an_empty_one_can_be_changed() -> None:
    """A window has at least one element, and never more than the limit."""
    assert (window(0), window(1), window(4 * WINDOW), window(10**9)) == (0, 1, WINDOW, WINDOW)


def test_each_of_the_user_s_own_has_a_worker_of_its_own(tmp_path: Path) -> None:
    """A kernel of the user's own meets a process that nobody used, takes all its cases through it, and leaves it to
    nobody; ours share one, and so do the ceilings. Records stand in the order of the cases all the same.
    """
    cases = [
        case(params={"shape": [size], "dim": 0}, contenders=("own:a", NAIVE, "own:b"), timing=STRICT) for size in (3, 4)
    ]
    events: list[Event] = []
    outcome = run(cases, script(tmp_path), events=events)
    assert outcome.workers == 3
    assert [record.contender for record in outcome.records] == ["own:a", NAIVE, "own:b"] * 2
    assert statuses(outcome)[1::3] == ["ok", "ok"]
    order = [(event.record.contender, event.record.case.id[7]) for event in events if isinstance(event, RecordFinished)]
    assert order == [(name, size) for name in ("own:a", "own:b", NAIVE) for size in "34"]
    assert run([replace(case, timing=QUICK) for case in cases], script(tmp_path)).workers == 1


def test_a_crash_of_one_in_its_own_worker_is_its_alone(tmp_path: Path) -> None:
    """With strict integrity, too, a worker that dies costs only the contenders that it was asked for."""
    faults = [{"at": "run", "kernel": "*", "do": "exit", "once_file": "died"}]
    outcome = run([case(contenders=("own:a", NAIVE), timing=STRICT)], script(tmp_path, faults=faults))
    assert statuses(outcome)[1] == "crashed"
    assert statuses(outcome)[0] != "crashed"


def test_a_time_under_the_ceiling_cannot_be() -> None:
    """A cold median far under the ceiling's least time cannot be; what a launch dominates is not judged."""
    ceiling = Ceiling(1000.0, launch_us=2.0)
    cold, hot = TimingOptions(), TimingOptions(method="hot")
    assert too_fast({"median_us": 30.4, "ceiling_us": 40.0}, ceiling, cold) is None
    assert "30.3 us cannot be" in str(too_fast({"median_us": 30.3, "ceiling_us": 40.0}, ceiling, cold))
    assert too_fast({"median_us": 3.0, "ceiling_us": 40.0}, ceiling, hot) is None
    assert too_fast({"median_us": 1.0, "ceiling_us": 3.0}, ceiling, cold) is None
    assert too_fast({"median_us": 1.0, "ceiling_us": None}, ceiling, cold) is None


def test_an_implausible_record_says_so() -> None:
    """The status reaches the record, of ours as of others."""
    points = [{"bytes": size, **dict.fromkeys(("copy_us", "read_us", "write_us"), size / 1e3)} for size in (1, 10**6)]
    told = {"info": {"simulated": False}, "times": [{"us": 1.0}], "ceiling": {"sweep": points}}
    device = FakeDevice(parse_script(told))
    from gpubench.engine.pipeline import Pipeline

    found: list[Record] = []
    one = case(params={"shape": [100, 1000], "dim": 1}, timing=STRICT)
    Pipeline(device).run(one, one.contenders, device.ceiling(), 0, lambda *_: None, found.append)
    assert found[0].status == "implausible", found[0].message
    assert "cannot be" in str(found[0].message)


def test_cupti_s_span_is_held_against_the_stamps() -> None:
    """A kernel behind the blocker and outside the stamps is named; what is ours, or between them, is not."""

    def seen(*others: tuple[str, int, int]) -> str | None:
        ours = [("harness7blocker", 10, 50), ("harness5stamp", 50, 52), ("scan", 52, 80), ("harness5stamp", 80, 82)]
        return between_stamps([Activity(*times) for times in sorted((*ours, *others), key=lambda span: span[1])])

    assert seen() is None
    assert seen(("memcpy", 0, 9)) is None
    for start, end in ((20, 30), (5, 30), (78, 95), (90, 99)):
        assert seen(("side_scan", start, end)) == "CUPTI saw side_scan outside the timed span"
    assert between_stamps([Activity("scan", 0, 5)]) is None


def test_a_device_that_stays_busy_is_told_only_when_it_always_does() -> None:
    """One slow answer of the system is nobody's fault."""

    def told(*seconds: float) -> bool:
        now = 0.0
        left = list(seconds)

        def rest() -> None:
            nonlocal now
            now += left.pop(0)

        return still_busy(lambda: None, lambda: None, rest, lambda: now)

    assert not told(0.1, 0.1, 0.1, 0.1, 0.00001)
    assert told(*[0.002] * 5)


def test_only_what_was_replaced_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Untouched clocks say nothing."""
    import time

    clocks = Clocks()
    assert clocks.replaced() is None
    monkeypatch.setattr(time, "monotonic", time.time)
    assert clocks.replaced() == "the contender replaced time.monotonic"
