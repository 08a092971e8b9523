"""The index of a history is a cache: the files decide, and it is made again the same."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gpubench.analysis.pairing import same_code
from gpubench.analysis.rounds import is_timed, medians, round_variance, samples
from gpubench.errors import UsageError
from gpubench.names import STATUSES
from gpubench.past import POINT
from gpubench.results import index as index_module
from gpubench.results.compact import compacted
from gpubench.results.index import NAME, Index, panel
from gpubench.results.points import SIZE, scan
from gpubench.results.read import read
from gpubench.results.write import write
from tests.recorded import recorded
from tests.results.histories import CASES, History, Planted, file_of, make, name, run


def content(folder: Path) -> list[str]:
    """Return everything an index holds, as the SQL that would make it again."""
    with Index(folder) as index:
        index.refresh()
    database = sqlite3.connect(folder / NAME)
    lines = list(database.iterdump())
    database.close()
    return lines


def test_a_point_holds_what_the_strict_reader_and_the_rule_say() -> None:
    """Means and variances of the round medians, status and clock are those that a comparison would take."""
    assert np.dtype(list(POINT)).itemsize == SIZE
    for path in recorded("nvidia-h200/verdicts/clean0*.json")[:2] + recorded("nvidia-h200/peers-2*.json"):
        result = read(path)
        scanned = scan(path, path.name)
        points = np.frombuffer(scanned.points, dtype=list(POINT))
        assert scanned.problem is None
        assert list(scanned.series) == [(record.case.id, record.contender) for record in result.records]
        for record, point in zip(result.records, points, strict=True):
            assert STATUSES[point["status"]] == record.status
            if is_timed(record):
                logs, within = medians(samples(record))
                assert point["log_us"] == pytest.approx(logs.mean(), abs=1e-12)
                assert point["variance"] == pytest.approx(round_variance(logs, within), rel=1e-4, abs=1e-12)
                assert point["rounds"] == len(logs)
                assert point["samples"] == (record.summary or {})["n"]


def test_equal_codes_are_those_that_a_comparison_calls_the_same() -> None:
    """Two runs' points have one code exactly where the machine code, its launches and the work are the same."""
    old, new = (recorded(f"nvidia-h200/verdicts/{name}.json")[0] for name in ("clean00", "planted500"))
    codes = [np.frombuffer(scan(path, "").points, dtype=list(POINT))["code"] for path in (old, new)]
    ours = [
        (a, b, before == after)
        for a, b, before, after in zip(read(old).records, read(new).records, *codes, strict=True)
        if a.contender.startswith("gpubench:")
    ]
    assert [same_code(a, b) for a, b, _ in ours] == [same for _, _, same in ours]
    assert {same for _, _, same in ours} == {True, False}


def test_a_deleted_index_is_made_again_the_same(tmp_path: Path) -> None:
    """After files came, changed and went one by one, the index holds what a new one holds."""
    make(tmp_path, History(runs=6))
    content(tmp_path)
    (tmp_path / file_of(2)).unlink()
    write(run(History(seed=9), 3), tmp_path / file_of(3))
    os.utime(tmp_path / file_of(3), (5, 5))
    (tmp_path / "deep").mkdir()
    write(run(History(), 7), tmp_path / "deep" / file_of(7))
    once = content(tmp_path)
    for file in tmp_path.glob(f"{NAME}*"):
        file.unlink()
    assert content(tmp_path) == once
    assert sum('INSERT INTO "run"' in line or "INSERT INTO run" in line for line in once) == 6


def test_a_damaged_file_is_named_and_skipped(tmp_path: Path) -> None:
    """Damage of any kind, in whole or compressed files, costs that file alone, each time it is asked."""
    make(tmp_path, History(runs=3))
    good = (tmp_path / file_of(0)).read_bytes()
    packed = compacted(read(tmp_path / file_of(0)), good)
    damaged = {
        "cut.json": good[: len(good) // 2],
        "empty.json": b"",
        "list.json": b"[]",
        "other.json": b'{"schema_version": 2}',
        "newer.json": good.replace(b'"schema_version": 2', b'"schema_version": 99'),
        "cut.json.gz": packed[:-20],
        "text.json": good.replace(b'"rounds_us":[[', b'"rounds_us":[["fast",'),
        "status.json": good.replace(b'"status":"ok"', b'"status":"fine"'),
    }
    for path, data in damaged.items():
        (tmp_path / path).write_bytes(data)
    for _ in range(2):
        with Index(tmp_path) as index:
            index.refresh()
            problems = index.problems()
            assert [problem.path for problem in problems] == sorted(damaged)
            assert all(problem.path in problem.reason for problem in problems)
            assert [group.runs for group in index.groups()] == [3]


def test_several_processes_read_what_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of files are read by several processes; the index is the same."""
    make(tmp_path, History(runs=5))
    (tmp_path / "broken.json").write_text("{")
    one = content(tmp_path)
    (tmp_path / NAME).unlink()
    monkeypatch.setattr(index_module, "MANY", 1)
    assert content(tmp_path) == one


def test_a_whole_file_and_its_compact_one_are_one_run(tmp_path: Path) -> None:
    """Both may lie side by side; a run counts once, and copies kept as baselines not at all."""
    make(tmp_path, History(runs=3))
    for file in list(tmp_path.glob("*.json")):
        data = file.read_bytes()
        file.with_name(file.name + ".gz").write_bytes(compacted(read(file), data))
    (tmp_path / "baselines").mkdir()
    write(run(History(), 9), tmp_path / "baselines" / "release.json")
    with Index(tmp_path) as index:
        index.refresh()
        (group,) = index.groups()
        assert group.runs == 3
        assert len(index.runs(group)) == 3


def test_a_series_and_the_panel_agree(tmp_path: Path) -> None:
    """One series read alone is a row of the panel, whatever the order and the layout of the runs."""
    make(tmp_path, History(runs=4, planted={2: Planted(2, 1.05)}))
    short = run(History(), 5)
    write(replace(short, records=short.records[3:]), tmp_path / file_of(5))
    with Index(tmp_path) as index:
        index.refresh()
        (group,) = index.groups()
        columns = panel(index.columns(group))
        assert columns.points.shape == (2 * CASES, 5)
        key = (name(0), "gpubench:auto")
        runs, points = index.one_series(group, key)
        assert len(runs) == 4  # the last run lacks it
        row = columns.points[list(columns.series).index(key)]
        assert [point[0] for point in points] == row["log_us"][:4].tolist()
        assert np.isnan(row["log_us"][4])
        assert [run.path for run in columns.runs] == [file_of(number) for number in (0, 1, 2, 3, 5)]
        assert index.one_series(group, key, last=2)[0] == [columns.runs[3]]


def test_a_cache_that_is_no_cache_is_made_anew_or_not_kept(tmp_path: Path) -> None:
    """Rubbish under the index's name is replaced; a link is left alone, and everything still works."""
    make(tmp_path, History(runs=2))
    (tmp_path / NAME).write_bytes(b"rubbish" * 1000)
    with Index(tmp_path) as index:
        assert index.refresh() == (2, 0)
        assert index.note is None
    (tmp_path / NAME).unlink()
    target = tmp_path / "elsewhere"
    (tmp_path / NAME).symlink_to(target)
    with Index(tmp_path) as index:
        assert index.refresh() == (2, 0)
        assert "cannot be kept" in (index.note or "")
    assert not target.exists()
    with pytest.raises(UsageError, match="no such folder"):
        Index(tmp_path / "nowhere")
