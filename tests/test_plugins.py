"""Entry points of installed packages: operators, peers and kernels are found by name, imported when they are used."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.bed import script

MODULE = """
import os
from pathlib import Path
Path(os.environ["SEEN"]).touch()

import gpubench as gb
from gpubench.operators import operator

class Mine(type(operator("sum"))):
    name = "my_sum"

class Library:
    name = "mylib"
    operators = ("sum",)
    kinds = ("fake",)
    def load(self): pass
    def offers(self, problem): return "mylib takes a day off"
    def prepare(self, problem, operands, stream): raise AssertionError

@gb.contender("sum", "my_sum", arrays="numpy")
def my_scan(x, y, **_):
    y[...] = x.sum()

raise_on_use = None
"""
POINTS = """[gpubench.operators]
my_sum = my_package:Mine
broken = my_package:missing
[gpubench.peers]
mylib = my_package:Library
[gpubench.kernels]
my_scan = my_package:my_scan
"""
SUITE = "name: s\ncases: [{operator: OPERATOR, shape: [8], contenders: [numpy]}]\n"


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a process that has the package installed."""
    info = tmp_path / "site" / "my_package-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    (info.parent / "my_package.py").write_text(MODULE)
    root = str(Path(__file__).parents[1])
    return {**os.environ, "PYTHONPATH": f"{info.parent}:{root}", "SEEN": str(tmp_path / "seen"), "COLUMNS": "200"}


def gpubench(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command."""
    return subprocess.run(
        [sys.executable, "-m", "gpubench", *arguments], capture_output=True, text=True, env=environment
    )


def test_all_three_kinds_are_used_by_their_names(tmp_path: Path, installed: dict[str, str]) -> None:
    """A suite of a package's operator, its library and its kernel beside numpy, each with its own outcome."""
    (tmp_path / "s.yaml").write_text(SUITE.replace("OPERATOR", "my_sum"))
    names = ["--peer", "mylib,own:my_scan", "-o", str(tmp_path / "r.json")]
    done = gpubench(installed, "run", str(tmp_path / "s.yaml"), "--device", script(tmp_path), *names)
    assert done.returncode == 0, done.stderr
    shown = gpubench(installed, "show", str(tmp_path / "r.json"), "--jsonl").stdout
    records = [json.loads(line) for line in shown.splitlines()]
    statuses = {record["contender"]: record["status"] for record in records}
    assert statuses == {"numpy": "ok", "own:my_scan": "ok", "mylib": "unsupported"}


def test_nothing_is_imported_for_other_work(tmp_path: Path, installed: dict[str, str]) -> None:
    """A command that names nothing of a package never runs its code."""
    (tmp_path / "s.yaml").write_text(SUITE.replace("OPERATOR", "sum"))
    for arguments in (("list", str(tmp_path / "s.yaml")), ("schema",), ("list", "--variants")):
        assert gpubench(installed, *arguments).returncode == 0
    assert not (tmp_path / "seen").exists()


def test_what_cannot_be_loaded_is_one_line(tmp_path: Path, installed: dict[str, str]) -> None:
    """A package whose entry point names nothing is told by group and name."""
    (tmp_path / "s.yaml").write_text(SUITE.replace("OPERATOR", "broken"))
    done = gpubench(installed, "list", str(tmp_path / "s.yaml"))
    assert done.returncode == 2
    assert "The entry point broken of gpubench.operators cannot be loaded: AttributeError" in done.stderr
    assert "Traceback" not in done.stderr
