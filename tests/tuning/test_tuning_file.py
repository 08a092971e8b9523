"""The tuning file: read back as written, refused in one line, ignored where it is stale or for another GPU."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from gpubench.engine.planned import planned
from gpubench.errors import ResultFileError, UnsupportedError
from gpubench.model import Case, DeviceInfo
from gpubench.operators import OPERATORS
from gpubench.tuning import active
from gpubench.tuning.active import Active, find, use
from gpubench.tuning.file import VERSION, Entry, Tuning, figures_of, file_name, read_tuning, write_tuning
from gpubench.tuning.sources import sources_sha256
from tests.tuning.test_space import h200

SOURCES = ["reduce_sum/lanes.cu"]


def info() -> DeviceInfo:
    """Return a GPU."""
    return dataclasses.replace(h200(), name="NVIDIA H200")


def entry(constants: dict[str, Any] | None = None, regime: str = "short-rows", **changed: Any) -> Entry:
    """Return an entry that holds here."""
    declared = next(known for known in OPERATORS["sum"].regimes if known.name == regime)
    fresh = sources_sha256(SOURCES, declared)
    content = {"subject": "sum", "regime": regime, "constants": constants or {"LANES_ROW": 256}, "sources": SOURCES}
    return Entry(**{**content, "sources_sha256": fresh, **changed})


def tuning(*entries: Entry, device: DeviceInfo | None = None) -> Tuning:
    """Return a tuning for a GPU."""
    return Tuning(
        schema_version=VERSION, gpubench="1", created="", device=figures_of(device or info()), entries=list(entries)
    )


@pytest.fixture(autouse=True)
def _nothing_in_force(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Let no test leave a tuning behind, or find the user's."""
    monkeypatch.setenv(active.FOLDER, str(tmp_path / "data"))
    monkeypatch.delenv(active.CHOICE, raising=False)
    yield
    use(Active())


def test_a_file_is_read_back_and_found(tmp_path: Path) -> None:
    """The user's file for this GPU is found by its name, whole, with the hash of its bytes."""
    path = tmp_path / "data" / "tuning" / file_name(info())
    assert path.name == "nvidia-h200-sm_90.json"
    written = tuning(entry({"LANES_ROW": 256, "STAGED_ROWS": 0}), entry({"ROWS_THREADS": None}, "long-rows"))
    digest = write_tuning(written, path)
    found = find(info())
    assert (found.tuning, found.sha256, found.origin, found.ignored) == (written, digest, "user", ())
    assert find(dataclasses.replace(info(), kind="fake")).tuning is None


def test_what_is_named_wins_and_none_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GPUBENCH_TUNING names a file, for any kind of device, or none; a named file that is not there is an error."""
    write_tuning(tuning(entry()), tmp_path / "data" / "tuning" / file_name(info()))
    monkeypatch.setenv(active.CHOICE, "none")
    assert find(info()) == Active()
    other = tmp_path / "other.json"
    monkeypatch.setenv(active.CHOICE, str(other))
    with pytest.raises(ResultFileError, match=r"other.json: cannot be read: No such file"):
        find(info())
    write_tuning(tuning(entry({"LANES_ROW": 64})), other)
    assert find(info()).origin == "option"


@pytest.mark.parametrize(
    "change",
    [
        {"sources_sha256": "0" * 64},
        {"sources": ["reduce_sum/gone.cu"]},
        {"regime": "gone", "sources_sha256": "1" * 64},
        {"constants": {"LANES_ROW": 5}},
        {"constants": {"GONE": 5}},
        {"subject": "gone"},
    ],
)
def test_a_stale_entry_is_ignored_with_a_line(change: dict[str, Any], tmp_path: Path) -> None:
    """Other sources, a regime, constant or value that is gone: the entry does not count, the others do."""
    kept = entry({"ROWS_THREADS": 64}, "long-rows")
    stale = entry().model_copy(update=change)
    write_tuning(tuning(kept, stale), tmp_path / "data" / "tuning" / file_name(info()))
    found = find(info())
    assert found.tuning is not None
    assert found.tuning.entries == [kept]
    (line,) = found.ignored
    assert "1 of 2 entries were made for other sources and are ignored" in line
    assert "gpubench tune" in line


def test_a_file_for_another_gpu_is_ignored_with_a_line(tmp_path: Path) -> None:
    """The same name with fewer SMs (a part of a GPU) is another GPU."""
    part = dataclasses.replace(info(), sm_count=60)
    write_tuning(tuning(entry(), device=part), tmp_path / "data" / "tuning" / file_name(info()))
    found = find(info())
    assert found.tuning is None
    assert "it is for NVIDIA H200 (60 SMs, 9.0), and this is NVIDIA H200 (132 SMs, 9.0)" in found.ignored[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Invalid JSON"),
        ("[]", "is no tuning"),
        ("[" * 100_000, "is no tuning"),
        ('{"schema_version": 1}', "gpubench: Field required"),
        ("NaN", "is no tuning"),
        (None, "has version 2; this gpubench reads up to 1"),
    ],
)
def test_what_is_no_tuning_is_one_line(text: str | None, message: str, tmp_path: Path) -> None:
    """Files may come from anybody: one line names the fault; the user's own bad file does not stop a run."""
    path = tmp_path / "data" / "tuning" / file_name(info())
    path.parent.mkdir(parents=True)
    newer = json.dumps({**tuning().model_dump(), "schema_version": 2})
    path.write_text(newer if text is None else text)
    with pytest.raises(ResultFileError, match=message) as caught:
        read_tuning(path)
    assert "\n" not in str(caught.value)
    assert "Your tuning is ignored" in find(info()).ignored[0]


def plan_of(contender: str) -> Any:
    """Return the plan of a contender for rows of 250 float32."""
    operator = OPERATORS["sum"]
    params = {"shape": [65536, 1000], "dim": [1]}
    case = Case("sum/65536x1000/dim=1/float32", "sum", "float32", params)
    return planned(contender, operator, operator.problem(case), info())


def test_auto_reads_the_tuning_and_named_variants_do_not() -> None:
    """`auto` has the constants of its regime and says so; a variant's name and `@shipped` mean the same as ever."""
    shipped = plan_of("gpubench:auto")
    assert "constants" not in shipped.notes
    use(Active(tuning(entry({"LANES_ROW": 256})), "0" * 64, "user"))
    tuned = plan_of("gpubench:auto")
    assert (shipped.variant, tuned.variant) == ("rows", "lanes")
    assert tuned.notes["constants"] == {"LANES_ROW": 256}
    assert tuned.notes["regime"] == "short-rows"
    assert plan_of("gpubench:auto@shipped") == shipped
    assert "constants" not in plan_of("gpubench:rows").notes
    assert plan_of("gpubench:auto@LANES_ROW=256").steps == tuned.steps


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gpubench:auto@LANES_ROW=5", "may be 128, 32"),
        ("gpubench:auto@LANES_ROW", "write NAME=VALUE"),
        ("gpubench:auto@", "write NAME=VALUE"),
        ("gpubench:rowz@shipped", "Did you mean gpubench:rows"),
    ],
)
def test_wrong_constants_in_a_name_are_one_line(name: str, message: str) -> None:
    """What cannot be planned is unsupported, with what there is."""
    with pytest.raises(UnsupportedError, match=message):
        plan_of(name)
