from __future__ import annotations

import errno
import functools
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from gpubench.devices import host_cache, host_compiler
from gpubench.devices.host import HostDevice
from gpubench.devices.host_options import parse_options, parse_schedule
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


KERNEL = '#include "gpubench/grid.cuh"\nGPUBENCH_KERNEL void zero(int* x) { x[0] = 0; }\n'


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a kernel's source, with a cache folder of its own."""
    monkeypatch.setenv("GPUBENCH_CACHE_DIR", str(tmp_path / "cache"))
    source = tmp_path / "kernel.cu"
    source.write_text(KERNEL)
    return source


def compiled(source: Path) -> Path:
    """Compile the kernel, or find it, and load it (elsewhere: what is loaded here must not be damaged afterwards)."""
    path = host_compiler.kernel_library(source, ["zero"], "fast")
    code = f"import ctypes; ctypes.CDLL({str(path)!r}, mode=1).gpubench_kernel_0"  # 1: what the runtime has, later
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr == ""
    return path


def test_a_cache_that_cannot_be_written_is_no_error(kernel: Path, tmp_path: Path) -> None:
    """Kernels compile into a folder of this process when the cache folder is a file."""
    (tmp_path / "cache").write_text("not a folder")
    assert not compiled(kernel).is_relative_to(tmp_path)


def test_a_full_cache_disk_is_no_error(kernel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that cannot be kept is used from the folder of this process, and nothing half-written stays."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert not compiled(kernel).is_relative_to(tmp_path)
    assert list((tmp_path / "cache" / "host").iterdir()) == []


def _link(path: Path) -> None:
    path.rename(path.with_suffix(".moved"))
    path.symlink_to(path.with_suffix(".moved"))


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:-1000]),
    "empty": lambda path: path.write_bytes(b""),
    "a changed byte": lambda path: path.write_bytes(path.read_bytes().replace(b"\x7fELF", b"\x7fELG", 1)),
    "another library": lambda path: path.write_bytes(b"\x7fELF somebody else's code" * 100),
    "writable by all": lambda path: path.chmod(0o666),
    "a link": _link,
    "a pipe": _pipe,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_library_that_is_not_ours_and_whole_is_compiled_anew(damage: str, kernel: Path) -> None:
    """Nothing is loaded that is torn, altered or foreign, and afterwards a good one stands there again."""
    path = compiled(kernel)
    good = path.read_bytes()
    DAMAGES[damage](path)
    assert compiled(kernel) == path
    assert path.is_file()
    assert not path.is_symlink()
    assert path.read_bytes()[: len(good) // 2] == good[: len(good) // 2]


def test_a_foreign_folder_is_not_believed(kernel: Path, tmp_path: Path) -> None:
    """Where others may write, nothing is loaded from and nothing kept."""
    path = compiled(kernel)
    path.parent.chmod(0o777)
    assert not compiled(kernel).is_relative_to(tmp_path)


def test_a_changed_header_of_the_system_is_noticed(
    kernel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Headers that no source of ours names are looked at again: by their size and time."""
    header = tmp_path / "system" / "cstdint"
    header.parent.mkdir()
    header.write_text("#include_next <cstdint>\n")
    monkeypatch.setenv("CPLUS_INCLUDE_PATH", str(header.parent))
    compiled(kernel)
    calls: list[str] = []
    call = host_compiler._call

    def counted(command: list[str], text: str) -> None:
        calls.append("again")
        call(command, text)

    monkeypatch.setattr(host_compiler, "_call", counted)
    compiled(kernel)
    assert calls == []
    header.write_text("#include_next <cstdint>\n// changed\n")
    compiled(kernel)
    assert calls == ["again", "again"]


@pytest.mark.usefixtures("forget_compiler")
def test_another_build_of_a_compiler_is_another_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two programs that say the same of themselves are told apart."""
    program = _fake(tmp_path, "c++", "g++ (Debian 12.2.0-14) 12.2.0")
    monkeypatch.setenv("CXX", str(program))
    first = host_compiler.find_compiler()
    program.write_text(program.read_text() + "# patched\n")
    host_compiler.find_compiler.cache_clear()
    second = host_compiler.find_compiler()
    assert first.version == second.version
    assert first.identity != second.identity


@pytest.mark.usefixtures("forget_compiler")
@pytest.mark.parametrize("named", ["g++ 'oops", '"', "g++ \\"])
def test_a_broken_quote_in_the_compilers_name_is_bad_usage(named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """CXX with an open quote is told as such, with exit code 2."""
    monkeypatch.setenv("CXX", named)
    with pytest.raises(UsageError, match=r"CXX is .* which is no command line"):
        host_compiler.find_compiler()


def test_private_folders_of_killed_processes_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder whose process is gone goes with the next one that needs such a folder; a living one's stays."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    gone, living = tmp_path / "gpubench-host-4194999-x", tmp_path / f"gpubench-host-{os.getpid()}-x"
    gone.mkdir()
    living.mkdir()
    with host_cache._private_folder.__wrapped__():
        assert not gone.exists()
        assert living.exists()


def test_libraries_compiled_at_once_share_a_folder_that_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads that need the process's folder first get the same one: a second would be removed under its user."""
    folders = []

    def slowly(prefix: str) -> tempfile.TemporaryDirectory[str]:
        folders.append(tempfile.TemporaryDirectory(prefix=prefix, dir=tmp_path))
        time.sleep(0.05)  # the other thread comes meanwhile
        return folders[-1]

    def make(made: Path) -> str:
        made.write_bytes(b"x")
        return ""

    monkeypatch.setattr(host_cache, "_private_folder", functools.cache(host_cache._private_folder.__wrapped__))
    monkeypatch.setattr(host_cache, "folder", lambda: None)
    monkeypatch.setattr(host_cache, "tempfile", SimpleNamespace(**vars(tempfile) | {"TemporaryDirectory": slowly}))
    with ThreadPoolExecutor(2) as pool:
        made = list(pool.map(lambda name: host_cache.library(name, [], make), ("a", "b")))
    found = [path.is_file() for path in made]
    for folder in folders:
        folder.cleanup()
    assert (len(folders), found) == (1, [True, True])


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
