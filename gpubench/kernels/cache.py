"""Compiled programs on disk: one file each, named by the hash of everything that went into it.

A file appears whole (temporary name, then rename), so processes may share the folder. A file that is torn, altered or
from another format is a miss, and is replaced. A folder that cannot be made or written is a cache that never hits:
that is no error. The folder is kept under 512 MiB by removing what was used longest ago.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gpubench.kernels.sources import Program

FOLDER = "GPUBENCH_CACHE_DIR"
"""Environment variable: the folder to keep compiled kernels in, in place of the user's cache folder."""

FORMAT = 2
"""Part of every key: a new layout of the file finds none of the old ones. 2: the CUBIN is compressed, to a quarter, so
that everything that `gpubench compile` makes stays under the limit."""

MAX_BYTES = 512 << 20
MAX_ENTRY_BYTES = 256 << 20

_pruned: set[Path] = set()


def folder() -> Path | None:
    """Return the cache's folder, None when the user has no place for one."""
    override = os.environ.get(FOLDER)
    if override:
        return Path(override)
    try:
        import platformdirs

        return Path(platformdirs.user_cache_dir("gpubench", appauthor=False)) / "kernels"
    except (OSError, RuntimeError, KeyError):  # no HOME and no entry in the password file
        return None


def key(program: Program, kernels: Iterable[str], arch: str, options: Iterable[str], version: tuple[int, int]) -> str:
    """Return the hash of all that decides the machine code of these instances."""
    digest = hashlib.sha256()
    parts = [f"format {FORMAT}", f"nvrtc {version[0]}.{version[1]}", arch, *options, program.name, program.text]
    for name, text in sorted(program.headers):
        parts += [name, text]
    for part in (*parts, *kernels):
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def load(entry: str) -> tuple[dict[str, Any], bytes] | None:
    """Return the description and the CUBIN kept under a key, None when there is none that is whole."""
    place = folder()
    if place is None:
        return None
    path = place / entry
    try:
        if path.stat().st_size > MAX_ENTRY_BYTES:
            return None
        data = path.read_bytes()
    except (OSError, ValueError):
        return None
    found = _unpack(entry, data)
    if found is not None:
        with contextlib.suppress(OSError):
            os.utime(path)  # the time of last use, for `_prune`
    return found


def store(entry: str, description: dict[str, Any], cubin: bytes) -> bool:
    """Keep a description (plain JSON) and a CUBIN under a key. False when the folder cannot be written."""
    place = folder()
    if place is None:
        return False
    head = json.dumps(description, allow_nan=False).encode()
    body = len(head).to_bytes(8, "little") + head + zlib.compress(cubin, 1)
    temporary = None
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.NamedTemporaryFile(dir=place, prefix=".new-", delete=False) as file:
            temporary = Path(file.name)
            file.write(_seal(entry, body) + body)
        temporary.replace(place / entry)
        _prune(place)
    except (OSError, ValueError):
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink()
        return False
    return True


def _seal(entry: str, body: bytes) -> bytes:
    """Return what stands before the body: a hash of the key and of the body itself."""
    return hashlib.sha256(entry.encode() + body).digest()


def _unpack(entry: str, data: bytes) -> tuple[dict[str, Any], bytes] | None:
    body = data[32:]
    if len(body) < 8 or data[:32] != _seal(entry, body):
        return None
    size = int.from_bytes(body[:8], "little")
    try:
        description = json.loads(body[8 : 8 + size])
        cubin = zlib.decompressobj().decompress(body[8 + size :], MAX_ENTRY_BYTES)
    except (ValueError, zlib.error):
        return None
    return (description, cubin) if isinstance(description, dict) else None


def _prune(place: Path) -> None:
    """Once a process: remove the files used longest ago until three quarters of the limit are left."""
    if place in _pruned:
        return
    _pruned.add(place)
    files = []
    for path in place.iterdir():
        with contextlib.suppress(OSError):
            status = path.stat()
            files.append((status.st_mtime, status.st_size, path))
    total = sum(size for _, size, _ in files)
    if total <= MAX_BYTES:
        return
    for _, size, path in sorted(files):
        if total <= MAX_BYTES * 3 // 4:
            return
        with contextlib.suppress(OSError):
            path.unlink()
        total -= size
