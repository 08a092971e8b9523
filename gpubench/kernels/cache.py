"""NVRTC's machine code on disk: one sealed file each (`sealed.py`), named by the hash of all that went into it."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from gpubench.kernels import sealed
from gpubench.kernels.sources import Program

FOLDER = "GPUBENCH_CACHE_DIR"
"""Environment variable: the folder to keep compiled kernels in, in place of the user's cache folder."""

FORMAT = 3
"""Part of every key: a new layout of the file finds none of the old ones. 2: the CUBIN is compressed, to a quarter, so
that everything that `gpubench compile` makes stays under the limit. 3: the seal stands at the end."""


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


def key(program: Program, kernels: Iterable[str], arch: str, options: Iterable[str], compiler: str) -> str:
    """Return the hash of all that decides the machine code of these instances; `compiler` tells builds apart."""
    digest = hashlib.sha256()
    parts = [f"format {FORMAT}", compiler, arch, *options, program.name, program.text]
    for name, text in sorted(program.headers):
        parts += [name, text]
    for part in (*parts, *kernels):
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def load(entry: str) -> tuple[dict[str, Any], bytes] | None:
    """Return the description and the CUBIN kept under a key, None when there is none that is whole and our own."""
    place = folder()
    body = None if place is None else sealed.load(place, entry)
    return None if body is None else _unpack(body)


def store(entry: str, description: dict[str, Any], cubin: bytes) -> bool:
    """Keep a description (plain JSON) and a CUBIN under a key. False when the folder cannot be used."""
    place = folder()
    if place is None:
        return False
    head = json.dumps(description, allow_nan=False).encode()
    return sealed.store(place, entry, len(head).to_bytes(8, "little") + head + zlib.compress(cubin, 1))


@contextlib.contextmanager
def alone(entry: str) -> Iterator[None]:
    """Hold a key while its code is made, so that other processes wait for it and find it instead of making it too.

    Where the folder cannot be used nobody waits. A process that dies lets go.
    """
    descriptor = -1
    place = folder()
    path = None if place is None else place / f"compiling-{entry[:32]}"
    try:
        if place is not None and path is not None:
            with contextlib.suppress(OSError):
                place.mkdir(parents=True, exist_ok=True, mode=0o700)
                if sealed.problem(place) is None:
                    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
                    fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        if descriptor >= 0 and path is not None:
            with contextlib.suppress(OSError):
                path.unlink()  # while it is still held: who comes now finds the code itself
            os.close(descriptor)


def _unpack(body: bytes) -> tuple[dict[str, Any], bytes] | None:
    size = int.from_bytes(body[:8], "little")
    try:
        description = json.loads(body[8 : 8 + size])
        cubin = zlib.decompressobj().decompress(body[8 + size :], sealed.MAX_ENTRY_BYTES)
    except (ValueError, zlib.error):
        return None
    return (description, cubin) if isinstance(description, dict) else None
