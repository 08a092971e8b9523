from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpubench.devices import host_compiler
from gpubench.devices.host import HostDevice, parse_options, parse_schedule
from gpubench.errors import CompileError, DeviceError, NoDeviceError, UsageError
from gpubench.model import Accuracy, Launch, Plan, Value
from tests.host.simulate import PLANTED, SPACE, host


@pytest.fixture
def forget_compiler() -> Iterator[None]:
    """Look for the compiler anew, and forget what was found afterwards."""
    host_compiler.find_compiler.cache_clear()
    yield
    host_compiler.find_compiler.cache_clear()


def _fake(folder: Path, name: str, says: str) -> Path:
    program = folder / name
    program.write_text(f"#!/bin/sh\necho '{says}'\n")
    program.chmod(0o755)
    return program


@pytest.mark.usefixtures("forget_compiler")
def test_a_missing_compiler_is_a_message_that_names_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a compiler the error has exit code 2 and says what to install."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(NoDeviceError, match=r"Install the package g\+\+ \(12 or later") as caught:
        HostDevice()
    assert caught.value.exit_code == 2
    assert "g++ was not found; clang++ was not found" in str(caught.value)


@pytest.mark.usefixtures("forget_compiler")
@pytest.mark.parametrize(
    ("says", "will_do"),
    [
        ("g++ (Debian 10.2.1-6) 10.2.1 20210110", False),
        ("g++ (Debian 12.2.0-14) 12.2.0", True),
        ("g++-13 (Ubuntu 13.1.0-8ubuntu1~20.04.2) 13.1.0", True),
        ("Debian clang version 11.0.1-2", False),
        ("Ubuntu clang version 14.0.0-1ubuntu1.1", True),
        ("Apple clang version 15.0.0 (clang-1500.3.9.4)", True),
    ],
)
def test_old_compilers_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, will_do: bool) -> None:
    """A compiler is judged by what it says of itself; one that is too old is named with the oldest that will do."""
    monkeypatch.setenv("CXX", str(_fake(tmp_path, "c++", says)))
    if will_do:
        assert host_compiler.find_compiler().version == says
        return
    with pytest.raises(NoDeviceError, match="is the oldest that will do"):
        host_compiler.find_compiler()


def test_a_compile_error_stands_at_the_authors_line(tmp_path: Path) -> None:
    """Errors come at lines of the kernel's own file, the first few only."""
    lines = ['#include "gpubench/grid.cuh"', "GPUBENCH_KERNEL void broken(int* x) {"]
    lines += [f"    x[0] = missing_{number};" for number in range(30)]
    (tmp_path / "broken.cu").write_text("\n".join([*lines, "}", ""]))
    device = HostDevice(parse_options(""), sources=(tmp_path,))
    with pytest.raises(CompileError) as caught:
        device.compile([Launch("broken.cu", "broken", (1, 1, 1), (1, 1, 1), ())])
    said = str(caught.value).splitlines()
    assert "broken.cu:3:" in said[0]
    assert "missing_0" in said[0]
    assert len(said) == 5


@pytest.mark.parametrize("source", ["../../../etc/passwd", "/etc/passwd", "no_such.cu"])
def test_no_source_outside_the_known_folders_is_compiled(source: str) -> None:
    """Only files of cuda_src (or of a folder that the program itself names) reach the compiler."""
    with pytest.raises(UsageError):
        host().compile([Launch(source, "f", (1, 1, 1), (1, 1, 1), ())])


