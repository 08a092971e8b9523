"""Result files in folders: which files are meant by a path."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpubench.errors import UsageError
from gpubench.results.baselines import FOLDER as BASELINES
from gpubench.results.paths import SUFFIXES


def result_files(paths: Sequence[Path]) -> Iterator[tuple[Path, Path]]:
    """Yield (file, name below the path that led to it) for files as they are, and for what folders hold at any depth.

    In a folder what `listed` names counts. UsageError for a path that is not there.
    """
    for path in paths:
        if path.is_dir():
            for name in listed(path):
                yield path / name, Path(name)
        elif path.exists():
            yield path, Path(path.name)
        else:
            raise UsageError(f"{path}: there is no such file or folder.")


def listed(folder: Path) -> dict[str, tuple[int, int]]:
    """Return size and time of change (ns) of each file below a folder that is named like a result, by its name there.

    In the order of the names. Copies kept as baselines and what begins with a dot do not count; links to other folders
    are not followed, and a folder that cannot be read is passed over.
    """
    found: dict[str, tuple[int, int]] = {}
    waiting = [("", str(folder))]
    while waiting:
        before, place = waiting.pop()
        with contextlib.suppress(OSError), os.scandir(place) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                name = before + entry.name
                if entry.is_dir(follow_symlinks=False):
                    if entry.name != BASELINES:
                        waiting.append((f"{name}/", entry.path))
                elif entry.name.endswith(SUFFIXES) and entry.is_file():
                    state = entry.stat()
                    found[name] = (state.st_size, state.st_mtime_ns)
    return dict(sorted(found.items()))
