"""Exports: what other programs' own readers find in them is what the result holds."""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpubench.cli import main
from gpubench.cli.choosing import chosen
from gpubench.cli.options import Filters
from gpubench.model import Record, ResultSet
from gpubench.results.exports import FORMATS, Options, export, facts
from gpubench.results.write import write
from tests.results.exported import exported, families, measured, medians, smoke, text
from tests.views.samples import mixed, record, result

HEAVY = "pyarrow (55 MB) and pandas (12 MB) are too heavy for the extra dev"


def round_medians(one: Record) -> list[float]:
    """Return the median of each round in microseconds."""
    return [statistics.median(sample.us for sample in samples) for samples in one.timing.rounds if samples]  # type: ignore[union-attr]


# --- Google Benchmark ------------------------------------------------------------------------------------------------


def test_google_benchmark_has_an_entry_a_round_and_the_median() -> None:
    """Each round is a repetition in ns; the aggregate is the record's own median; a wrong answer has no time."""
    content = mixed()
    entries = json.loads(text(content, "google-benchmark"))["benchmarks"]
    for stored in measured(content):
        mine = [entry for entry in entries if entry["run_name"] == f"{stored.case.id}/{stored.contender}"]
        times = [entry["real_time"] / 1e3 for entry in mine if entry["run_type"] == "iteration"]
        assert times == pytest.approx(round_medians(stored))
        assert [entry["real_time"] / 1e3 for entry in mine if entry["run_type"] == "aggregate"] == [
            pytest.approx(facts.median_us(stored))
        ]
    errors = [entry["error_message"] for entry in entries if entry.get("error_occurred")]
    assert errors == ["wrong: one element is off", "unsupported: tiled takes real dtypes only"]


def test_compare_of_google_benchmark_reads_two_results(tmp_path: Path) -> None:
    """Its compare.py finds the change of 10 % that was made, for every record."""
    tools = os.environ.get("GOOGLE_BENCHMARK_TOOLS", "/usr/share/benchmark")
    if not Path(tools, "compare.py").is_file():
        pytest.skip("compare.py is of Debian's libbenchmark-tools, or of a checkout: GOOGLE_BENCHMARK_TOOLS=FOLDER")
    old = smoke()
    for name, content in (("old", old), ("new", _slower(old, 1.1))):
        (tmp_path / f"{name}.json").write_text(text(content, "google-benchmark"))
    command = [sys.executable, f"{tools}/compare.py", "-d", "changes.json", "benchmarks", "old.json", "new.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    changes = {
        change["name"]: change["measurements"][0]["time"]
        for change in json.loads((tmp_path / "changes.json").read_text())
        if change["run_type"] == "aggregate" and change["aggregate_name"] == "median"
    }
    assert len(changes) == len(measured(old)) > 100
    assert all(change == pytest.approx(0.1) for change in changes.values())


def _slower(content: ResultSet, factor: float) -> ResultSet:
    """Return the result with every time multiplied."""

    def longer(one: Record) -> Record:
        if one.timing is None or one.summary is None:
            return one
        rounds = tuple(tuple(replace(sample, us=sample.us * factor) for sample in each) for each in one.timing.rounds)
        summary = {**one.summary, "median_us": (facts.median_us(one) or 0.0) * factor}
        return replace(one, timing=replace(one.timing, rounds=rounds), summary=summary)

    return replace(content, records=tuple(longer(record) for record in content.records))


# --- benchfmt --------------------------------------------------------------------------------------------------------


def test_benchfmt_has_a_line_a_round() -> None:
    """Lines are of the grammar `Name iterations {value unit}`, and give each round's median and samples."""
    content = smoke()
    lines = [line for line in text(content, "benchfmt").splitlines() if line.startswith("Benchmark")]
    found: dict[str, list[Any]] = {}
    for line in lines:
        grammar = re.fullmatch(
            r"(Benchmark[A-Z]\S*/case=[^/\s]+/contender=[^/\s]+) (\d+) (\S+) ns/op( \S+ MB/s)?", line
        )
        assert grammar is not None, line
        assert not re.search(r"-\d+$", grammar[1])
        found.setdefault(grammar[1], []).append((int(grammar[2]), float(grammar[3]) / 1e3))
    wanted = [
        [(len(s), m) for s, m in zip(_rounds(record), round_medians(record), strict=True)]
        for record in measured(content)
    ]
    assert list(found.values()) == [[(n, pytest.approx(us)) for n, us in rounds] for rounds in wanted]


def _rounds(one: Record) -> list[Any]:
    return [samples for samples in one.timing.rounds if samples]  # type: ignore[union-attr]


