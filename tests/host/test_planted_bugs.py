from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gpubench.devices.host_compiler import sanitizer_library
from gpubench.errors import DeviceError, FatalDeviceError
from tests.host.simulate import BUGS, PLANTED, SCHEDULES, block_sum, host

SAID = {
    "missing_barrier": ("uninitialised read of shared memory", "race on shared memory"),
    "divergent_barrier": ("divergent barrier",),
    "early_exit": ("divergent barrier",),
    "off_by_one": ("out of bounds: reads 4 bytes at byte offset 8192 of a buffer of 8192 bytes (operand x)",),
    "shared_off_by_one": ("out of bounds: index 3", "out of bounds of shared memory"),
    "uninitialised": ("uninitialised read of shared memory",),
    "wrong_mask": ("wrong mask: lane ", "mask 0x0000ffff, in which it is not itself"),
    "absent_lane": ("lane 7 is at a block barrier",),
    "lane_outside_mask": ("wrong lane: lane 15 of shuffle_down",),
    "misaligned": ("misaligned access: 16 bytes",),
    "overflow": ("integer overflow: ",),
    "lost_update": ("race on shared memory",),
    "lost_global_update": ("race on global memory",),
    "overlapping_outputs": ("race on global memory",),
    "endless_wait": ("deadlock: this thread waits for a value in memory",),
    # An address near a buffer is told by its distance from that buffer, and where the buffers lie is chance.
    "wild_pointer": ("out of bounds: reads 4 bytes at address 0x10", "out of bounds: reads 4 bytes at byte offset -"),
    "deep_recursion": ("stack overflow",),
}


def planted_line(bug: str) -> set[int]:
    """Return the lines of the kernel at which a bug may be reported: those that name it, and what follows from it."""
    lines = (PLANTED / "block_sum.cu").read_text().splitlines()
    return {number for number, line in enumerate(lines, 1) if f"Bug::{bug}" in line}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("bug", BUGS)
def test_every_planted_bug_is_caught_and_named(bug: str, schedule: str) -> None:
    """A checked build reports each planted mistake under each schedule, with kernel, block, thread and line."""
    with pytest.raises(DeviceError) as caught:
        block_sum(host(f"build=checked,workers=1,schedule={schedule}"), bug)
    message = str(caught.value)
    assert any(words in message for words in SAID[bug]), message
    assert f"Bug::{bug}>" in message
    assert "block (" in message
    assert "thread (" in message
    assert f"schedule {schedule}" in message
    assert "block_sum.cu:" in message


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("build", ["fast", "checked"])
def test_the_right_kernel_is_right_under_every_schedule(build: str, schedule: str) -> None:
    """The kernel without a mistake gives the exact sums and no report, whatever the order of threads."""
    found, right = block_sum(host(f"build={build},schedule={schedule}"), "none", blocks=37, threads=256)
    assert np.array_equal(found, right)


@pytest.mark.parametrize("bug", ["divergent_barrier", "early_exit", "wrong_mask", "absent_lane", "misaligned"])
def test_collectives_and_alignment_are_watched_in_fast_builds_too(bug: str) -> None:
    """What costs nothing to see is reported without a checked build."""
    with pytest.raises(DeviceError, match=SAID[bug][0]):
        block_sum(host("build=fast"), bug)


@pytest.mark.parametrize("bug", ["wild_pointer", "deep_recursion"])
def test_a_fault_of_the_processor_ends_the_launch_and_not_the_process(bug: str) -> None:
    """A wild address or an endless recursion is an error that says so, and the next launch works."""
    device = host("build=fast,workers=2")
    with pytest.raises(FatalDeviceError, match=r"illegal address|stack overflow"):
        block_sum(device, bug, blocks=8)
    found, right = block_sum(device, "none")
    assert np.array_equal(found, right)


def test_the_line_is_that_of_the_kernel() -> None:
    """The line named is the line at fault, not one of the platform's."""
    with pytest.raises(DeviceError) as caught:
        block_sum(host("build=checked,workers=1"), "lost_update")
    barrier = next(iter(planted_line("lost_update") - {1, *range(10, 30)}))
    assert f"block_sum.cu:{barrier + 1}:" in str(caught.value)


@pytest.mark.parametrize(
    ("bug", "said"),
    [
        ("off_by_one", "AddressSanitizer: heap-buffer-overflow"),
        ("overflow", "integer overflow: "),
        ("none", "right"),
    ],
)
def test_sanitizers_work_from_python(bug: str, said: str) -> None:
    """A process started with AddressSanitizer reports a planted mistake, names the thread, and passes what is right."""
    root = Path(__file__).parents[2]
    environment = os.environ | {
        "LD_PRELOAD": str(sanitizer_library()),
        "ASAN_OPTIONS": "detect_leaks=0:detect_stack_use_after_return=0:abort_on_error=0",
        "PYTHONPATH": str(root),
    }
    script = (
        "from tests.host.simulate import block_sum, host\n"
        f"found, right = block_sum(host('build=sanitize'), {bug!r})\n"
        "print('right' if (found == right).all() else 'wrong')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=120, cwd=root
    )
    assert said in done.stdout + done.stderr
    if bug == "off_by_one":
        assert "gpubench: in kernel gpubench::planted::block_sum" in done.stderr
