"""`gpubench profile`: one case once under a tool, the command on demand, and mistakes told in a line."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from gpubench.cli import main
from gpubench.cli.profile import TOOLS, _command
from tests.engine.bed import NAIVE, own_sources, script

CASE = "sum/64x999/dim=1/float32"
STUB = '#!/bin/sh\necho "$0 $@" >> {log}\nwhile [ "$1" != "{python}" ]; do shift; done\nexec "$@"\n'


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put stand-ins of the tools on the PATH, which note how they were called and run the program."""
    log = tmp_path / "log"
    for name in TOOLS:
        stub = tmp_path / "bin" / name
        stub.parent.mkdir(exist_ok=True)
        stub.write_text(STUB.format(log=log, python=sys.executable))
        stub.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return log


@pytest.mark.parametrize("tool", [*TOOLS])
def test_the_case_runs_once_under_the_tool(
    tool: str, tools: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The tool gets the options behind --, the program runs one launch and says whether the answer is right."""
    only_once = [{"at": "run", "after": 1, "do": "raise", "error": "DeviceError", "message": "a second run"}]
    device = script(tmp_path, faults=[*only_once, {"at": "ceiling"}, {"at": "sample"}])
    code = main(
        ["profile", CASE, "--suite", "smoke", "--contender", NAIVE, "--tool", tool, "--device", device, "--", "-x"]
    )
    assert code == 0, capfd.readouterr()
    assert f"{CASE} {NAIVE}: right" in capfd.readouterr().err
    called = tools.read_text()
    assert TOOLS[tool][0] in called
    assert " -x " in called


def test_an_option_given_takes_the_place_of_ours() -> None:
    """Ncu refuses an option that is there twice; another choice of what is collected replaces ours."""
    assert _command("ncu", ["--set", "basic"]) == [*TOOLS["ncu"][:3], *TOOLS["ncu"][5:], "--set", "basic"]
    assert "full" not in _command("ncu", ["--metrics=sm__cycles_active.avg"])
    assert _command("nsys", ["--stats=false"])[:2] == ["nsys", "profile"]
    assert "true" not in _command("nsys", ["--stats=false"])
    assert _command("cuda-gdb", ["-q"]) == ["cuda-gdb", "-q", "--args"]


def test_a_wrong_answer_is_exit_4(tools: Path, tmp_path: Path) -> None:
    """The answer of the one run is checked."""
    device = script(tmp_path, faults=[{"at": "run", "do": "wrong"}])
    assert main(["profile", CASE, "--suite", "smoke", "--contender", NAIVE, "--device", device]) == 4
    assert tools.exists()


def test_the_printed_command_runs_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """--print needs no tool; its line, without the tool, does the work."""
    monkeypatch.chdir(tmp_path)
    device = script(tmp_path)
    assert main(["profile", CASE, "--suite", "smoke", "--contender", NAIVE, "--device", device, "--print"]) == 0
    line = shlex.split(capsys.readouterr().out)
    assert line[:3] == ["ncu", "--clock-control", "none"]
    program = line[line.index(sys.executable) :]
    assert json.loads(Path(program[-1]).read_text())["contender"] == NAIVE
    done = subprocess.run(program, capture_output=True, text=True, env=own_sources(tmp_path))
    assert (done.returncode, done.stderr.strip()) == (0, f"{CASE} {NAIVE}: right")


def test_mistakes_are_one_line_that_names_the_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No such case, contender or tool."""
    device = script(tmp_path)
    assert main(["profile", "sum/64x99", "--suite", "smoke", "--device", device]) == 2
    assert "The nearest: " in capsys.readouterr().err
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["profile", CASE, "--suite", "smoke", "--device", device]) == 2
    assert "ncu is not on the PATH" in capsys.readouterr().err
