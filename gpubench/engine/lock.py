"""One run a GPU, whoever starts it: two at once would disturb each other's times."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from gpubench.errors import UsageError
from gpubench.results.paths import slug

FOLDERS = (Path("/run/lock"), Path("/var/lock"), Path("/dev/shm"), Path("/tmp"))
"""The first of these that everybody may write to is the place for all users, whatever TMPDIR says to one of them."""

WITHOUT = (
    "This run holds no lock on the device ({reason}): another gpubench that starts meanwhile will not notice it, and "
    "the times of both would be wrong."
)


def folder() -> Path:
    """Return the folder of the locks: the same for every user of the machine."""
    for path in FOLDERS:
        with contextlib.suppress(OSError):
            status = path.stat()
            if stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX and status.st_mode & stat.S_IWOTH:
                return path
    return FOLDERS[-1]


def lock_path(device: str) -> Path:
    """Return the lock file of a device, one for all users of the machine."""
    return folder() / f"gpubench-{slug(device)}.lock"


@contextlib.contextmanager
def device_lock(device: str) -> Iterator[str | None]:
    """Hold the device's lock. UsageError when another run holds it; yields why there is no lock, None when there is."""
    path = lock_path(device)
    descriptor = -1
    try:
        try:
            descriptor = _open(path)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError(
                "Another gpubench is running on this device: the times of both would be wrong. "
                "Wait for it, or go on all the same with --share-device."
            ) from error
        except OSError as error:
            yield f"{path}: {error.strerror or error}"
        else:
            yield None
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def _open(path: Path) -> int:
    """Open the file, another user's too, never through a link and never waiting. OSError for what is no regular file.

    Reading is enough for a lock, so that a file of another user serves as well as one's own; who makes it lets all
    read it, whatever the umask.
    """
    flags = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags | os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        with contextlib.suppress(OSError):
            os.fchmod(descriptor, 0o644)
    except FileExistsError:
        descriptor = os.open(path, flags | os.O_RDONLY)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(0, "is no regular file")
    return descriptor