@pytest.mark.parametrize("line", ['#include "{}"', "#include <{}>", '#define H "{}"\n#include H'])
def test_no_file_outside_is_included(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel of a folder that somebody else wrote cannot have the compiler print another file's contents."""
    secret = tmp_path / "secret"
    secret.write_text("the password is fish\n")
    tree = Path(shutil.copytree(host_compiler.cuda_src(), tmp_path / "cuda_src"))
    monkeypatch.setenv("GPUBENCH_CUDA_SRC", str(tree))
    (tree / "cumsum" / "curious.cu").write_text(line.format(secret) + "\nGPUBENCH_KERNEL void f() {}\n")
    with pytest.raises(CompileError, match=r"curious\.cu:\d+: ") as caught:
        HostDevice(parse_options("")).compile([Launch("cumsum/curious.cu", "f", (1, 1, 1), (1, 1, 1), ())])
    assert "fish" not in str(caught.value)


def test_a_second_process_finds_the_library_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Libraries are kept by content: the same source gives the same file, without a compiler run; a change another."""
    monkeypatch.setenv("GPUBENCH_CACHE_DIR", str(tmp_path / "cache"))
    source = tmp_path / "kernel.cu"
    source.write_text('#include "gpubench/grid.cuh"\nGPUBENCH_KERNEL void zero(int* x) { x[0] = 0; }\n')
    first = host_compiler.kernel_library(source, ["zero"], "fast")
    monkeypatch.setattr(host_compiler, "_call", lambda *_: pytest.fail("compiled again"))
    assert host_compiler.kernel_library(source, ["zero"], "fast") == first
    monkeypatch.undo()
    monkeypatch.setenv("GPUBENCH_CACHE_DIR", str(tmp_path / "cache"))
    source.write_text(source.read_text().replace("= 0", "= 1"))
    second = host_compiler.kernel_library(source, ["zero"], "fast")
    assert second != first
    assert sorted(path.suffix for path in second.parent.iterdir()) == [".so", ".so"]


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels compile into a folder of this process when the cache folder is a file."""
    (tmp_path / "cache").write_text("not a folder")
    monkeypatch.setenv("GPUBENCH_CACHE_DIR", str(tmp_path / "cache"))
    assert host_compiler.cache_folder().is_dir()


@pytest.mark.parametrize(
    "text", ["sideways", "random:x", "forward:1", "random:-1", "", "random:1:2", "RANDOM", "random: 1"]
)
def test_bad_schedules_are_told(text: str) -> None:
    """Only forward, reverse and random:SEED are schedules."""
    with pytest.raises(UsageError, match="write forward, reverse or random:SEED"):
        parse_schedule(text)


@pytest.mark.parametrize("text", ["build=slow", "workers=0", "speed=1", "build", "workers=two"])
def test_bad_options_are_told(text: str) -> None:
    """An unknown option of the device is an error that lists what there is."""
    with pytest.raises(UsageError, match="is no option of the host device"):
        parse_options(text)


def _bind(launch: Launch) -> None:
    device = host()
    device.bind(Plan("test", (launch,), Accuracy(1, "float32")), {}, device.allocate(0))


def test_arguments_of_the_wrong_size_never_reach_a_kernel() -> None:
    """A plan that packs fewer or other bytes than the kernel takes is refused with both lists."""
    arguments = (Value(bytes(8)), Value(bytes(4)))
    with pytest.raises(DeviceError, match=r"takes arguments of \[8, 8\] bytes, but was given \[8, 4\]"):
        _bind(Launch("platform.cu", f"{SPACE}reverse", (1, 1, 1), (32, 1, 1), arguments))


@pytest.mark.parametrize(
    ("grid", "block", "shared"),
    [
        ((1, 1, 1), (2048, 1, 1), 0),
        ((1, 70000, 1), (1, 1, 1), 0),
        ((0, 1, 1), (1, 1, 1), 0),
        ((1, 1, 1), (32, 1, 1), 1 << 20),
    ],
)
def test_launches_that_a_gpu_refuses_are_refused(
    grid: tuple[int, int, int], block: tuple[int, int, int], shared: int
) -> None:
    """Blocks, grids and shared memory beyond a GPU's limits do not pass here either."""
    arguments = (Value(bytes(8)), Value(bytes(8)))
    with pytest.raises(DeviceError, match=f"{SPACE}reverse"):
        _bind(Launch("platform.cu", f"{SPACE}reverse", grid, block, arguments, shared))


def test_the_planted_kernels_are_not_shipped() -> None:
    """The kernels with mistakes lie with the tests, outside the folder that a wheel carries."""
    assert not PLANTED.is_relative_to(host_compiler.cuda_src())
