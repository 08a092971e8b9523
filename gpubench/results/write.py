"""Writing a result file so that an earlier one is never lost and a half-written one is never seen."""

from __future__ import annotations

import json
from pathlib import Path

from gpubench import files
from gpubench.errors import ResultFileError
from gpubench.model import Json, ResultSet
from gpubench.results.format import result_to_json
from gpubench.results.read import reads


def dumps(result: ResultSet) -> str:
    """Return the document as text: one line a record below the head, so that versions of a file compare well."""
    document = result_to_json(result)
    records = document.pop("records")
    head = [f"{json_text(key)}: {json_text(value)}" for key, value in document.items()]
    lines = ",\n".join(json_text(record) for record in records)
    head.append(f'"records": [\n{lines}\n]' if records else '"records": []')
    return "{" + ",\n".join(head) + "}\n"


def json_text(value: Json) -> str:
    """Return one value as it stands in a file."""
    return json.dumps(value, allow_nan=False, ensure_ascii=True, separators=(",", ":"))


def write(result: ResultSet, path: Path) -> None:
    """Write the file at `path`, making its folder. ResultFileError when that fails; what stood there is then intact.

    What is written is read first: a file that the reader would refuse is not made.
    """
    data = dumps(result).encode("ascii")
    try:
        reads(data, "the result")
    except ResultFileError as error:
        raise ResultFileError(f"{path}: is not written, for it could not be read again: {error}") from error
    replace_file(path, data)


def replace_file(path: Path, data: bytes) -> None:
    """Put `data` at `path`, making its folder, as one step. ResultFileError when that fails.

    Only a new name or a regular file is written: a device, a pipe or a link stays as it is.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.replace(path, data)
    except OSError as error:
        raise ResultFileError(
            f"{path}: cannot be written: {error.strerror or error}. "
            "What stood there before is unchanged; free space or name another place with -o."
        ) from error
