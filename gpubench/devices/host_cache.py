"""Compiled host libraries on disk: sealed files with a list of the headers that they were made from."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Collection
from pathlib import Path

from gpubench.kernels import cache, sealed

_PRIVATE = "gpubench-host-"

_ONE_FOLDER = threading.Lock()
"""Held while the folder of this process is made: a second one would be removed as soon as nobody holds it."""


def folder() -> Path | None:
    """Return the folder of compiled libraries, None when the user has no place for one."""
    place = cache.folder()
    return None if place is None else place / "host"


def library(entry: str, known: Collection[Path], make: Callable[[Path], str]) -> Path:
    """Return the library kept under a name, made unless it is there. Safe beside other processes.

    `make` writes the library to a path and returns the compiler's rule for make: the headers in it are looked at again
    when the library is used, but for the files `known`, whose contents decide the name. A cache that cannot be used,
    or whose disk is full, costs a compilation, nothing else.
    """
    place = folder()
    if place is not None and (kept := sealed.load(place, entry)) is not None and _still_true(kept):
        return place / entry
    with _ONE_FOLDER:
        private = _private_folder().name
    made = Path(tempfile.mkdtemp(dir=private), entry)
    listed = json.dumps(_headers(make(made), known)).encode("ascii")
    body = made.read_bytes() + listed + len(listed).to_bytes(8, "little")
    if place is not None and sealed.store(place, entry, body):
        shutil.rmtree(made.parent, ignore_errors=True)
        return place / entry
    return made


@functools.cache
def _private_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder that goes with this process; those of processes that were killed go now."""
    for left in Path(tempfile.gettempdir()).glob(f"{_PRIVATE}*"):
        owner = left.name.removeprefix(_PRIVATE).partition("-")[0]
        with contextlib.suppress(OSError):
            if owner.isdecimal() and left.lstat().st_uid == os.geteuid() and not Path("/proc", owner).exists():
                shutil.rmtree(left, ignore_errors=True)
    return tempfile.TemporaryDirectory(prefix=f"{_PRIVATE}{os.getpid()}-")


def _headers(rule: str, known: Collection[Path]) -> dict[str, list[int]]:
    """Return size and time of each file that a rule for make names and that is not known."""
    found = {}
    for word in rule.partition(":")[2].replace("\\\n", " ").split():
        with contextlib.suppress(OSError):
            path = Path(word)
            status = path.stat()
            if path.resolve() not in known:
                found[word] = [status.st_size, status.st_mtime_ns]
    return found


def _parts(body: bytes) -> tuple[bytes, dict[str, list[int]]]:
    """Return the library and the list behind it. ValueError when there is none."""
    size = int.from_bytes(body[-8:], "little")
    return body[: -8 - size], json.loads(body[-8 - size : -8])


def _still_true(body: bytes) -> bool:
    """Tell whether the headers that a library was made from are those of today."""
    try:
        _, listed = _parts(body)
        found = {word: Path(word).stat() for word in listed}
    except (OSError, ValueError):
        return False
    return all([status.st_size, status.st_mtime_ns] == listed[word] for word, status in found.items())


def code_sha256(path: Path) -> str:
    """Return the hash of a library's own bytes, wherever it lies: not of what the cache adds to them."""
    data = path.read_bytes()
    place = folder()
    if place is not None and path.parent == place:
        data, _ = _parts(data[: -sealed.SEAL_BYTES])
    return hashlib.sha256(data).hexdigest()
