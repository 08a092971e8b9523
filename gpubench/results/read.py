"""Reading a result file: strict, bounded, and with a plain message for whatever is wrong with it."""

from __future__ import annotations

import gc
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpubench.errors import ResultFileError
from gpubench.files import read_bounded
from gpubench.model import ResultSet
from gpubench.results.records import result_from_json
from gpubench.results.strict import MAX_BYTES, parse, shown

GZIP = b"\x1f\x8b"
"""How a compressed file begins."""


def read(path: str | Path) -> ResultSet:
    """Return the result set of a file. ResultFileError names the file and the key path of what is wrong.

    A file may be compressed by gzip, as compact ones are. At most 32 MiB are read, with at most about 256 MB of memory.
    Only regular files are opened, so that a device or a pipe cannot block the reader.
    """
    name = shown(str(path), 200)
    with collector_paused():
        return result_from_json(parse(document(Path(path)), name))


def reads(data: bytes, name: str = "<result>") -> ResultSet:
    """Return the result set of a document in memory; `name` stands for it in messages."""
    return result_from_json(parse(data, name))


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep the garbage collector from looking through hundreds of thousands of new values that all stay."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def document(path: Path) -> bytes:
    """Return the document in a file, decompressed; at most a byte more than is read. ResultFileError."""
    name = shown(str(path), 200)
    try:
        data = read_bounded(path, MAX_BYTES)
    except (OSError, ValueError) as error:
        raise ResultFileError(f"{name}: cannot be read: {_reason(error)}") from error
    return inflated(data, name)


def inflated(data: bytes, name: str) -> bytes:
    """Return a document that may be compressed as it is without that; `name` stands for it in messages."""
    if not data.startswith(GZIP):
        return data
    inflate = zlib.decompressobj(wbits=31)  # with the header and the checksum of gzip
    try:
        whole = inflate.decompress(data, MAX_BYTES + 1)
    except zlib.error as error:
        raise ResultFileError(f"{name}: is damaged: {error}") from error
    if not inflate.eof and len(whole) <= MAX_BYTES:
        raise ResultFileError(f"{name}: is a compressed result that was cut short")
    return whole


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
