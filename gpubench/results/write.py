"""Writing a result file so that an earlier one is never lost and a half-written one is never seen."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path

from gpubench.errors import ResultFileError
from gpubench.model import Json, ResultSet
from gpubench.results.format import result_to_json


def dumps(result: ResultSet) -> str:
    """Return the document as text: one line a record below the head, so that versions of a file compare well."""
    document = result_to_json(result)
    records = document.pop("records")
    head = [f"{_json(key)}: {_json(value)}" for key, value in document.items()]
    lines = ",\n".join(_json(record) for record in records)
    head.append(f'"records": [\n{lines}\n]' if records else '"records": []')
    return "{" + ",\n".join(head) + "}\n"


def _json(value: Json) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=True, separators=(",", ":"))


def write(result: ResultSet, path: Path) -> None:
    """Write the file at `path`, making its folder. ResultFileError when that fails; what stood there is then intact."""
    replace_file(path, dumps(result).encode("ascii"))


def replace_file(path: Path, data: bytes) -> None:
    """Put `data` at `path` as one step: a temporary file beside it, flushed to disk, then renamed over it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, data)
    except OSError as error:
        raise ResultFileError(
            f"{path}: cannot be written: {error.strerror or error}. "
            "What stood there before is unchanged; free space or name another place with -o."
        ) from error


def _replace(path: Path, data: bytes) -> None:
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name[:80]}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise
    sync_folder(path.parent)


def _umask() -> int:
    current = os.umask(0o077)
    os.umask(current)
    return current


def sync_folder(folder: Path) -> None:
    """Flush a folder, so that a new name in it survives a loss of power. Not every file system can: then nothing."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
