"""A folder of compiled things that is believed only as far as it can be: its owner's alone, each file sealed.

A file's last 32 bytes are a hash of its name and of all before it: a torn, altered, renamed or foreign file is no hit,
and is removed. Folder and files must belong to this user, and nobody else may write to them: code from here is run.
A file appears whole (random name, flushed, then renamed), so processes may share the folder. A folder that cannot be
used is a cache that never hits: that is no error. What kills left behind and what was used longest ago is removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from gpubench import files

MAX_BYTES = 512 << 20
MAX_ENTRY_BYTES = 256 << 20
SEAL_BYTES = 32
LEFT_S = 3600.0
"""A temporary file of this age belongs to a process that was killed."""
_TEMPORARY = ("new-", ".new-", "compiling-")

_pruned: set[Path] = set()


def problem(folder: Path) -> str | None:
    """Return why nothing in a folder may be believed, None when it may (or when it is not there yet)."""
    try:
        status = folder.lstat()
    except FileNotFoundError:
        return None
    except OSError as error:
        return error.strerror or str(error)
    if not stat.S_ISDIR(status.st_mode):
        return f"is {files.kind_name(status.st_mode)}" if not stat.S_ISREG(status.st_mode) else "is a file"
    return _foreign(status)


def _foreign(status: os.stat_result) -> str | None:
    if status.st_uid != os.geteuid():
        return f"belongs to another user ({status.st_uid})"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "can be written by other users"
    return None


def load(folder: Path, name: str) -> bytes | None:
    """Return what is kept under a name, without its seal; None when there is nothing that may be believed."""
    if problem(folder) is not None:
        return None
    path = folder / name
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or _foreign(status) or status.st_size > MAX_ENTRY_BYTES:
        os.close(descriptor)
        return None
    with os.fdopen(descriptor, "rb") as file, contextlib.suppress(OSError):
        data = file.read(MAX_ENTRY_BYTES)
        body, seal = data[:-SEAL_BYTES], data[-SEAL_BYTES:]
        if seal == _seal(name, body):
            with contextlib.suppress(OSError):
                os.utime(descriptor)  # the time of last use, for `_prune`
            return body
    with contextlib.suppress(OSError):
        if path.lstat().st_ino == status.st_ino:  # and not what another process put there meanwhile
            path.unlink()
    return None


def store(folder: Path, name: str, body: bytes) -> bool:
    """Keep bytes under a name. False when the folder cannot be used."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if problem(folder) is not None:
            return False
        path = folder / name
        with contextlib.suppress(OSError):
            if not stat.S_ISREG(path.lstat().st_mode):
                path.unlink()  # a link or a pipe would be refused
        files.replace(path, body + _seal(name, body), 0o600, prefix=".new-")
        _prune(folder)
    except (OSError, ValueError):
        return False
    return True


def _seal(name: str, body: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\0" + body).digest()


def _prune(folder: Path) -> None:
    """Once a process: remove what kills left, and what was used longest ago down to three quarters of the limit."""
    if folder in _pruned:
        return
    _pruned.add(folder)
    kept = []
    for path, status in _entries(folder):
        if path.name.startswith(_TEMPORARY):
            if time.time() - status.st_mtime > LEFT_S:
                _remove(path, status)
        elif stat.S_ISREG(status.st_mode):
            kept.append((status.st_mtime, status.st_size, path))
    total = sum(size for _, size, _ in kept)
    if total <= MAX_BYTES:
        return
    for _, size, path in sorted(kept):
        if total <= MAX_BYTES * 3 // 4:
            return
        with contextlib.suppress(OSError):
            path.unlink()
        total -= size


def _entries(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            yield path, path.lstat()


def _remove(path: Path, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()
