"""The switch of fibers on each kind of processor: registers and stacks are found as they were left."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from gpubench.devices import host_compiler
from tests.host.simulate import PLANTED

ARM = "aarch64-linux-gnu-g++"


def _says(folder: Path, compiler: tuple[str, ...], run: tuple[str, ...], *flags: str) -> str:
    """Compile the fibers of planted/switch.cpp alone, run them, and return what they print."""
    program = folder / "switch"
    headers = host_compiler.cuda_src() / "include/gpubench/target/host"
    source = str(PLANTED / "switch.cpp")
    subprocess.run(
        [*compiler, "-std=c++20", "-O2", *flags, "-I", str(headers), source, "-o", str(program)],
        check=True,
        timeout=120,
    )
    return subprocess.run([*run, str(program)], check=True, timeout=60, capture_output=True, text=True).stdout


@pytest.mark.parametrize("flags", [(), ("-DGPUBENCH_HOST_UCONTEXT=1",)], ids=["own", "ucontext"])
def test_this_processors_switch_and_the_portable_one_keep_what_they_must(tmp_path: Path, flags: tuple[str]) -> None:
    """Nine turns of three fibers, each on its own aligned stack, and nothing lost in between."""
    assert _says(tmp_path, host_compiler.find_compiler().command, (), *flags) == "9 128\n"


@pytest.mark.skipif(
    platform.machine() == "aarch64" or not shutil.which(ARM) or not shutil.which("qemu-aarch64"),
    reason=f"needs {ARM} and qemu-aarch64",
)
def test_the_switch_for_aarch64_keeps_what_it_must(tmp_path: Path) -> None:
    """The hand-written switch of the other processor does the same, in an emulator."""
    assert _says(tmp_path, (ARM,), ("qemu-aarch64",), "-static") == "9 128\n"
