from __future__ import annotations

import json

import pytest

from gpubench.cli import main
from gpubench.errors import CompileError, ExitCode
from gpubench.kernels import Request

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
    assert {"registers", "spill_bytes", "stack_bytes", "shared_bytes"} <= set(kernel)


def test_a_compile_error_is_shown_and_exits_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The table marks the kernel, the error follows, and the exit code is that of bad input."""

    def fail(requests: list[Request], processes: int) -> list[CompileError]:
        assert processes == 1
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
    ],
)
def test_a_name_that_does_not_exist_is_answered_with_the_nearest(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A filter that names nothing is exit 2, with the nearest name."""
    assert main(["compile", *arguments]) == ExitCode.USAGE
    assert words in capsys.readouterr().err
