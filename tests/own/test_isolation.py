"""A contender in a worker of its own, and results that tell which files they ran."""

from __future__ import annotations

import json
from pathlib import Path

from gpubench.cli import main
from tests.own.bed import written
from tests.own.test_files_and_trust import SCAN, SOURCE

CASES = "  - {operator: cumsum, shape: [[3, 100]], contenders: ['own:*', gpubench:naive]}\n"


def run(folder: Path, *options: str) -> int:
    """Run the suite in a folder on the host device."""
    quick = ["--rounds", "1", "--min-samples", "1", "--time-limit", "0.01", "-q", "--allow-code"]
    return main(["run", str(folder / "mine.yaml"), "--device", "host", "-o", str(folder / "r.json"), *quick, *options])


def test_isolated_contenders_share_no_worker(tmp_path: Path) -> None:
    """A kernel that kills its worker costs nobody else; each contender meets a fresh process."""
    crash = SCAN.replace("name: scan", "name: crash").replace("entry: scan", "entry: crash")
    text = SOURCE + SOURCE.replace("void scan", "void crash").replace(
        "float sum = 0;", "*(volatile int*)0 = 1; float sum = 0;"
    )
    written(tmp_path, crash + SCAN, {"scan.cu": text}, CASES)
    assert run(tmp_path, "--isolate") == 5
    result = json.loads((tmp_path / "r.json").read_text())
    found = {record["contender"]: record["status"] for record in result["records"]}
    assert found["own:scan"] == found["gpubench:naive"] == "ok"
    assert found["own:crash"] in ("crashed", "device_error")
    assert result["workers"] >= 3


def test_a_result_names_the_hashes_of_what_ran(tmp_path: Path) -> None:
    """The file that was timed can be told from a later one."""
    written(tmp_path, SCAN, {"scan.cu": SOURCE}, CASES)
    assert run(tmp_path) == 0
    result = json.loads((tmp_path / "r.json").read_text())
    assert list(result["suite"]["brings"]) == ["scan.cu"]
    kernel = next(record["kernel"] for record in result["records"] if record["contender"] == "own:scan")
    assert kernel["notes"]["file"] == "scan.cu"
    assert len(kernel["cubin_sha256"]) == 64
