"""The fixture `gpu_benchmark`: right answers pass, wrong ones and missed limits fail, and the records are kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import gpubench as gb
from tests.engine.bed import script

TESTS = """
import gpubench as gb

@gb.contender("sum", arrays="numpy")
def right(x, y, **_):
    y[...] = x.sum()

@gb.contender("sum", arrays="numpy")
def wrong(x, y, **_):
    y[...] = x.sum() + 1

def test_right(gpu_benchmark):
    record = gpu_benchmark("sum", shape=[100], contender=right, timing={"max_noise": 0.1}, limits={"min_us": "< 99"})
    assert record.summary["n"] > 0

def test_wrong(gpu_benchmark):
    gpu_benchmark("sum", shape=[101], contender=wrong)

def test_slow(gpu_benchmark):
    gpu_benchmark("sum", shape=[102], contender="gpubench:naive", limits={"median_us": "< 1"})

def test_elsewhere(gpu_benchmark):
    gpu_benchmark("cumsum", shape=[102], contender=right)
"""


def test_the_fixture_judges_and_writes_one_result(tmp_path: Path) -> None:
    """One passes, a wrong answer and a missed limit fail in one line each, what is not taken is skipped."""
    (tmp_path / "test_kernels.py").write_text(TESTS)
    device = script(tmp_path, info={"simulated": False}, times=[{"us": 20.0}])
    result = tmp_path / "records.json"
    options = ["--gpubench-device", device, "--gpubench-output", str(result), "-p", "gpubench.pytest_plugin"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options],
        cwd=tmp_path,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 passed, 1 skipped" in done.stdout.replace("2 failed, ", "")
    assert "own:wrong is wrong: the output differs" in done.stdout
    assert "median_us is 20, wanted < 1" in done.stdout
    statuses = [(record.contender, record.status) for record in gb.read(result).records]
    assert statuses[:3] == [("own:right", "ok"), ("own:wrong", "wrong"), ("gpubench:naive", "ok")]
