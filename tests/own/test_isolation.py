"""A contender in a worker of its own, and results that tell which files they ran."""

from __future__ import annotations

import json
from pathlib import Path

from gpubench.cli import main
from tests.own.bed import written
from tests.own.test_files_and_trust import SCAN, SOURCE

CASES = "  - {operator: cumsum, shape: [[3, 100]], contenders: ['own:*', gpubench:naive]}\n"


def test_isolated_contenders_share_no_worker_and_a_result_names_what_ran(tmp_path: Path) -> None:
    """A kernel that kills its worker costs nobody else; each contender meets a fresh process. The files and the kernel
    that were timed can be told from later ones.
    """
    crash = SCAN.replace("name: scan", "name: crash").replace("entry: scan", "entry: crash")
    text = SOURCE + SOURCE.replace("void scan", "void crash").replace(
        "float sum = 0;", "*(volatile int*)0 = 1; float sum = 0;"
    )
    written(tmp_path, crash + SCAN, {"scan.cu": text}, CASES)
    quick = ["--rounds", "1", "--min-samples", "1", "--time-limit", "0.01", "-q", "--allow-code", "--isolate"]
    where = ["--device", "host", "-o", str(tmp_path / "r.json")]
    assert main(["run", str(tmp_path / "mine.yaml"), *where, *quick]) == 5
    result = json.loads((tmp_path / "r.json").read_text())
    found = {record["contender"]: record["status"] for record in result["records"]}
    assert found["own:scan"] == found["gpubench:naive"] == "ok"
    assert found["own:crash"] in ("crashed", "device_error")
    assert result["workers"] >= 3
    assert list(result["suite"]["brings"]) == ["scan.cu"]
    kernel = next(record["kernel"] for record in result["records"] if record["contender"] == "own:scan")
    assert kernel["notes"]["file"] == "scan.cu"
    assert len(kernel["cubin_sha256"]) == 64
