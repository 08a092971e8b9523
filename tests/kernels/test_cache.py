from __future__ import annotations

import errno
import multiprocessing
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

from gpubench.kernels import cache
from gpubench.kernels.sources import Program

PROGRAM = Program("demo/scale.cu", "text", (("gpubench/factor.cuh", "header"),))
OPTIONS = ("--std=c++20",)


def _key(program: Program = PROGRAM, kernels: tuple[str, ...] = ("k<int>",), arch: str = "sm_90", **rest: Any) -> str:
    return cache.key(program, kernels, arch, rest.get("options", OPTIONS), rest.get("version", (13, 0)))


def test_what_was_stored_is_found() -> None:
    """Description and machine code come back as they were."""
    assert cache.load(_key()) is None
    assert cache.store(_key(), {"k<int>": 1}, b"\x7fELF machine code")
    assert cache.load(_key()) == ({"k<int>": 1}, b"\x7fELF machine code")


def test_machine_code_is_kept_compressed(cache_folder: Path) -> None:
    """Line tables and symbols repeat themselves: all kernels for all architectures must fit under the limit."""
    code = b"\x7fELF .debug_line gpubench::cumsum::naive" * 1000
    assert cache.store(_key(), {}, code)
    assert (cache_folder / _key()).stat().st_size < len(code) // 10
    assert cache.load(_key()) == ({}, code)


@pytest.mark.parametrize(
    "other",
    [
        _key(Program("demo/scale.cu", "text ", PROGRAM.headers)),
        _key(Program("demo/other.cu", "text", PROGRAM.headers)),
        _key(Program("demo/scale.cu", "text", (("gpubench/factor.cuh", "header2"),))),
        _key(Program("demo/scale.cu", "text", (("gpubench/factor.cuhh", "eader"),))),
        _key(kernels=("k<int>", "k<float>")),
        _key(arch="sm_80"),
        _key(options=("--std=c++17",)),
        _key(version=(13, 1)),
    ],
)
def test_everything_that_matters_is_in_the_key(other: str) -> None:
    """A change of source, header, instance, architecture, option or compiler is another entry."""
    assert other != _key()


def test_a_damaged_entry_is_a_miss_and_is_replaced(cache_folder: Path) -> None:
    """Torn, altered, empty, foreign or unreadable entries are never used, and the next store mends them."""
    entry = _key()
    cache.store(entry, {"k": 1}, b"code" * 100)
    path = cache_folder / entry
    good = path.read_bytes()
    foreign = _key(arch="sm_80")
    (cache_folder / foreign).write_bytes(good)
    assert cache.load(foreign) is None
    for bad in (b"", good[:20], good[:-1], good[:50] + b"X" + good[51:], good + b"\0", os.urandom(500)):
        path.write_bytes(bad)
        assert cache.load(entry) is None
        assert cache.store(entry, {"k": 1}, b"code" * 100)
        assert cache.load(entry) is not None
    path.unlink()
    path.mkdir()
    assert cache.load(entry) is None
    assert not cache.store(entry, {"k": 1}, b"code")


def test_a_folder_that_cannot_be_used_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file where the folder should be: nothing is kept, nothing is raised, nothing is left behind."""
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    monkeypatch.setenv(cache.FOLDER, str(tmp_path / "file" / "cache"))
    assert not cache.store(_key(), {}, b"code")
    assert cache.load(_key()) is None


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_a_disk_that_cannot_be_written_is_no_error(
    cache_folder: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """Read-only and full disks: what is there is still used, and no temporary file stays."""
    cache.store(_key(), {"k": 1}, b"code")

    def refuse(*arguments: Any, **rest: Any) -> Any:
        del arguments, rest
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(Path, "replace", refuse)
    assert not cache.store(_key(arch="sm_80"), {}, b"code")
    monkeypatch.setattr(tempfile, "NamedTemporaryFile", refuse)
    monkeypatch.setattr(os, "utime", refuse)
    assert not cache.store(_key(arch="sm_80"), {}, b"code")
    assert cache.load(_key()) == ({"k": 1}, b"code")
    assert [path.name for path in cache_folder.iterdir()] == [_key()]


def test_a_user_without_a_home_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no cache folder can be named, there is no cache."""
    import platformdirs

    def homeless(*arguments: Any, **rest: Any) -> str:
        del arguments, rest
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv(cache.FOLDER)
    monkeypatch.setattr(platformdirs, "user_cache_dir", homeless)
    assert cache.folder() is None
    assert not cache.store(_key(), {}, b"code")
    assert cache.load(_key()) is None


def _hammer(folder: str, number: int) -> int:
    """Store and load the same few keys over and over; return how many loads gave anything but a whole entry."""
    os.environ[cache.FOLDER] = folder
    wrong = 0
    for turn in range(150):
        arch = f"sm_{turn % 3}"
        code = arch.encode() * 2000
        cache.store(_key(arch=arch), {"arch": arch, "by": number}, code)
        found = cache.load(_key(arch=arch))
        wrong += found is None or found[1] != code or found[0]["arch"] != arch
    return wrong


def test_processes_may_share_the_folder(cache_folder: Path) -> None:
    """Four processes that write and read the same entries never see a torn one."""
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        wrong = pool.starmap(_hammer, [(str(cache_folder), number) for number in range(4)])
        pool.close()
        pool.join()
    assert wrong == [0, 0, 0, 0]
    assert len(list(cache_folder.iterdir())) == 3


def test_the_folder_does_not_grow_for_ever(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over the limit, what was used longest ago goes first; what was just used stays."""
    monkeypatch.setattr(cache, "MAX_BYTES", 10_000)
    monkeypatch.setattr(cache, "_pruned", {cache_folder})
    for number in range(20):
        cache.store(_key(arch=f"sm_{number}"), {}, os.urandom(1000))
        os.utime(cache_folder / _key(arch=f"sm_{number}"), (1000 + number, 1000 + number))
    cache.load(_key(arch="sm_0"))
    monkeypatch.setattr(cache, "_pruned", set())
    cache.store(_key(arch="sm_20"), {}, os.urandom(1000))
    assert sum(path.stat().st_size for path in cache_folder.iterdir()) <= 10_000
    assert cache.load(_key(arch="sm_0")) is not None
    assert cache.load(_key(arch="sm_20")) is not None
    assert cache.load(_key(arch="sm_1")) is None
