from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processor import children_s

SUITE = """
name: tiny
cases:
  - operator: cumsum
    shape: [[33, 20], [7]]
    dim: 0
    dtype: [float32, int32]
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """Return a small suite."""
    path = tmp_path / "tiny.yaml"
    path.write_text(SUITE)
    return path


def check(*arguments: str | Path, sources: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run `gpubench check`."""
    environment = dict(os.environ)
    if sources is not None:
        environment["GPUBENCH_CUDA_SRC"] = str(sources)
    command = [sys.executable, "-m", "gpubench", "check", "--contender", "gpubench:naive", *map(str, arguments)]
    root = Path(__file__).parents[2]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, cwd=root)


def damage(sources: Path, old: str, new: str) -> None:
    """Change the naive cumsum kernel."""
    path = sources / "cumsum" / "naive.cu"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_right_kernels_pass_under_three_schedules(suite: Path) -> None:
    """Without a mistake the exit code is 0, and every pass is told with its counts."""
    done = check(suite)
    assert done.returncode == 0, done.stdout + done.stderr
    for schedule in ("forward", "reverse", "random:1"):
        assert f"{schedule}: 4 ok" in done.stdout
    assert "All answers are right: 12 checks in 3 passes." in done.stdout


def test_a_wrong_answer_is_exit_4_with_its_first_mismatch(suite: Path, sources: Path) -> None:
    """A kernel that computes something else is `wrong`, named with case, contender, schedule and element."""
    damage(sources, "sum = add(sum,", "sum = subtract(sum,")
    done = check(suite, "--schedule", "random:3", sources=sources)
    assert done.returncode == 4, done.stdout + done.stderr
    assert "WRONG  cumsum/33x20/dim=0/float32  gpubench:naive  [random:3]" in done.stdout
    assert "first mismatch: index " in done.stdout


def test_an_access_out_of_bounds_is_exit_5_at_its_line_in_time(suite: Path, sources: Path) -> None:
    """A kernel that reads one element too many is reported with operand and line, after a few seconds of processor."""
    damage(sources, "i < length; ++i", "i <= length; ++i")
    began = children_s()
    done = check(suite, "-x", sources=sources)
    assert children_s() - began < 15  # 5 s are promised on a quiet machine
    assert done.returncode == 5, done.stdout + done.stderr
    assert "DEVICE_ERROR  cumsum/33x20/dim=0/float32  gpubench:naive  [forward]" in done.stdout
    assert "out of bounds" in done.stdout
    assert "at cumsum/naive.cu:" in done.stdout
    assert done.stdout.count("DEVICE_ERROR") == 1


def test_a_crash_costs_one_worker_and_not_the_command(suite: Path, sources: Path) -> None:
    """A kernel that kills its process is exit 5, and the contenders after it are still checked."""
    damage(sources, "Accumulator sum{};", "Accumulator sum{}; if (length == 7) __builtin_abort();")
    done = check(suite, "--fast", "--schedule", "forward", sources=sources)
    assert done.returncode == 5, done.stdout + done.stderr
    assert "forward: 2 ok, 2 crashed" in done.stdout


def test_a_kernel_that_does_not_compile_is_told_at_its_line(suite: Path, sources: Path) -> None:
    """The compiler's first error stands in the report, at the line of the kernel."""
    damage(sources, "Accumulator sum{};", "Accumulator sum{} oops;")
    done = check(suite, "--schedule", "forward", sources=sources)
    assert done.returncode == 5, done.stdout + done.stderr
    assert "COMPILE_ERROR" in done.stdout
    assert "cumsum/naive.cu:22:" in done.stdout


def test_sanitized_kernels_are_checked_in_a_worker_of_their_own(suite: Path, sources: Path) -> None:
    """--sanitize finds the access out of bounds through AddressSanitizer and names kernel, block and thread."""
    assert check(suite, "--sanitize", "--schedule", "forward", "-k", "7").returncode == 0
    damage(sources, "i < length; ++i", "i <= length; ++i")
    done = check(suite, "--sanitize", "--schedule", "forward", "-x", sources=sources)
    assert done.returncode == 5, done.stdout + done.stderr
    assert "AddressSanitizer: heap-buffer-overflow" in done.stdout
    assert "gpubench: in kernel gpubench::cumsum::naive<float, float>" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--schedule", "sideways"), "There is no schedule 'sideways'"),
        (("--device", "cuda:0", "--schedule", "forward"), "belong to --device host"),
        (("--sanitize", "--fast"), "exclude each other"),
        (("--max-elements", "3"), "Nothing was checked"),
        (("-k", "no-such-case"), "no-such-case"),
    ],
)
def test_bad_requests_are_exit_2(suite: Path, arguments: tuple[str, ...], said: str) -> None:
    """What makes no sense, or checks nothing, is told and never passes."""
    done = check(suite, *arguments)
    assert done.returncode == 2, done.stdout + done.stderr
    assert said in done.stderr
