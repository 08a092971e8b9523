"""Indices of the user's own: one-dimensional npy files beside the suite that names them, read with care.

The suite's folder is told to the worker processes by an environment variable, so that a case, and its record, hold
the file's name and hash and no path. A file is looked for in these folders, the last one told first. Links that
lead out of the folder are refused.
"""

from __future__ import annotations

import functools
import hashlib
import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpubench.errors import ParameterError
from gpubench.files import read_bounded

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

VARIABLE = "GPUBENCH_DATA"
MOST_BYTES = 1 << 31


@dataclass(frozen=True, slots=True)
class Facts:
    """What a case keeps of a file. `most`: how often the commonest index is there."""

    sha256: str
    count: int
    least: int
    largest: int
    distinct: int
    most: int


def tell_folder(folder: Path) -> None:
    """Look for files in this folder first, here and in processes that start from now on."""
    told = [str(folder.absolute()), *(path for path in os.environ.get(VARIABLE, "").split(os.pathsep) if path)]
    os.environ[VARIABLE] = os.pathsep.join(dict.fromkeys(told))


def folders() -> list[Path]:
    """Return the folders told, the last one first."""
    return [Path(path) for path in os.environ.get(VARIABLE, "").split(os.pathsep) if path]


def facts_of(file: str) -> Facts:
    """Read a file and return what it holds. ParameterError where it is not there, or no list of indices."""
    path = _inside(file)
    stat = path.stat()
    return _facts(path, file, stat.st_mtime_ns, stat.st_size)


def load(file: str, sha256: str) -> Array:
    """Return the int64 indices of the file with this hash. ValueError where none of the folders has it any more."""
    for folder in folders():
        path = folder / file
        if path.is_file() and path.resolve().is_relative_to(folder.resolve()):
            array, digest = _read(path, file)
            if digest == sha256:
                return array
    raise ValueError(f"the indices {file} with sha256 {sha256[:12]}... are in no folder of a suite; have they changed?")


def _inside(file: str) -> Path:
    given = Path(file)
    if given.is_absolute() or ".." in given.parts or "\0" in file:
        raise ParameterError("indices.file", f"must name a file in the suite's folder, or below it; found {file!r}")
    for folder in folders():
        path = folder / given
        if path.exists():
            if not path.resolve().is_relative_to(folder.resolve()):
                raise ParameterError("indices.file", f"{file} leads out of the suite's folder")
            return path
    raise ParameterError("indices.file", f"there is no file {file} in the suite's folder")


@functools.lru_cache(maxsize=64)
def _facts(path: Path, file: str, changed: int, size: int) -> Facts:
    import numpy as np

    del changed, size  # part of what is remembered
    array, digest = _read(path, file)
    if not array.size:
        return Facts(digest, 0, 0, -1, 0, 0)
    counts = np.unique(array, return_counts=True)[1]
    return Facts(digest, array.size, int(array.min()), int(array.max()), int(counts.size), int(counts.max()))


def _read(path: Path, file: str) -> tuple[Array, str]:
    """Return the indices as int64, and the hash of the file's bytes. ParameterError for anything else than integers."""
    import numpy as np

    try:
        data = read_bounded(path, MOST_BYTES)
    except OSError as error:
        raise ParameterError("indices.file", f"{file} cannot be read: {error.strerror}") from None
    if len(data) > MOST_BYTES:
        raise ParameterError("indices.file", f"{file} has more than {MOST_BYTES:,} bytes")
    try:
        array = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False, max_header_size=4096)
    except (ValueError, EOFError, OverflowError, MemoryError) as error:
        reason = str(error).splitlines()[0]
        raise ParameterError("indices.file", f"{file} is no npy file of numbers: {reason}") from None
    if array.ndim != 1 or array.dtype.kind not in "iu" or array.dtype.itemsize > 8:
        found = f"{array.dtype} {array.shape}"
        raise ParameterError("indices.file", f"{file} must hold integers along one dim; found {found}")
    if array.dtype.kind == "u" and array.size and int(array.max()) > 2**63 - 1:
        raise ParameterError("indices.file", f"{file} holds numbers beyond 2^63 - 1")
    return array.astype(np.int64), hashlib.sha256(data).hexdigest()
