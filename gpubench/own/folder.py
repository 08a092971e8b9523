"""The files beside a suite: opened without following links or waiting, read once, and used as they were read.

What was read is hashed, and what runs is a copy of those bytes in a private folder: a file that changes after it was
looked at changes nothing.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from gpubench.errors import UsageError
from gpubench.files import kind_name
from gpubench.kernels.lexer import UnreadableIncludeError, includes
from gpubench.own.definitions import is_inside

MOST_FILES = 64
MAX_BYTES = 16 << 20
_SOURCES = (".cu", ".cuh", ".h", ".hpp", ".inl")


@dataclass(frozen=True, slots=True)
class Files:
    """The contents of the files that a suite names, and of those that its sources include, by name."""

    contents: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def hashes(self) -> dict[str, str]:
        """The SHA-256 of each file."""
        return {name: hashlib.sha256(data).hexdigest() for name, data in sorted(self.contents.items())}

    @contextlib.contextmanager
    def staged(self) -> Iterator[Path]:
        """Put the files into a private folder for as long as the context lasts, and return the folder."""
        with tempfile.TemporaryDirectory(prefix="gpubench-own-") as folder:
            for name, data in self.contents.items():
                path = Path(folder, name)
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                path.write_bytes(data)
                path.chmod(0o500 if name.endswith(".so") else 0o400)
            yield Path(folder)


def read_files(folder: Path, names: Sequence[str]) -> Files:
    """Read files of a folder, and every file beside them that a source among them includes in quotes.

    UsageError, with the file's name, for one that is not there, leads out of the folder, is no regular file or is
    larger than 16 MiB.
    """
    found: dict[str, bytes] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop(0)
        if name in found:
            continue
        if len(found) >= MOST_FILES:
            raise UsageError(f"A suite may bring {MOST_FILES} files; {folder} has more that belong to this one.")
        found[name] = read_inside(folder, name)
        waiting += _included(folder, name, found[name])
    return Files(found)


def read_inside(folder: Path, name: str) -> bytes:
    """Return the bytes of a file, walking from folder to folder without following a link. UsageError."""
    if not is_inside(name):
        raise UsageError(f"{name[:100]!a} is not the name of a file in the suite's folder: names are relative.")
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    *above, last = PurePosixPath(name).parts
    held = -1
    try:
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for part in above:
            inner = os.open(part, flags | os.O_DIRECTORY, dir_fd=held)
            os.close(held)
            held = inner
        descriptor = os.open(last, flags, dir_fd=held)
    except OSError as error:
        raise UsageError(f"{name} cannot be read from {folder}: {_reason(error)}.") from error
    finally:
        if held >= 0:
            os.close(held)
    kind = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(kind):
        os.close(descriptor)
        raise UsageError(f"{name} in {folder} is no file but {kind_name(kind)}.")
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise UsageError(f"{name} in {folder} is larger than {MAX_BYTES >> 20} MiB.")
    return data


def _reason(error: OSError) -> str:
    told = (
        "it is a link, and files of a suite are none"
        if error.strerror and error.errno == errno.ELOOP
        else error.strerror
    )
    return told or str(error)


def _included(folder: Path, name: str, data: bytes) -> list[str]:
    """Return the files of the folder that a source includes: as the compiler will look for them, and only those."""
    if not name.endswith(_SOURCES):
        return []
    try:
        found = includes(data.decode("utf-8", "replace"))
    except UnreadableIncludeError:
        return []  # the compiler is never asked: it meets the same mistake, with its line
    names = []
    for include in found:
        beside = str(PurePosixPath(name).parent / include.name)
        for candidate in () if include.angle or not include.is_code else (beside, include.name):
            if is_inside(candidate) and _is_there(folder, candidate):
                names.append(candidate)
                break
    return names


def _is_there(folder: Path, name: str) -> bool:
    """Tell whether a name is taken in the folder, by a link too: which is then refused when it is read."""
    return os.path.lexists(folder / name)
