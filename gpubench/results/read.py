"""Reading a result file: strict, bounded, and with a plain message for whatever is wrong with it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpubench.errors import ResultFileError
from gpubench.files import read_bounded
from gpubench.model import ResultSet
from gpubench.results.records import result_from_json
from gpubench.results.strict import MAX_BYTES, parse, shown


def read(path: str | Path) -> ResultSet:
    """Return the result set of a file. ResultFileError names the file and the key path of what is wrong.

    At most 32 MiB are read, with at most about 256 MB of memory. Only regular files are opened, so that a device or a
    pipe cannot block the reader.
    """
    name = shown(str(path), 200)
    with _collector_paused():
        return result_from_json(parse(_bytes(Path(path), name), name))


def reads(data: bytes, name: str = "<result>") -> ResultSet:
    """Return the result set of a document in memory; `name` stands for it in messages."""
    return result_from_json(parse(data, name))


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Keep the garbage collector from looking through hundreds of thousands of new values that all stay."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _bytes(path: Path, name: str) -> bytes:
    try:
        return read_bounded(path, MAX_BYTES)
    except (OSError, ValueError) as error:
        raise ResultFileError(f"{name}: cannot be read: {_reason(error)}") from error


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
