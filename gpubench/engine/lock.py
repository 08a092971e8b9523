"""One run a GPU: two at once would disturb each other's times."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from gpubench.errors import UsageError
from gpubench.results.paths import slug


def lock_path(device: str) -> Path:
    """Return the lock file of a device, one for all users of the machine."""
    return Path(tempfile.gettempdir()) / f"gpubench-{slug(device)}.lock"


@contextlib.contextmanager
def device_lock(device: str) -> Iterator[bool]:
    """Hold the device's lock. UsageError when another run holds it; yields False when locks do not work here."""
    descriptor = _open(lock_path(device))
    if descriptor is None:
        yield False
        return
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError(
                "Another gpubench is running on this device: the times of both would be wrong. "
                "Wait for it, or go on all the same with --share-device."
            ) from error
        except OSError:
            yield False
            return
        yield True
    finally:
        os.close(descriptor)


def _open(path: Path) -> int | None:
    """Open the file, another user's too; never through a link."""
    for flags in (os.O_RDWR | os.O_CREAT, os.O_RDONLY):
        with contextlib.suppress(OSError):
            return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    return None
