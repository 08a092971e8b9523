"""`gpubench compile SUITE`: what a run would compile is compiled ahead, by leave, and a run finds it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpubench.api.staging import brought_by
from gpubench.cli import main
from gpubench.cli.compile_items import of_cases
from gpubench.kernels import compile_instance, nvrtc
from gpubench.kernels.foreign import compile_foreign
from gpubench.suite.explain import ASSUMED
from tests.own.bed import written
from tests.own.test_files_and_trust import SCAN, SOURCE

CASES = "  - {operator: cumsum, shape: [[3, 100], [4, 100]], contenders: ['own:*', torch, numpy]}\n"
PYTHON = "  - {name: called, operator: cumsum, python: called.py:scan}\n"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the test a cache of its own."""
    nvrtc.binding()
    monkeypatch.setenv("GPUBENCH_CACHE_DIR", str(tmp_path / "cache"))


def compiled(folder: Path, capsys: pytest.CaptureFixture[str], code: int, *options: str) -> Any:
    """Compile the suite in a folder; return its JSON, and what was said."""
    arguments = ["compile", str(folder / "mine.yaml"), "--arch", "sm_90", "--jobs", "1", "--json", *options]
    assert main(arguments) == code
    told = capsys.readouterr()
    return (json.loads(told.out)["kernels"] if told.out else None), told.err


def test_ours_and_the_user_s_own_are_compiled_and_found_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One kernel each, though there are two cases; from another private folder, as in a run, both are cached."""
    files: dict[str, str | bytes] = {"scan.cu": SOURCE, "called.py": "raise SystemExit('imported')"}
    suite = written(tmp_path, SCAN + PYTHON, files, CASES.replace("torch", "gpubench:naive"))
    kernels, said = compiled(tmp_path, capsys, 0, "--allow-code")
    assert {(kernel["variant"], kernel["kernel"]) for kernel in kernels} == {
        ("own:scan", "scan"),
        ("naive", "gpubench::cumsum::naive<float, float>"),
    }
    assert not any(kernel["cached"] for kernel in kernels)
    assert "Functions are not compiled ahead: own:called (called.py)" in said
    with brought_by(suite, suite.cases, "cuda", "code") as staged:
        for item in of_cases(suite.cases, staged, [ASSUMED]):
            request, launch = item.request, item.launch
            if launch is None:
                again = compile_instance(request.source, request.kernel, request.arch)
            else:
                assert launch.foreign is not None
                again = compile_foreign(launch.foreign, launch.source, launch.kernel, request.arch)
            assert again.cached
            assert again.resources.cubin_sha256 in {kernel["cubin_sha256"] for kernel in kernels}


def test_nothing_is_opened_without_leave(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The files of a suite that nobody allowed stay closed: they need not even be there."""
    written(tmp_path, SCAN, {}, CASES)
    nothing, said = compiled(tmp_path, capsys, 2)
    assert nothing is None
    assert "--allow-kernels" in said
    assert not (tmp_path / "cache").exists()


def test_a_kernel_that_is_wrong_is_a_row_and_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An argument of the wrong size, and an impossible grid, are told ahead of any run; the rest compiles."""
    wrong = SCAN.replace("name: scan", "name: wide").replace("row_size]", "int32(row_size)]")
    none = SCAN.replace("name: scan", "name: none").replace("grid: ", "grid: 0 * ")
    written(tmp_path, SCAN + wrong + none, {"scan.cu": SOURCE}, CASES)
    kernels, said = compiled(tmp_path, capsys, 2, "--allow-kernels")
    assert {kernel["variant"]: kernel["status"] for kernel in kernels} == {
        "own:scan": "ok",
        "own:wide": "compile_error",
        "own:none": "compile_error",
    }
    assert "write int64(row_size)" in said
    assert "own:none: none: grid" in said


def test_the_filters_are_those_of_the_variants(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A kernel can be chosen by its contender's name; a name that is not there is answered with the nearest."""
    written(tmp_path, SCAN, {"scan.cu": SOURCE}, CASES)
    (kernel,), _ = compiled(tmp_path, capsys, 0, "--allow-kernels", "--variant", "own:scan")
    assert kernel["source"] == "scan.cu"
    _, said = compiled(tmp_path, capsys, 2, "--allow-kernels", "--variant", "own:scam")
    assert "Did you mean own:scan?" in said
