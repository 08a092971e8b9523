"""Result files in folders: which files are meant by a path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from gpubench.errors import UsageError
from gpubench.results.baselines import FOLDER as BASELINES
from gpubench.results.paths import SUFFIXES


def result_files(paths: Sequence[Path]) -> Iterator[tuple[Path, Path]]:
    """Yield (file, name below the path that led to it) for files as they are, and for what folders hold at any depth.

    In a folder what is named like a result counts, by name; copies kept as baselines and what begins with a dot do not.
    Links are not followed into other folders. UsageError for a path that is not there.
    """
    for path in paths:
        if not path.is_dir():
            if not path.exists():
                raise UsageError(f"{path}: there is no such file or folder.")
            yield path, Path(path.name)
            continue
        for file in sorted(path.rglob("*.json*")):
            below = file.relative_to(path)
            hidden = any(part.startswith(".") or part == BASELINES for part in below.parts)
            if file.name.endswith(SUFFIXES) and not hidden and file.is_file():
                yield file, below
