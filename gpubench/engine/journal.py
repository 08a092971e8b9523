"""The journal of a run: one JSON line a record, on disk before the run goes on. What a run that was killed leaves.

Each line ends with a tab and a checksum of its text and of the checksum before it, so that no byte, line or order of
lines changes unseen. The first line names what the run was about (suite, kernel source, plan of cases, device), so that
a resumed run can tell whether it would continue the same thing.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from gpubench.errors import ResultFileError
from gpubench.files import kind_name, new_file, sync_folder
from gpubench.model import Json, Record
from gpubench.results.format import SCHEMA_VERSION, record_to_json
from gpubench.results.records import record_from_json
from gpubench.results.strict import Node, parse

MAX_LINE = 8 * 2**20
SAME = {
    "suite_sha256": "the suite",
    "kernels_sha256": "the kernel source",
    "plan_sha256": "the selection of cases, or an option of the measurement",
    "device": "the device",
}
"""What must be equal for a run to be continued, with what to call it."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A journal read back. `length` is how many bytes of the file are good; `torn` how many follow them.

    `seal` is the checksum of the last good line.
    """

    header: dict[str, Json]
    records: tuple[Record, ...]
    length: int
    torn: int
    seal: bytes


def load(path: Path) -> Loaded:
    """Read a journal. A last line that was cut short is left out; ResultFileError for any other damage."""
    try:
        descriptor = _open(path, os.O_RDONLY)
        with os.fdopen(descriptor, "rb") as file:
            return _load(file, path)
    except OSError as error:
        raise ResultFileError(f"{path}: cannot be read: {error.strerror or error}") from error


def _open(path: Path, flags: int) -> int:
    """Open a journal without waiting or following. OSError for what is no regular file."""
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    kind = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(kind):
        os.close(descriptor)
        raise OSError(errno.EINVAL, f"is not a regular file but {kind_name(kind)}")
    return descriptor


def _load(file: BinaryIO, path: Path) -> Loaded:
    header: dict[str, Json] | None = None
    records: dict[tuple[str, str], Record] = {}
    length = torn = 0
    seal = b""
    while line := file.readline(MAX_LINE + 1):
        number = len(records) + 1 + (header is not None)
        if not line.endswith(b"\n"):
            torn = len(line)
            if len(line) > MAX_LINE:
                raise ResultFileError(f"{path}: line {number} is too long for a journal")
            break
        text, _, said = line[:-1].rpartition(b"\t")
        expected = _seal(seal, text)
        if said != expected:
            if header is None:
                raise ResultFileError(f"{path}: is not the journal of a run, or its first line is damaged")
            if not file.read(1):
                torn = len(line)  # a loss of power can leave anything in the last line, a newline included
                break
            raise ResultFileError(
                f"{path}: line {number} is damaged, or the lines before it are not those that it was written after: "
                "its checksum does not fit. Start a new run without --resume."
            )
        seal = expected
        node = parse(text, f"{path}: line {number}")
        if header is None:
            header = _header(node)
        else:
            _add(records, record_from_json(node), node)
        length += len(line)
    if header is None:
        raise ResultFileError(f"{path}: is not the journal of a run: it has no complete first line")
    return Loaded(header, tuple(records.values()), length, torn, seal)


def _seal(before: bytes, text: bytes) -> bytes:
    """Return the checksum of a line: of its text and of the checksum before it."""
    return hashlib.blake2b(before + text, digest_size=8).hexdigest().encode("ascii")


def _header(node: Node) -> dict[str, Json]:
    version = node.get("journal_version")
    if version.integer(1) > SCHEMA_VERSION:
        version.fail(f"this journal has version {version.value}, this gpubench reads up to {SCHEMA_VERSION}")
    for key in SAME:
        node.get(key).text()
    node.get("environment").object()
    return node.object()


def _add(records: dict[tuple[str, str], Record], record: Record, node: Node) -> None:
    key = (record.case.id, record.contender)
    if key in records:
        node.fail("repeats a record that stands further up")
    records[key] = record


def _appear(new: Path, path: Path) -> None:
    """Give a file its name, unless that is taken (FileExistsError)."""
    try:
        os.link(new, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if path.exists():
            raise FileExistsError(str(path)) from None
        new.rename(path)


def refuse_changes(path: Path, old: Mapping[str, Json], new: Mapping[str, Json]) -> None:
    """Raise ResultFileError when a journal's header does not belong to the run that would continue it."""
    for key, name in SAME.items():
        if old.get(key) != new.get(key):
            raise ResultFileError(
                f"{path}: {name} has changed since this run began, so its records and new ones must not be mixed. "
                "Run the same command with the same files again, or start a new run without --resume."
            )


