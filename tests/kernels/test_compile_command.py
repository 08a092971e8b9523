from __future__ import annotations

import json

import pytest

from gpubench.cli import compiling, main
from gpubench.errors import CompileError, ExitCode
from gpubench.kernels import Request
from gpubench.kernels.estimate import Progress

ONE = ["compile", "--arch", "sm_90", "--operator", "cumsum", "--variant", "naive", "--jobs", "1"]


@pytest.mark.usefixtures("compiler")
def test_the_table_lists_each_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    """Piped, there is one line a kernel under a line of headings, with figures in their columns."""
    assert main([*ONE, "--dtype", "float32,bfloat16", "--arch", "sm_75"]) == ExitCode.FINE
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert lines[0][:5] == ["variant", "dtype", "kernel", "arch", "registers"]
    assert {(row[1], row[3]) for row in lines[1:]} == {
        (d, a) for d in ("float32", "bfloat16") for a in ("sm_75", "sm_90")
    }
    assert all(int(row[4]) > 0 for row in lines[1:])


@pytest.mark.usefixtures("compiler")
def test_json_has_every_figure(capsys: pytest.CaptureFixture[str]) -> None:
    """The JSON form is one document with a kernel's whole identity and resources."""
    assert main([*ONE, "--dtype", "float32", "--json"]) == ExitCode.FINE
    document = json.loads(capsys.readouterr().out)
    (kernel,) = document["kernels"]
    assert kernel["kernel"] == "gpubench::cumsum::naive<float, float>"
    assert kernel["status"] == "ok"
    assert len(kernel["cubin_sha256"]) == 64
    assert document["processor_seconds"] > 0
    assert {"registers", "spill_bytes", "stack_bytes", "shared_bytes"} <= set(kernel)


def test_a_compile_error_is_shown_and_exits_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The table marks the kernel, the error follows, and the exit code is that of bad input."""

    def fail(requests: list[Request], processes: int, watch: object) -> list[CompileError]:
        assert processes == 1
        assert watch
        return [CompileError(f"{request.kernel}: cumsum/naive.cu(7): error: made up") for request in requests]

    monkeypatch.setattr("gpubench.kernels.compile_many", fail)
    assert main([*ONE, "--dtype", "float32"]) == ExitCode.USAGE
    captured = capsys.readouterr()
    assert captured.out.splitlines()[1].endswith("compile_error")
    assert "cumsum/naive.cu(7): error: made up" in captured.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--operator", "cumsun"], "Did you mean cumsum?"),
        (["--variant", "nave"], "Did you mean naive?"),
        (["--dtype", "float23"], "Did you mean float32?"),
        (["-k", "naive and sm_13"], "No kernel is left"),
        (["-k", "naive or"], "a word is missing"),
    ],
)
def test_a_name_that_does_not_exist_is_answered_with_the_nearest(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A filter that names nothing is exit 2, with the nearest name."""
    assert main(["compile", *arguments]) == ExitCode.USAGE
    assert words in capsys.readouterr().err


@pytest.mark.usefixtures("compiler")
def test_an_expression_and_an_alias_choose_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    """-k looks at the whole row of a kernel, and a dtype may be called by its short name."""
    choice = ["--dtype", "bf16,fp32", "-k", "cumsum:naive and not bf16 and sm_90"]
    assert main(["compile", "--operator", "cumsum", *choice, "--jobs", "1"]) == ExitCode.FINE
    (row,) = [line.split("\t")[:4] for line in capsys.readouterr().out.splitlines()[1:]]
    assert row == ["cumsum:naive", "float32", "cumsum::naive<float, float>", "sm_90"]


@pytest.mark.parametrize(
    "more", [[], ["--all"], ["--variant", "sklansky_rows"], ["--dtype", "float64"], ["-k", "rows"]]
)
def test_other_libraries_designs_are_compiled_only_when_asked_for(
    more: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a word all of ours is compiled and none of theirs; --all or a name brings them."""

    def fail(requests: list[Request], *_: object, **__: object) -> list[CompileError]:
        return [CompileError("made up") for _ in requests]

    monkeypatch.setattr("gpubench.kernels.compile_many", fail)
    assert main(["compile", "--arch", "sm_90", "--operator", "cumsum", *more]) == ExitCode.USAGE
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()[1:]]
    designs = {row[1] for row in rows if row[0] == "cumsum:sklansky_rows"}
    assert ("float64" in designs) == bool(more)
    assert ("float32" in designs) == (bool(more) and "--dtype" not in more)
    assert ("cumsum:naive" in {row[0] for row in rows}) == (more[:1] not in (["--variant"], ["-k"]))


def test_piped_progress_is_a_line_now_and_then_with_an_estimate(capsys: pytest.CaptureFixture[str]) -> None:
    """A log of a long compilation shows that it goes on, and for how long; it is not a line a kernel."""
    now = 0.0
    with compiling.watched(40, lambda: now) as watch:
        for done in range(4, 41, 4):
            now += 2.0
            watch(Progress(done, 40, (40 - done) * 9.0))
    assert capsys.readouterr().err.splitlines() == [
        "Compiling 40 kernels ...",
        "[12/40] about 4 min left",
        "[24/40] about 2 min left",
        "[36/40] about 36 s left",
    ]
