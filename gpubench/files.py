"""Files that others may have prepared: opened without waiting or following, written so that they appear whole."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from pathlib import Path

_END_BYTES = 1 << 18


def read_bounded(path: Path, most: int, *, pipes: bool = False) -> bytes:
    """Return the bytes of a regular file, `most` + 1 of them where it holds more. OSError for anything else.

    A FIFO or a device is refused and never waited for. `pipes`: one that this process was handed already open, by its
    number (`/dev/fd/63`, `/dev/stdin`), is read to its end.
    """
    handed = pipes and _is_handed(path)
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | (0 if handed else os.O_NONBLOCK))
    status = os.fstat(descriptor)
    kind = status.st_mode
    if stat.S_ISDIR(kind) or not (stat.S_ISREG(kind) or handed):
        os.close(descriptor)
        raise OSError(errno.EINVAL, f"is not a regular file but {kind_name(kind)}", str(path))
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(min(status.st_size, most) + 1)  # asked for `most`, Python would take that much memory first
        if status.st_size < len(data) <= most:  # a pipe, or it has grown
            data += file.read(most + 1 - len(data))
        return data


def _is_handed(path: Path) -> bool:
    """Tell whether a path names an open descriptor."""
    return path.parent in (Path("/dev/fd"), Path("/proc/self/fd")) or path == Path("/dev/stdin")


def kind_name(mode: int) -> str:
    """Return what a file that is not regular is, in words."""
    names = {
        stat.S_IFDIR: "a folder",
        stat.S_IFLNK: "a link",
        stat.S_IFIFO: "a pipe",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a disk",
        stat.S_IFSOCK: "a socket",
    }
    return names.get(stat.S_IFMT(mode), "something else")


def new_file(folder: Path, prefix: str, mode: int = 0o666) -> tuple[int, Path]:
    """Make a file under a random name that nobody can have prepared; return its descriptor and path. OSError."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    for _ in range(100):
        path = folder / f"{prefix}{os.urandom(8).hex()}.tmp"
        with contextlib.suppress(FileExistsError):
            return os.open(path, flags, mode), path
    raise FileExistsError(errno.EEXIST, "no name is free", str(folder))


def replace(path: Path, data: bytes, mode: int = 0o666, prefix: str | None = None) -> None:
    """Put `data` at `path` as one step: a new file beside it, flushed to disk, then renamed over it. OSError.

    A loss of power or a kill leaves the old file or the new one, never a part. FileExistsError when something other
    than a regular file stands there.
    """
    require_regular(path)
    descriptor, temporary = new_file(path.parent, prefix or f".{path.name[:80]}.", mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    sync_folder(path.parent)


def fingerprint(path: Path) -> str:
    """Return a file's name, size and a hash of its first and last 256 KiB: enough to tell builds of a program apart."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        digest = hashlib.sha256(file.read(_END_BYTES))
        file.seek(max(size - _END_BYTES, 0))
        digest.update(file.read(_END_BYTES))
    return f"{path.name} {size} {digest.hexdigest()}"


def require_regular(path: Path) -> None:
    """FileExistsError when a folder, link, device or pipe has the name; nothing when it is free or a regular file's."""
    with contextlib.suppress(FileNotFoundError):
        kind = path.lstat().st_mode
        if not stat.S_ISREG(kind):
            raise FileExistsError(errno.EEXIST, f"is {kind_name(kind)}, which is not written over", str(path))


def sync_folder(folder: Path) -> None:
    """Flush a folder, so that a new name in it survives a loss of power. Not every file system can: then nothing."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