def refuse_another_tuning(path: Path, old: Mapping[str, Json], environment: Mapping[str, Json]) -> None:
    """Raise ResultFileError when `auto` would now have other constants than when the run began."""
    before, now = ((said.get("tuning") or {}).get("sha256") for said in (old.get("environment") or {}, environment))
    if before != now:
        raise ResultFileError(
            f"{path}: the tuning has changed since this run began, so its records and new ones must not be mixed. "
            "Give the tuning file of that time (--tuning FILE), or start a new run without --resume."
        )


class Journal:
    """An open journal. Every `append` is on disk when it returns; ResultFileError (a full disk) leaves no half line."""

    def __init__(self, path: Path, descriptor: int, length: int, seal: bytes = b"") -> None:
        self.path = path
        self._seal = seal
        self._descriptor = descriptor
        self._length = length

    @classmethod
    def create(cls, path: Path, header: Mapping[str, Json]) -> Journal:
        """Begin a new journal; ResultFileError when one is there already or cannot be written.

        It appears under its name with its first line complete, so that a kill never leaves one that says nothing.
        """
        new: Path | None = None
        descriptor = -1
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor, new = new_file(path.parent, f".{path.name[:80]}.")
            journal = cls(path, descriptor, 0)
            journal._lock()
            journal._write({"journal_version": SCHEMA_VERSION, **header})
            _appear(new, path)
        except BaseException as error:
            if descriptor >= 0:
                os.close(descriptor)
            if isinstance(error, FileExistsError):
                raise ResultFileError(
                    f"{path}: is the journal of a run that did not finish. Continue it with --resume, or remove it."
                ) from error
            if isinstance(error, OSError):
                raise ResultFileError(f"{path}: cannot be written: {error.strerror or error}") from error
            raise
        finally:
            if new is not None:
                with contextlib.suppress(OSError):
                    new.unlink(missing_ok=True)
        sync_folder(path.parent)
        return journal

    @classmethod
    def reopen(cls, path: Path, loaded: Loaded) -> Journal:
        """Continue a journal that was read with `load`; a torn last line is cut off."""
        try:
            journal = cls(path, _open(path, os.O_WRONLY), loaded.length, loaded.seal)
            journal._lock()
            os.ftruncate(journal._descriptor, loaded.length)
        except OSError as error:
            raise ResultFileError(f"{path}: cannot be written: {error.strerror or error}") from error
        return journal

    def _lock(self) -> None:
        """Keep a second run from writing the same journal; the lock goes with the process."""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ResultFileError(f"{self.path}: another gpubench is writing this journal right now.") from error

    def append(self, record: Record) -> None:
        """Add a record and flush it to the disk."""
        self._write(record_to_json(record))

    def _write(self, value: Mapping[str, Json]) -> None:
        text = json.dumps(value, allow_nan=False, ensure_ascii=True).encode("ascii")
        seal = _seal(self._seal, text)
        data = text + b"\t" + seal + b"\n"
        try:
            done = 0
            while done < len(data):
                done += os.pwrite(self._descriptor, data[done:], self._length + done)
            os.fsync(self._descriptor)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, self._length)
            raise ResultFileError(
                f"{self.path}: cannot be written: {error.strerror or error}. "
                "The records before are safe; make room and go on with --resume."
            ) from error
        self._length += len(data)
        self._seal = seal

    def remove(self) -> None:
        """Close the journal and delete it: its result is written."""
        self.close()
        self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file. May be called twice."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
