from __future__ import annotations

import json
import math
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from gpubench.model import Record, ResultSet, Sample, Timing
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


def test_version_1_is_still_what_is_written(tmp_path: Path) -> None:
    """Writing what was read gives the same document; a change of format shows here and needs a new version."""
    write(read(DATA / "result-v1.json"), tmp_path / "again.json")
    again, first = (json.loads(path.read_text()) for path in (tmp_path / "again.json", DATA / "result-v1.json"))
    assert again == first