@pytest.mark.skipif(shutil.which("benchstat") is None, reason="benchstat needs a Go toolchain to be built")
def test_benchstat_reads_it(tmp_path: Path) -> None:
    """Its table has the median of the rounds of a record."""
    (tmp_path / "a.txt").write_text(text(result(record(median_us=40.0)), "benchfmt"))
    done = subprocess.run(["benchstat", "-format", "csv", "a.txt"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "4e-05" in done.stdout


# --- OpenMetrics -----------------------------------------------------------------------------------------------------


def test_prometheus_reads_every_median() -> None:
    """Its parser finds each median in seconds under the record's labels, at the time of the run."""
    content = smoke()
    found = families(text(content, "openmetrics"))
    samples = {
        (sample.labels["case"], sample.labels["contender"]): sample
        for sample in found["gpubench_median_seconds"].samples
    }
    wanted = medians(content)
    assert {key: sample.value for key, sample in samples.items()} == {
        key: pytest.approx(us / 1e6) for key, us in wanted.items()
    }
    assert {float(sample.timestamp) for sample in samples.values()} == {facts.created_seconds(content)}
    assert found["gpubench_rate_bytes_per_second"].unit == "bytes_per_second"
    assert {sample.labels["device"] for sample in samples.values()} == {"NVIDIA H200"}


def test_a_failure_is_a_sample() -> None:
    """What was tried and has no time is 1 in `gpubench_failed`; what was never meant to run is not there."""
    found = families(text(mixed(), "openmetrics", timestamps=False))
    failed = {
        (sample.labels["case"], sample.labels["contender"]): sample.value for sample in found["gpubench_failed"].samples
    }
    assert [key for key, value in failed.items() if value] == [
        ("index_add/1000000x128/dim=0/n=1048576/zipf/float16", "gpubench:auto")
    ]
    assert ("cumsum/64x64/dim=0/complex64", "gpubench:tiled") not in failed
    assert all(sample.timestamp is None for family in found.values() for sample in family.samples)


# --- JUnit -----------------------------------------------------------------------------------------------------------


def test_junit_is_read_with_its_times(tmp_path: Path) -> None:
    """Its reader finds each record, its median in seconds, and what failed or was skipped."""
    junitparser = pytest.importorskip("junitparser", reason="junitparser is of the extra dev")
    content = smoke()
    (tmp_path / "junit.xml").write_text(text(content, "junit"))
    (suite,) = junitparser.JUnitXml.fromfile(str(tmp_path / "junit.xml"))
    wanted = medians(content)
    times = {tuple(case.name.rsplit(" ", 1)): case.time for case in suite if not case.is_skipped}
    assert times == {key: pytest.approx(us / 1e6, abs=1e-9) for key, us in wanted.items()}
    assert suite.skipped == len(content.records) - len(wanted) > 0
    (tmp_path / "mixed.xml").write_text(text(mixed(), "junit"))
    (suite,) = junitparser.JUnitXml.fromfile(str(tmp_path / "mixed.xml"))
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (9, 1, 0, 1)


# --- NVBench ---------------------------------------------------------------------------------------------------------


def test_cuda_bench_reads_every_sample(tmp_path: Path) -> None:
    """Its reader finds every sample, clock and median under the operator's benchmark, and what was skipped and why."""
    reader = pytest.importorskip("cuda.bench.results", reason="cuda-bench is of the extra dev")
    content = chosen(smoke(), Filters(expression="float32", contenders=("gpubench:auto", "inductor")))
    found = reader.BenchmarkResult.from_json(str(exported(tmp_path, "a.json", content, "nvbench")))
    states = {
        (f"{name}/{state.point['case']}", state.point["contender"]): state
        for name, benchmark in found.items()
        for state in benchmark
    }
    assert len(states) == len(content.records)
    for stored in content.records:
        state = states[stored.case.id, stored.contender]
        assert state.is_skipped is (stored not in measured(content))
        if state.is_skipped:
            assert state.skip_reason.startswith(stored.status)
            continue
        assert stored.timing is not None
        assert [us * 1e6 for us in state.samples] == pytest.approx([sample.us for sample in stored.timing.samples])
        wanted = statistics.median(sample.us for sample in stored.timing.samples)
        assert state.summaries["nv/cold/time/gpu/median"].value * 1e6 == pytest.approx(wanted)
        if state.frequencies is not None:
            clocks = [sample.sm_mhz for sample in stored.timing.samples]
            assert [rate / 1e6 for rate in state.frequencies] == pytest.approx(clocks)


@pytest.mark.parametrize("script", ["nvbench_compare", "nvbench_compare_robust"])
def test_both_compare_scripts_see_the_change(script: str, tmp_path: Path) -> None:
    """A result against itself is unchanged in every state; one half slower is slower by half."""
    for name in ("cuda.bench.results", "tabulate", "colorama", "jsondiff"):
        pytest.importorskip(name, reason="cuda-bench[compare] is of the extra dev")
    cases = chosen(smoke(), Filters(expression="cumsum and float32", contenders=("gpubench:auto", "torch")))
    wanted = [
        statistics.median(sample.us for sample in record.timing.samples) for record in measured(cases) if record.timing
    ]
    count = len(wanted)
    exported(tmp_path, "old.json", cases, "nvbench")
    exported(tmp_path, "new.json", _slower(cases, 1.5), "nvbench")

    def run(new: str) -> str:
        command = [sys.executable, "-m", f"cuda.bench.scripts.{script}", "old.json", new]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        return re.sub(r"\x1b\[\d*m", "", done.stdout)

    assert f"Total Matches: {count}" in run("old.json")
    assert len(re.findall(r"\bSAME\b", run("old.json").split("# Summary")[0])) == count > 5
    slower = run("new.json").split("# Summary")[0]
    assert not re.search(r"\bSAME\b", slower)
    if script == "nvbench_compare":
        assert len(re.findall(r"\b50\.0\d?%", slower)) == count
        return
    medians_shown = re.findall(r"([\d.]+) +\[[^]]*\] (.?s) +\| +([\d.]+) +\[[^]]*\] (.?s) +\|[^|]*\| +SLOW", slower)
    assert len(medians_shown) == count
    scale = {"us": 1.0, "ms": 1e3}
    assert [scale[unit] * float(old) for old, unit, _, _ in medians_shown] == pytest.approx(wanted, abs=6e-4, rel=1e-3)
    assert [scale[unit] * float(new) / 1.5 for _, _, new, unit in medians_shown] == pytest.approx(wanted, rel=1e-3)


# --- github-action-benchmark -----------------------------------------------------------------------------------------


def test_the_action_gets_every_median() -> None:
    """Entries have the fields and types that the action asks for, and the medians in us with half their interval."""
    content = smoke()
    entries = json.loads(text(content, "github-action"))
    assert {entry["name"]: entry["value"] for entry in entries} == {
        f"{case} {contender}": us for (case, contender), us in medians(content).items()
    }
    for entry in entries:
        assert set(entry) <= {"name", "unit", "value", "range", "extra"}
        assert all(isinstance(value, float if key == "value" else str) for key, value in entry.items())
        assert re.fullmatch(r"± \S+", entry["range"])


# --- Parquet ---------------------------------------------------------------------------------------------------------


def test_pandas_reads_every_round(tmp_path: Path) -> None:
    """Pandas finds a row a record, with the medians, the statuses and each sample of each round."""
    pytest.importorskip("pyarrow", reason=HEAVY)
    pandas = pytest.importorskip("pandas", reason=HEAVY)
    content = smoke()
    frame = pandas.read_parquet(exported(tmp_path, "r.parquet", content, "parquet"))
    assert list(frame["status"]) == [record.status for record in content.records]
    rows = frame.dropna(subset="median_us")
    assert dict(zip(zip(rows["case"], rows["contender"], strict=True), rows["median_us"], strict=True)) == medians(
        content
    )
    for rounds, stored in zip(frame["rounds_us"], content.records, strict=True):
        wanted = (
            [] if stored.timing is None else [[sample.us for sample in samples] for samples in stored.timing.rounds]
        )
        assert [list(times) for times in rounds] == [pytest.approx(times, rel=1e-6) for times in wanted]


def test_parquet_without_pyarrow_says_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command is exit 2 and names the package, and writes nothing."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    write(mixed(), tmp_path / "r.json")
    assert main(["export", str(tmp_path / "r.json"), "--format", "parquet", "-o", str(tmp_path / "x")]) == 2
    assert "pyarrow" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


# --- Every format ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMATS)
def test_the_command_writes_the_file(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file is what the module gives for the records that the filters leave; the names written are printed."""
    if name == "parquet":
        pytest.importorskip("pyarrow", reason=HEAVY)
    write(mixed(), tmp_path / "r.json")
    target = tmp_path / "out" / "exported"
    arguments = ["export", str(tmp_path / "r.json"), "--format", name, "-o", str(target), "--contender", "numpy"]
    assert main(arguments) == 0
    numpy = replace(mixed(), records=tuple(record for record in mixed().records if record.contender == "numpy"))
    made = export(numpy, name, Options("exported"))
    assert target.read_bytes() == made.data
    for end, data in made.beside.items():
        assert Path(f"{target}{end}").read_bytes() == data
    folders = dict.fromkeys(f"{target}{end}".rpartition("/")[0] for end in made.beside)
    assert capsys.readouterr().out.splitlines() == [*folders, str(target)]


def test_places_that_cannot_be_written_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder, and timestamps of a format that has none, are exit 2 with a reason."""
    write(mixed(), tmp_path / "r.json")
    start = ["export", str(tmp_path / "r.json"), "--format"]
    assert main([*start, "junit", "-o", str(tmp_path)]) == 2
    assert main([*start, "junit", "-o", str(tmp_path / "x"), "--no-timestamps"]) == 2
    assert main([*start, "nothing", "-o", str(tmp_path / "x")]) == 2
    assert "folder" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()
