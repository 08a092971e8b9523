from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpubench.errors import ResultFileError
from gpubench.model import Harness, Record, ResultSet, Sample, Timing
from gpubench.results.format import SCHEMA_VERSION, plain, record_to_json
from gpubench.results.read import read, reads
from gpubench.results.write import dumps, write
from tests.results import strategies

DATA = Path(__file__).parents[1] / "data"


@settings(max_examples=150, deadline=None)
@given(strategies.results)
def test_reading_back_loses_nothing(result: ResultSet) -> None:
    """What is written is read back equal, to the last digit and in the same order."""
    assert reads(dumps(result).encode()) == result


@settings(max_examples=60, deadline=None)
@given(strategies.results)
def test_the_text_is_ascii_and_strict_json(result: ResultSet) -> None:
    """Any JSON parser reads the file, and no NaN or infinity stands in it."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} was written")

    text = dumps(result)
    assert text.isascii()
    assert json.loads(text, parse_constant=refuse)["schema_version"] == SCHEMA_VERSION


@given(st.recursive(st.floats() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_what_json_cannot_hold_becomes_null(value: object) -> None:
    """NaN and infinity become null wherever they hide; everything else is kept."""

    def wanted(one: object) -> object:
        if isinstance(one, dict):
            return {key: wanted(item) for key, item in one.items()}
        if isinstance(one, list):
            return [wanted(item) for item in one]
        return None if isinstance(one, float) and not math.isfinite(one) else one

    assert plain(value) == wanted(value)


def test_numpy_scalars_become_numbers() -> None:
    """A numpy scalar that slipped into a record's notes is written as the number it is."""
    import numpy as np

    found = plain({"a": np.float32(0.5), "b": np.int64(3), "c": (np.bool_(True), np.float64("nan"))})
    assert json.dumps(found) == '{"a": 0.5, "b": 3, "c": [true, null]}'


def test_sample_clocks_stand_beside_the_samples() -> None:
    """`telemetry.sm_mhz` has one clock for each kept sample, in the order of the rounds."""
    from gpubench.model import Case

    timing = Timing(((Sample(1.0, 1980.0),), (Sample(2.0, None), Sample(3.0, 1965.0))), ((1, Sample(9.0, 990.0)),))
    record = Record(Case("a", "sum", "float32", {}), "numpy", "ok", None, 1, timing=timing, telemetry={"power_w": 1.0})
    found = record_to_json(record)
    assert found["rounds_us"] == [[1.0], [2.0, 3.0]]
    assert found["telemetry"] == {
        "sm_mhz": [1980.0, None, 1965.0],
        "discarded_sm_mhz": [990.0],
        "power_w": 1.0,
    }
    assert found["timing"]["discarded_rounds"] == [1]


def test_version_1_stays_readable() -> None:
    """A file of format version 1, as it was first written, is read for ever and means the same."""
    result = read(DATA / "result-v1.json")
    assert result.suite["name"] == "example"
    ok, wrong, crashed = result.records
    assert (ok.status, wrong.status, crashed.status) == ("ok", "wrong", "crashed")
    assert ok.timing is not None
    assert [sample.us for sample in ok.timing.samples] == [20.5, 20.25, 20.75, 21.0]
    assert ok.timing.samples[1].sm_mhz == 1965.0
    assert ok.timing.discarded == ((1, Sample(40.0, 990.0)),)
    assert wrong.check is not None
    assert not wrong.check.ok
    assert crashed.timing is None
    assert result.ceiling.copy_GBps == 4100.5
    assert result.extra["timings"] == {"time": 1.5}


def test_version_1_says_of_a_library_what_today_has_a_word_for() -> None:
    """A library's answer beyond the bound, which version 1 called ok, reads as inaccurate; ours stays what it was."""
    document = json.loads((DATA / "result-v1.json").read_text())
    record = document["records"][0]
    record["check"]["ok"] = False
    peer = {**record, "contender": "torch"}
    failed = {**peer, "contender": "jax", "status": "throttled"}
    document["records"] = [record, peer, failed]
    assert [record.status for record in reads(json.dumps(document).encode()).records] == [
        "ok",
        "inaccurate",
        "throttled",
    ]


def test_version_1_came_from_the_first_protocol() -> None:
    """A file without a harness block was measured the first way; a later one must say how it was measured."""
    document = json.loads((DATA / "result-v1.json").read_text())
    assert reads(json.dumps(document).encode()).harness == Harness(1, None)
    document["schema_version"] = 2
    with pytest.raises(ResultFileError, match="lacks harness"):
        reads(json.dumps(document).encode())


def test_version_2_is_what_is_written(tmp_path: Path) -> None:
    """Writing what was read gives the same document; a change of format shows here and needs a new version."""
    write(read(DATA / "result-v2.json"), tmp_path / "again.json")
    again, first = (json.loads(path.read_text()) for path in (tmp_path / "again.json", DATA / "result-v2.json"))
    assert again == first
    assert first["schema_version"] == SCHEMA_VERSION


def test_version_2_means_what_it_says() -> None:
    """The parts that version 2 brought come back in the model."""
    result = read(DATA / "result-v2.json")
    assert result.harness == Harness(2, "ef" * 32)
    assert result.environment["libraries"]["inductor"] == {"torch": "2.11.0", "triton": "3.6.0"}
    assert [sweep.phase for sweep in result.ceiling.rounds] == ["start", "end"]
    assert result.ceiling.rounds[1].sweep[0].read_us == 4.25
    assert result.ceiling.sweep[0].copy_by == "copy<4>"
    assert [record.status for record in result.records] == ["ok", "inaccurate"]


@pytest.mark.parametrize(
    ("place", "value", "complaint"),
    [
        (("harness", "protocol"), 0, "at least 1"),
        (("harness", "commit"), "x", "does not know"),
        (("ceiling", "rounds", 0, "phase"), "middle", "start, end"),
        (("ceiling", "rounds", 0, "sweep", 0, "read_us"), 0, "above 0"),
        (("ceiling", "sweep", 0, "read_by"), 4, "expected a text"),
        (("environment", "libraries", "torch"), "2.11", "expected an object"),
        (("environment", "libraries", "torch", "torch"), 2.11, "expected a text"),
    ],
)
def test_the_parts_of_version_2_are_read_strictly(place: tuple[str | int, ...], value: object, complaint: str) -> None:
    """Each wrong value is refused, with its place."""
    document = json.loads((DATA / "result-v2.json").read_text())
    inner = document
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    with pytest.raises(ResultFileError, match=complaint) as caught:
        reads(json.dumps(document).encode())
    assert str(place[0]) in str(caught.value)
