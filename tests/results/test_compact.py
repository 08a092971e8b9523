"""A compact result is small, and says what the whole one says."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from gpubench.analysis.compare import Options, compare
from gpubench.analysis.rounds import medians
from gpubench.cli import main
from gpubench.cli.results import command
from gpubench.errors import ResultFileError, UsageError
from gpubench.model import ResultSet
from gpubench.ranks import ranks
from gpubench.results.compact import compacted, identity, is_compact
from gpubench.results.read import inflated, read, reads
from gpubench.results.write import write
from gpubench.views.charts.files import Wish, charts
from tests.recorded import recorded
from tests.results.strategies import results

MOST = 20_000
"""Bytes of a run of 60 records."""


def small(path: Path) -> ResultSet:
    """Return what is read from a result's compact form."""
    data = path.read_bytes()
    return reads(inflated(compacted(reads(data), data), "small"), "small")


def test_recorded_runs_of_sixty_records_stay_under_20_kb() -> None:
    """What a nightly run adds to a repository: 60 records with their machine code, ceilings and environment."""
    (path,) = recorded("nvidia-h200/repeated/smoke-*.json")
    data = path.read_bytes()
    assert len(reads(data).records) == 60
    assert len(compacted(reads(data), data)) < MOST
    clean = recorded("nvidia-h200/verdicts/clean00.json")[0].read_bytes()
    assert len(compacted(reads(clean), clean)) < MOST


def test_verdicts_are_the_same_to_the_last_bit() -> None:
    """Intervals, verdicts and the machine's change come out of compact files as out of whole ones."""
    old, new = (recorded(f"nvidia-h200/verdicts/{name}.json")[0] for name in ("clean00", "planted2000"))
    whole, few = compare(read(old), read(new), Options()), compare(small(old), small(new), Options())
    assert [(row.case, row.verdict, row.estimate) for row in few.rows] == [
        (row.case, row.verdict, row.estimate) for row in whole.rows
    ]
    assert few.machine == whole.machine
    assert few.means == whole.means
    assert "SLOWER" in {row.verdict for row in few.rows}


@given(st.lists(st.floats(0.001, 1e9), min_size=1, max_size=60))
def test_few_samples_give_the_same_median_and_error(samples: list[float]) -> None:
    """Among the samples kept, those that decide stand at the same places again."""
    few = [sorted(samples)[rank] for rank in sorted(set(ranks(len(samples))))]
    whole, kept = medians([samples]), medians([few])
    assert (whole[0].tolist(), whole[1]) == (kept[0].tolist(), kept[1])
    assert len(few) <= 4


@settings(max_examples=30)
@given(results)
def test_whatever_a_result_holds_its_compact_form_reads(result: ResultSet) -> None:
    """Every result becomes compact, keeps all but samples, and becomes the same file again."""
    once = inflated(compacted(result, b"the file"), "small")
    again = reads(once)
    assert is_compact(again)
    assert identity(again, "") in (hashlib.sha256(b"the file").hexdigest(), identity(result, ""))
    assert [(record.case, record.contender, record.status, record.bytes) for record in again.records] == [
        (record.case, record.contender, record.status, record.bytes) for record in result.records
    ]
    assert inflated(compacted(again, once), "small") == once


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda data: data[:-9], "cut short"),
        (lambda data: data[:20] + bytes([data[20] ^ 255]) + data[21:], "is damaged"),
        (lambda data: data[:-8] + b"\0\0\0\0" + data[-4:], "is damaged"),
        (lambda _: gzip.compress(b" " * (33 * 2**20)), "bytes; at most"),
    ],
)
def test_a_damaged_or_swollen_file_is_refused(tmp_path: Path, damage: object, words: str) -> None:
    """A file cut short, with a flipped byte, with a wrong checksum, or that unpacks to far more than is ever read."""
    assert callable(damage)
    data = recorded("nvidia-h200/verdicts/ab500.json")[0].read_bytes()
    path = tmp_path / "r.json.gz"
    path.write_bytes(damage(compacted(reads(data), data)))
    with pytest.raises(ResultFileError, match=words):
        read(path)


def test_the_command_replaces_only_what_reads_the_same(tmp_path: Path) -> None:
    """Folders become compact beside or elsewhere; a second call changes nothing; a name that is taken is refused."""
    source = recorded("nvidia-h200/verdicts/ab500.json")[0]
    (tmp_path / "runs" / "deep").mkdir(parents=True)
    one, other = tmp_path / "runs" / "one.json", tmp_path / "runs" / "deep" / "other.json"
    one.write_bytes(source.read_bytes())
    write(replace(read(source), created="2026-01-01T00:00:00Z"), other)
    (tmp_path / "runs" / "notes.json").write_text("{}")
    done = CliRunner().invoke(command, ["compact", str(tmp_path / "runs"), "-o", str(tmp_path / "kept")])
    assert done.exit_code == 0, done.output
    assert "skipped: " in done.stderr
    assert "2 results:" in done.output
    assert read(tmp_path / "kept" / "deep" / "other.json.gz").created == "2026-01-01T00:00:00Z"
    assert main(["results", "compact", str(tmp_path / "runs"), "--replace"]) == 0
    assert sorted(path.name for path in (tmp_path / "runs").rglob("*.json*")) == [
        "notes.json",
        "one.json.gz",
        "other.json.gz",
    ]
    before = (tmp_path / "runs" / "one.json.gz").read_bytes()
    assert main(["results", "compact", str(tmp_path / "runs" / "one.json.gz")]) == 0
    assert (tmp_path / "runs" / "one.json.gz").read_bytes() == before
    write(replace(read(source), created="2026-01-02T00:00:00Z"), one)
    assert main(["results", "compact", str(one), "--replace"]) == 2  # another run's has its name
    assert one.exists()


def test_samples_that_are_gone_are_not_drawn() -> None:
    """A chart of the three samples that are left would be taken for one of all."""
    with pytest.raises(UsageError, match="lost its samples"):
        charts(small(recorded("nvidia-h200/verdicts/ab500.json")[0]), Wish("samples"))
