from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from gpubench.devices.fake import FakeDevice
from gpubench.devices.fake_script import parse_script
from gpubench.engine import memory, pipeline
from gpubench.engine.host_time import time_host
from gpubench.engine.pipeline import Pipeline
from gpubench.engine.timed import merge_telemetry
from gpubench.errors import FatalDeviceError
from gpubench.model import Case, Ceiling, Method, Record, TimingOptions
from gpubench.operators import operator
from tests.engine.bed import NAIVE, QUICK, case


def go(one: Case, begins: list[tuple[str, str]] | None = None, **script: Any) -> list[Record]:
    """Run one case on a fake device in this process."""
    found: list[Record] = []
    said = begins if begins is not None else []
    device = FakeDevice(parse_script(script))
    Pipeline(device).run(one, one.contenders, Ceiling(1000.0), 0, lambda *words: said.append(words), found.append)
    assert device.memory.used == 0
    return found


def only(records: Sequence[Record]) -> Record:
    """Return the one record."""
    assert len(records) == 1
    return records[0]


@pytest.mark.parametrize("name", ["cumsum", "sum", "elementwise", "index_add"])
@pytest.mark.parametrize("method", ["cold", "hot", "graph", "graph-cold"])
def test_every_operator_is_right_by_every_method(name: str, method: Method) -> None:
    """All operators are `ok` cold, hot and as a graph: in-place work that piles up while timed is checked afresh."""
    record = only(go(case(name, timing=replace(QUICK, method=method))))
    assert record.status == "ok", record.message
    assert record.check is not None
    assert record.check.ok


def test_a_record_has_all_its_parts() -> None:
    """Samples, summary, check, kernel and telemetry are there, in the shape of the format."""
    record = only(go(case(), info={"simulated": False}, times=[{"us": 20.0, "spread": 0.001}]))
    assert record.bytes == 2 * 8 * 9 * 4
    assert record.timing is not None
    assert len(record.timing.rounds) == QUICK.rounds
    assert record.summary is not None
    assert record.summary["n"] == len(record.timing.samples)
    assert record.summary["GBps"] == pytest.approx(576 / 20e3, rel=0.01)
    assert record.kernel is not None
    assert record.kernel["variant"] == "naive"
    assert len(record.kernel["launches"]) == 1
    assert record.kernel["registers"] == 32
    assert record.telemetry is not None
    assert len(record.telemetry["sm_mhz"]) == record.summary["n"]
    assert record.telemetry["driver_sm_mhz"] == 1980


def test_a_card_whose_clocks_are_capped_is_throttled() -> None:
    """The device's own maximum reaches the judgement of its samples."""
    record = only(go(case(), info={"properties": {"max_sm_mhz": 1980}}, times=[{"sm_mhz": 1400}]))
    assert record.status == "throttled"
    assert "1400 MHz, 71 % of the 1980 MHz" in (record.message or "")


def test_outputs_are_poisoned_again_after_the_warm_up() -> None:
    """A kernel that writes while warming up and never again is `wrong`: what is checked is what timed runs wrote."""
    faults = [{"at": "run", "do": "never_writes", "after": 3 + 4}]  # one round: three to warm up, then the timed ones
    one = case(timing=replace(QUICK, rounds=1))
    assert only(go(one, faults=[{"at": "run", "do": "never_writes", "after": 3}])).status == "wrong"
    assert only(go(one, faults=faults)).status == "ok"  # four timed runs wrote before it stopped


@pytest.mark.parametrize("do", ["wrong", "garbage", "never_writes"])
@pytest.mark.parametrize("name", ["cumsum", "sum", "elementwise", "index_add"])
def test_a_wrong_answer_is_found(name: str, do: str) -> None:
    """One element off, noise, or nothing written at all: each operator's record is `wrong` and says where."""
    record = only(go(case(name), faults=[{"at": "run", "do": do}]))
    assert record.status == "wrong"
    assert record.check is not None
    assert record.check.first_mismatch is not None
    assert f"first at {record.check.first_mismatch['index']}: found" in str(record.message)
    assert record.timing is not None


@pytest.mark.parametrize("dtype", ["int8", "int64", "float16", "bfloat16", "float64", "complex64"])
def test_poison_is_wrong_in_every_dtype(dtype: str) -> None:
    """An output that nobody writes is `wrong` whatever its dtype."""
    assert only(go(case(dtype=dtype), compute=False)).status == "wrong"


def test_slow_and_noisy_timings_say_so() -> None:
    """Times that scatter give `noisy`, a clock that drops gives `throttled`; the numbers are kept."""
    noisy = only(go(case(), info={"simulated": False}, times=[{"us": 20.0, "spread": 0.5}]))
    assert noisy.status == "noisy"
    assert noisy.summary is not None
    assert noisy.message is not None
    throttled = only(go(case(), times=[{"us": 20.0, "sm_mhz": [1980, 1980, 1980, *[500] * 50]}]))
    assert throttled.status == "throttled"
    assert throttled.timing is not None
    assert throttled.timing.discarded


