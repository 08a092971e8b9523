"""A contender in a worker of its own, and results that tell which files they ran."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from gpubench.cli import main
from tests.engine.bed import script
from tests.own.bed import written

KERNELS = "".join(
    f"  - {{name: {name}, operator: cumsum, python: called.py:{name}, arrays: numpy}}\n"
    for name in ("first", "crash", "last")
)
CALLED = """import os

CALLERS = set()


def first(x, y, *, dim):
    CALLERS.add("first")
    x.cumsum(axis=dim, out=y)


def crash(x, y):
    os.kill(os.getpid(), 11)


def last(x, y, *, dim):
    x.cumsum(axis=dim, out=y)
    y += len(CALLERS)
"""
CASES = "  - {operator: cumsum, shape: [[3, 100]], contenders: ['own:*', gpubench:naive]}\n"


def test_isolated_contenders_share_no_worker_and_a_result_names_what_ran(tmp_path: Path) -> None:
    """A kernel that kills its worker costs nobody else, and none finds what another left in the process. The files and
    the functions that were timed can be told from later ones.
    """
    written(tmp_path, KERNELS, {"called.py": CALLED}, CASES)
    quick = ["--rounds", "1", "--min-samples", "1", "--time-limit", "0.01", "-q", "--allow-code", "--isolate"]
    where = ["--device", script(tmp_path), "-o", str(tmp_path / "r.json")]
    assert main(["run", str(tmp_path / "mine.yaml"), *where, *quick]) == 5
    result = json.loads((tmp_path / "r.json").read_text())
    found = {record["contender"]: record["status"] for record in result["records"]}
    assert found == {"own:first": "ok", "own:crash": "crashed", "own:last": "ok", "gpubench:naive": "ok"}
    assert result["workers"] == 4
    sha256 = hashlib.sha256(CALLED.encode()).hexdigest()
    assert result["suite"]["brings"] == {"called.py": sha256}
    kernel = next(record["kernel"] for record in result["records"] if record["contender"] == "own:first")
    assert kernel["notes"]["file"] == "called.py"
    assert kernel["cubin_sha256"] == sha256
