from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gpubench.devices.host import HostDevice
from gpubench.errors import DeviceError
from gpubench.operators.structs import int32
from tests.host.simulate import SCHEDULES, Array, host, launch


def scan(device: HostDevice, backwards: bool, n: int = 20000, threads: int = 128) -> tuple[Array, Array, list[int]]:
    """Scan n integers by decoupled look-back; return found, right, and how often a block had to wait."""
    blocks = -(-n // threads)
    x = np.random.default_rng(2).integers(-1000, 1000, n).astype(np.int32)
    arrays: dict[str, Array] = {
        "x": x,
        "y": np.zeros(n, np.int32),
        "states": np.zeros(blocks, np.uint64),
        "waits": np.zeros(2, np.int32),
    }
    kernel = f"lookback<{str(backwards).lower()}>"
    found = launch(device, "lookback.cu", kernel, blocks, threads, arrays, (int32(n),), waits_for_blocks=True)
    return found["y"], np.cumsum(x, dtype=np.int32), found["waits"].tolist()


@pytest.mark.parametrize("build", ["fast", "checked"])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_blocks_that_wait_for_earlier_ones_never_deadlock(build: str, schedule: str) -> None:
    """A single-pass scan whose blocks wait for lower-numbered ones is right under every schedule."""
    found, right, _ = scan(host(f"build={build},schedule={schedule},workers=2"), backwards=False)
    assert np.array_equal(found, right)


@pytest.mark.parametrize("schedule", ["reverse", "random:1", "random:2"])
def test_schedules_reach_the_code_that_waits(schedule: str) -> None:
    """Other schedules than forward let blocks look before their predecessors are ready, so that the loop is tested."""
    *_, waits = scan(host(f"build=fast,schedule={schedule}"), backwards=False)
    assert waits[0] > 0
    assert waits[1] > 0


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_wait_for_a_later_block_is_reported_instead_of_hanging(schedule: str) -> None:
    """A block that waits for one which waits for it in turn ends the launch with the line of the wait."""
    with pytest.raises(DeviceError, match="deadlock: this thread waits for a value in memory") as caught:
        scan(host(f"build=fast,schedule={schedule}"), backwards=True)
    assert "lookback.cu:" in str(caught.value)


def test_the_portable_switch_of_fibers_gives_the_same_answers() -> None:
    """A runtime built on ucontext, as on processors with no switch of their own, runs the same kernels."""
    root = Path(__file__).parents[2]
    script = (
        "from gpubench.devices import host, host_library\n"
        "slow = host_library.Runtime(ucontext=True)\n"
        "host.runtime = host_library.runtime = lambda: slow\n"
        "from tests.host.simulate import block_sum, host as device\n"
        "from tests.host.test_forward_progress import scan\n"
        "found, right = block_sum(device('build=checked,schedule=random:1'), 'none')\n"
        "y, sums, _ = scan(device('schedule=reverse'), False, n=3000)\n"
        "print((found == right).all() and (y == sums).all())\n"
        "try:\n"
        "    block_sum(device(), 'deep_recursion')\n"
        "except Exception as error:\n"
        "    print(type(error).__name__)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, cwd=root)
    assert done.stdout.split() == ["True", "FatalDeviceError"], done.stderr
