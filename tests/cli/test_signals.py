"""A run that is told to end while it starts must say so and leave the right code, at whatever point it is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.engine.bed import script

ROOT = Path(__file__).parents[2]
NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def start(folder: Path, *arguments: str, before: Sequence[str] = ()) -> subprocess.Popen[str]:
    """Start `gpubench` with modules of the folder before all others."""
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}
    return subprocess.Popen(
        [*before, sys.executable, "-m", "gpubench", *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def slow_module(folder: Path, name: str) -> Path:
    """Put a module before the real one that says when it is loaded, and takes a minute for it."""
    began = folder / "began"
    (folder / f"{name}.py").write_text(f"import time\nopen({str(began)!r}, 'w').close()\ntime.sleep(60)\n")
    return began


def wait_for(path: Path) -> None:
    """Wait until a file is there."""
    for _ in range(600):
        if path.exists():
            return
        time.sleep(0.02)
    pytest.fail("it did not get that far")


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("module", ["click", "yaml"])
def test_a_signal_while_modules_load_is_told(number: int, module: str, tmp_path: Path) -> None:
    """Before the command line is read, and while a command loads what it needs: 130 and one sentence."""
    began = slow_module(tmp_path, module)
    process = start(tmp_path, "run", "smoke", "--device", "fake:/nonexistent")
    wait_for(began)
    process.send_signal(number)
    output, error = process.communicate(timeout=30)
    assert (process.returncode, output, error) == (130, "", "gpubench: interrupted\n")


@pytest.mark.parametrize("number", NUMBERS)
def test_a_signal_while_the_device_opens_is_told(number: int, tmp_path: Path) -> None:
    """While a device takes its time to open the run ends at once, and leaves neither a file nor a worker."""
    device = script(tmp_path, faults=[{"at": "open", "do": "sleep", "seconds": 60, "once_file": "began"}])
    process = start(tmp_path, "run", "smoke", "--device", device, "-o", "r.json")
    wait_for(tmp_path / "began")
    process.send_signal(number)
    _, error = process.communicate(timeout=30)
    assert (process.returncode, error) == (130, "gpubench: interrupted\n")
    assert {path.name for path in tmp_path.iterdir()} == {"fake.json", "began"}


@pytest.mark.parametrize("command", ["list", "check", "calibrate", "ab --a gpubench:naive --b gpubench:auto"])
def test_every_command_that_takes_long_is_told(command: str, tmp_path: Path) -> None:
    """SIGTERM is answered alike by commands other than run."""
    began = slow_module(tmp_path, "yaml")
    process = start(tmp_path, *command.split(), "smoke")
    wait_for(began)
    process.send_signal(signal.SIGTERM)
    assert (process.wait(30), process.communicate()[1]) == (130, "gpubench: interrupted\n")


def test_a_signal_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    """Under nohup a terminal that closes ends nothing, neither while the run starts nor later."""
    device = script(tmp_path, seconds_per_sample=0.02)
    arguments = ("run", "smoke", "-k", "sum", "--contender", "numpy", "--device", device, "-q", "-o", "r.json")
    process = start(tmp_path, *arguments, before=("sh", "-c", "trap '' HUP; echo deaf; exec \"$@\"", "sh"))
    assert process.stdout is not None
    assert process.stdout.readline() == "deaf\n"
    while process.poll() is None:
        process.send_signal(signal.SIGHUP)
        time.sleep(0.02)
    _, error = process.communicate()
    assert process.returncode == 0, error
    assert (tmp_path / "r.json").exists()