def test_what_an_operator_does_not_take_is_unsupported() -> None:
    """A dtype that an operator lacks, and a variant that does not exist, are `unsupported` with the reason."""
    records = go(
        case(
            "elementwise", {"function": "gelu", "inputs": [{"shape": [4]}]}, dtype="int32", contenders=(NAIVE, "numpy")
        )
    )
    assert [record.status for record in records] == ["unsupported"] * 2
    missing = only(go(case(contenders=("gpubench:nave",))))
    assert missing.status == "unsupported"
    assert "Did you mean gpubench:naive?" in str(missing.message)
    peer = only(go(case(contenders=("torch",))))
    assert peer.status == "unsupported"


def test_a_case_that_does_not_fit_is_skipped_with_numbers() -> None:
    """What the device cannot hold is `skipped` before anything is allocated; numpy, which needs no device, is done."""
    one = case(params={"shape": [1000, 1000], "dim": 0}, contenders=(NAIVE, "numpy"))
    records = {record.contender: record for record in go(one, info={"memory_bytes": 2**20})}
    assert records[NAIVE].status == "skipped"
    assert "GB on the device (operands 0.008 GB" in str(records[NAIVE].message)
    assert "0.001049 GB are free" in str(records[NAIVE].message)
    assert records["numpy"].status == "ok"


def test_a_case_too_big_for_the_host_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the host cannot hold is `skipped` for all contenders, before inputs are made."""
    monkeypatch.setattr(pipeline, "free_host_bytes", lambda: 10_000_000)
    begins: list[tuple[str, str]] = []
    records = go(case(contenders=(NAIVE, "numpy")), begins)
    assert [record.status for record in records] == ["skipped"] * 2
    assert "on the host" in str(records[0].message)
    assert ("", "inputs") not in begins


def test_inputs_without_a_right_answer_are_refused_for_every_contender() -> None:
    """An index outside the dim: nothing is launched, and numpy, which counts from the end or raises, is not timed."""
    params = {"shape": [16, 4], "indices": 40, "pattern": {"out_of_range": 2}}
    begins: list[tuple[str, str]] = []
    records = go(case("index_add", params, contenders=(NAIVE, "numpy")), begins)
    assert [record.status for record in records] == ["unsupported"] * 2
    assert all("2 of 40 indices lie outside dim 0" in str(record.message) for record in records)
    assert "time" not in {stage for _, stage in begins}


def test_inputs_are_uploaded_anew_when_copies_do_not_fit() -> None:
    """With too little room for pristine copies the case still runs, right."""
    shape = {"shape": [4_000_000], "dim": 0}
    one = case(params=shape, dtype="float32")
    both = memory.total(memory.device_parts(operator("cumsum").problem(one), [0], 2**20, True))
    record = only(go(one, info={"memory_bytes": both - 1}))
    assert record.status == "ok", record.message


def test_every_stage_is_announced_before_it_touches_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile, time and check name their contender first, so that a fault is laid at the right door."""
    begins: list[tuple[str, str]] = []
    cumsum = operator("cumsum")
    monkeypatch.setattr(type(cumsum), "choose", lambda _, *problem: cumsum.variants[0].plan(*problem))
    go(case(contenders=(NAIVE, "gpubench:auto")), begins)
    for name in (NAIVE, "gpubench:auto"):
        stages = [stage for contender, stage in begins if contender == name]
        assert stages == ["plan", "compile", *["time"] * QUICK.rounds, "check"]


def test_a_lost_device_ends_the_case() -> None:
    """FatalDeviceError leaves the pipeline: only a new process can go on."""
    with pytest.raises(FatalDeviceError):
        go(case(), faults=[{"at": "run", "code": 700}])


def test_an_unforeseen_error_is_a_record() -> None:
    """A bug in an operator or a variant becomes `crashed` with type and place, and the case goes on."""
    broken = Case("x", "cumsum", "float32", {"shape": "nonsense", "dim": 0}, contenders=(NAIVE,), timing=QUICK)
    record = only(go(broken))
    assert record.status in ("crashed", "unsupported")
    assert record.message


def test_a_time_that_cannot_be_is_an_error() -> None:
    """A device that reports a time of 0 gives `device_error`, never a record that claims infinite speed."""
    record = only(go(case(), times=[{"us": 0.0}]))
    assert record.status == "device_error"
    assert "a time of 0.0 us" in str(record.message)


def test_numpy_is_timed_within_bounds() -> None:
    """Host timing takes three samples at least, twenty at most, and one when a call is very long."""

    def ticks(seconds: float) -> tuple[list[float], Any]:
        now = [0.0]

        def call() -> None:
            now[0] += seconds

        return now, call

    for seconds, samples in ((0.001, 20), (0.25, 8), (5.0, 3), (11.0, 1)):
        now, call = ticks(seconds)
        timing = time_host(call, TimingOptions(time_limit_s=2.0), lambda now=now: now[0])  # type: ignore[misc] # bound now
        assert len(timing.samples) == samples
        assert timing.samples[0].us == pytest.approx(seconds * 1e6)


def test_telemetry_keeps_the_worst() -> None:
    """Readings of several rounds join: the highest power and temperature, every throttle reason."""
    so_far: dict[str, Any] = {}
    merge_telemetry(so_far, {"sm_mhz": 1980, "power_w": 300.0, "temperature_c": 50, "throttle": ["a"]})
    merge_telemetry(so_far, {"sm_mhz": 1965, "power_w": 250.0, "temperature_c": None, "throttle": ["b", "a"]})
    assert so_far == {"driver_sm_mhz": 1965, "power_w": 300.0, "temperature_c": None, "throttle": ["a", "b"]}
