from __future__ import annotations

import errno
import multiprocessing
import os
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from gpubench import files
from gpubench.kernels import cache, sealed
from gpubench.kernels.sources import Program

PROGRAM = Program("demo/scale.cu", "text", (("gpubench/factor.cuh", "header"),))
OPTIONS = ("--std=c++20",)


def _key(program: Program = PROGRAM, kernels: tuple[str, ...] = ("k<int>",), arch: str = "sm_90", **rest: Any) -> str:
    return cache.key(program, kernels, arch, rest.get("options", OPTIONS), rest.get("compiler", "nvrtc 13.0 a"))


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
        _key(compiler="nvrtc 13.0 b"),
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


@pytest.mark.parametrize("kind", ["pipe", "link", "dangling"])
def test_what_is_no_file_is_replaced(kind: str, cache_folder: Path, tmp_path: Path) -> None:
    """A pipe is not waited for, a link not followed; the next store puts a file there and touches nothing else."""
    other = tmp_path / "other"
    cache.store(_key(), {"k": 1}, b"code")
    path = cache_folder / _key()
    if kind == "link":
        path.rename(other)  # its content would be believed
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(other)
    assert cache.load(_key()) is None
    assert cache.store(_key(), {"k": 2}, b"code")
    assert cache.load(_key()) == ({"k": 2}, b"code")
    assert other.exists() is (kind == "link")


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o1777])
def test_a_folder_that_others_may_write_to_is_not_believed(mode: int, cache_folder: Path) -> None:
    """Whoever may put a file there could have this user run it."""
    assert cache.store(_key(), {"k": 1}, b"code")
    cache_folder.chmod(mode)
    assert cache.load(_key()) is None
    assert not cache.store(_key(), {"k": 1}, b"code")
    cache_folder.chmod(0o700)
    assert cache.load(_key()) is not None


@pytest.mark.parametrize("mode", [0o666, 0o620])
def test_an_entry_that_others_may_write_to_is_not_believed(mode: int, cache_folder: Path) -> None:
    """Its seal proves nothing: who can write it can seal it."""
    assert cache.store(_key(), {"k": 1}, b"code")
    (cache_folder / _key()).chmod(mode)
    assert cache.load(_key()) is None


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
@pytest.mark.parametrize("whose", ["entry", "folder"])
def test_what_belongs_to_another_user_is_not_believed(whose: str, cache_folder: Path) -> None:
    """Neither in a file nor in a folder of theirs, not even for root."""
    assert cache.store(_key(), {"k": 1}, b"code")
    os.chown(cache_folder / _key() if whose == "entry" else cache_folder, 65534, 65534)
    assert cache.load(_key()) is None


def test_what_kills_left_is_removed(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Temporary files and folders of processes that are gone do not pile up; those of living ones stay."""
    assert cache.store(_key(), {}, b"code")
    old = (cache_folder / ".new-0123.tmp", cache_folder / "compiling-0123")
    old[0].write_bytes(b"half")
    old[1].mkdir()
    (old[1] / "library.o").write_bytes(b"half")
    for path in old:
        os.utime(path, (1000, 1000))
    young = cache_folder / ".new-4567.tmp"
    young.write_bytes(b"half")
    monkeypatch.setattr(sealed, "_pruned", set())
    assert cache.store(_key(arch="sm_80"), {}, b"code")
    assert {path.name for path in cache_folder.iterdir()} == {_key(), _key(arch="sm_80"), young.name}


def test_an_entry_is_on_the_disk_before_it_has_its_name(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a loss of power there is the whole entry or none: the file is flushed, then renamed, then the folder."""
    order: list[str] = []
    sync, rename = os.fsync, Path.replace

    def synced(descriptor: int) -> None:
        order.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        sync(descriptor)

    def renamed(path: Path, target: Path) -> Path:
        order.append("name")
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", renamed)
    assert cache.store(_key(), {}, b"code")
    assert order == ["file", "name", "folder"]
    assert cache_folder.exists()


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
    monkeypatch.setattr(files, "new_file", refuse)
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


def _make(folder: str, place: str) -> None:
    """Make an entry the way the compiler does, leaving a mark for each time that it was really made."""
    os.environ[cache.FOLDER] = folder
    with cache.alone(_key()):
        if cache.load(_key()) is None:
            (Path(place) / f"made-{os.getpid()}").touch()
            time.sleep(0.3)
            cache.store(_key(), {}, b"code")


def test_processes_that_meet_at_one_kernel_make_it_once(cache_folder: Path, tmp_path: Path) -> None:
    """Of four processes that need the same code at the same moment one makes it, the others find it; no mark stays."""
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        pool.starmap(_make, [(str(cache_folder), str(tmp_path))] * 4, chunksize=1)
        pool.close()
        pool.join()
    assert len(list(tmp_path.glob("made-*"))) == 1
    assert [path.name for path in cache_folder.iterdir()] == [_key()]


def test_the_folder_does_not_grow_for_ever(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over the limit, what was used longest ago goes first; what was just used stays."""
    monkeypatch.setattr(sealed, "MAX_BYTES", 10_000)
    monkeypatch.setattr(sealed, "_pruned", {cache_folder})
    for number in range(20):
        cache.store(_key(arch=f"sm_{number}"), {}, os.urandom(1000))
        os.utime(cache_folder / _key(arch=f"sm_{number}"), (1000 + number, 1000 + number))
    cache.load(_key(arch="sm_0"))
    monkeypatch.setattr(sealed, "_pruned", set())
    cache.store(_key(arch="sm_20"), {}, os.urandom(1000))
    assert sum(path.stat().st_size for path in cache_folder.iterdir()) <= 10_000
    assert cache.load(_key(arch="sm_0")) is not None
    assert cache.load(_key(arch="sm_20")) is not None
    assert cache.load(_key(arch="sm_1")) is None
