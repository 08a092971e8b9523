"""What `gpubench new` writes works as it is, and so does every example, as far as it can without a GPU."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

import gpubench as gb
from gpubench.cli import main
from gpubench.cli.new import OPERATORS
from gpubench.kernels import nvrtc
from gpubench.kernels.arguments import require_fit
from gpubench.kernels.foreign import compile_foreign, parameters_of
from gpubench.model import Refused
from gpubench.operators import operator
from gpubench.own.plan import plan
from gpubench.suite.expand import load_suite
from gpubench.suite.explain import ASSUMED
from tests.own.bed import on_host

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*/*.yaml"))


def compile_all(suite: Path) -> int:
    """Compile every launch of a suite's kernels for its cases, and hold the arguments against them."""
    nvrtc.binding()
    loaded = load_suite(suite)
    done = 0
    for case in loaded.cases:
        one = operator(case.operator)
        for kernel in (kernel for kernel in loaded.brings[0].brought.kernels if kernel.form in ("source", "binary")):
            made = plan(kernel, one, one.problem(case), ASSUMED, str(suite.parent))
            assert not isinstance(made, Refused), made
            for launch in made.launches:
                assert launch.foreign is not None
                require_fit(
                    launch, parameters_of(compile_foreign(launch.foreign, launch.source, launch.kernel, "sm_90"))
                )
                done += 1
    return done


@pytest.mark.parametrize("name", OPERATORS)
def test_a_new_kernel_compiles_for_a_gpu(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The template of each operator takes the cases of its own suite."""
    assert main(["new", "kernel", "mine", "--operator", name, "-o", str(tmp_path)]) == 0
    assert capsys.readouterr().out.split() == [
        str(tmp_path / file) for file in ("mine.cu", "mine.yaml", "test_mine.py")
    ]
    assert compile_all(tmp_path / "mine.yaml") >= 2
    compile((tmp_path / "test_mine.py").read_text(), "test_mine.py", "exec")


def test_a_new_operator_is_right_on_the_host(tmp_path: Path) -> None:
    """What the template's own test does passes: no fault, no wrong answer."""
    assert main(["new", "operator", "mine", "-o", str(tmp_path)]) == 0
    assert main(["check", str(tmp_path / "mine.yaml"), "--allow-code", "--schedule", "reverse"]) == 0


def test_a_new_kernel_is_right_on_the_host(tmp_path: Path) -> None:
    """A template with atomic additions passes in another order of threads, every access watched."""
    assert main(["new", "kernel", "fresh", "--operator", "index_add", "-o", str(tmp_path)]) == 0
    all_right(tmp_path / "fresh.yaml", "reverse", {"ok", "skipped"})


def all_right(suite: Path, schedule: str, wanted: set[str]) -> None:
    """Check a suite's own kernels in this process: some answer must be right, and nothing else than what is wanted."""
    records = [record for record in on_host(load_suite(suite), schedule) if record.contender.startswith("own:")]
    told = {(record.case.id, record.status, record.message) for record in records}
    assert "ok" in {record.status for record in records}, told
    assert {record.status for record in records} <= wanted, told


def test_nothing_is_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is there, an operator's name of ours and an odd name are told, and no file is changed."""
    assert main(["new", "suite", "mine", "-o", str(tmp_path)]) == 0
    assert main(["list", str(tmp_path / "mine.yaml")]) == 0
    (tmp_path / "other.cu").write_text("mine")
    capsys.readouterr()
    assert main(["new", "suite", "mine", "-o", str(tmp_path)]) == 2
    assert main(["new", "kernel", "other", "-o", str(tmp_path)]) == 2
    assert "is there already" in capsys.readouterr().err
    assert (tmp_path / "other.cu").read_text() == "mine"
    assert not (tmp_path / "other.yaml").exists()
    assert main(["new", "operator", "cumsum", "-o", str(tmp_path)]) == 2
    assert main(["new", "kernel", "../x", "-o", str(tmp_path)]) == 2


@pytest.mark.parametrize("suite", EXAMPLES, ids=lambda path: path.parent.name)
def test_an_example_is_listed_and_compiles(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each has a README with its command, says what it needs, and its device code fits its launches."""
    assert len(EXAMPLES) == 5
    assert f"examples/{suite.parent.name}/{suite.name}" in (suite.parent / "README.md").read_text()
    assert main(["list", str(suite)]) == 0
    assert "needs --allow-" in capsys.readouterr().err
    if any(kernel.form in ("source", "binary") for kernel in load_suite(suite).brings[0].brought.kernels):
        assert compile_all(suite) > 0


COLUMNS = ("case", "contender", "median", "interval", "gbps", "ceiling", "check")


@pytest.mark.parametrize("suite", EXAMPLES, ids=lambda path: path.parent.name)
def test_an_example_s_page_shows_its_recorded_run(suite: Path) -> None:
    """The figures are those of a run of the files that lie there, whose answers were right."""
    result = gb.read(suite.parent / "nvidia-h200.json.gz")
    loaded = load_suite(suite)
    wanted = {(case.id, name) for case in loaded.cases for name in case.contenders}
    assert {(record.case.id, record.contender) for record in result.records} == wanted
    assert {record.status for record in result.records} <= {"ok", "noisy"}
    assert result.set.suite["sha256"] == loaded.identity["sha256"]
    for file, sha256 in result.set.suite["brings"].items():
        assert hashlib.sha256((suite.parent / file).read_bytes()).hexdigest() == sha256, file
    ids = tuple(f"{case.id} " for case in loaded.cases)
    rows = [line.rstrip() for line in result.table(COLUMNS).splitlines() if line.startswith(("case ", *ids))]
    page = (suite.parent / "README.md").read_text()
    assert [row for row in rows if ": " not in row and f"    {row}\n" not in page] == []


def test_the_example_of_a_scan_is_right_on_the_host() -> None:
    """The plain CUDA of the examples runs on the simulator."""
    suite = load_suite(ROOT / "examples/scan/scan.yaml")
    [small] = [case for case in suite.cases if case.id == "cumsum/64x1000/dim=1/float32"]
    records = on_host(replace(suite, cases=(replace(small, contenders=("own:row_scan",)),)), "random:1")
    assert [record.status for record in records] == ["ok"]
