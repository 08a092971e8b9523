"""Named baselines and the search for the result to compare with.

A baseline is a copy of a result file at `runs/<device>/baselines/<name>.json`, with the device's slug as for every
result (`paths.slug`), so that one name means another file on another device.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gpubench.errors import ResultFileError, UsageError
from gpubench.model import ResultSet
from gpubench.results.paths import FOLDER as RUNS
from gpubench.results.paths import SUFFIXES, slug
from gpubench.results.read import read
from gpubench.results.strict import shown
from gpubench.results.write import write

FOLDER = "baselines"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_STAMP = re.compile(r"-(\d{8}T\d{6}Z?)(?:-(\d+))?\.json(?:\.gz)?$")


@dataclass(frozen=True, slots=True)
class Baseline:
    """A saved baseline: its name, the slug of its device, and its file."""

    name: str
    device: str
    path: Path


def device_slug(result: ResultSet) -> str:
    """Return the slug of the device that a result was measured on."""
    device = result.environment.get("device")
    name = device.get("name") if isinstance(device, dict) else None
    return slug(name if isinstance(name, str) else "unknown")


def save(name: str, source: Path, root: Path, replace: bool = False) -> Path:
    """Copy the result at `source` to its place as the baseline `name` under `root` and return that place.

    The file is read and written again, so that only a sound one is kept. UsageError for a name that cannot be a file's
    or, unless `replace`, one that is taken.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{shown(name)!r} cannot name a baseline: use lower-case letters, digits, dot, hyphen and underscore."
        )
    result = read(source)
    path = root / RUNS / device_slug(result) / FOLDER / f"{name}.json"
    if path.exists() and not replace:
        raise UsageError(f"There is a baseline {name!r} already: {path}. --force replaces it.")
    write(result, path)
    return path


def saved(root: Path) -> list[Baseline]:
    """Return all baselines under `root`, by device and name."""
    files = sorted((root / RUNS).glob(f"*/{FOLDER}/*.json"))
    return [Baseline(file.stem, file.parent.parent.name, file) for file in files if file.is_file()]


def find(text: str, like: ResultSet, root: Path, besides: Path | None = None) -> Path:
    """Return the file that `text` stands for: a file, a folder (see `newest`), or the name of a saved baseline.

    like: the result to compare with it, which says the device and the suite. UsageError when there is none.
    """
    path = Path(text)
    if path.is_dir():
        return newest(path, like, besides)
    if path.exists():
        return path
    device = device_slug(like)
    ours = {baseline.name: baseline.path for baseline in saved(root) if baseline.device == device}
    if text in ours:
        return ours[text]
    others = sorted({baseline.device for baseline in saved(root) if baseline.name == text})
    if others:
        raise UsageError(f"The baseline {text!r} is of {', '.join(others)}, and the result is of {device}.")
    near = difflib.get_close_matches(text, ours, n=3) or list(ours)[:5]
    hint = f"Baselines of this device: {', '.join(near)}." if near else "No baseline of this device is saved."
    raise UsageError(f"{shown(text, 200)!r} is no file, no folder and no saved baseline. {hint}")


def alone(text: str, root: Path) -> Path:
    """Return the file that `text` stands for where no other result says the device: a file or a saved baseline.

    UsageError for a folder, for a name that no baseline has, and for one that several devices have.
    """
    path = Path(text)
    if path.is_dir():
        raise UsageError(f"{shown(text, 200)!r} is a folder: to compare two contenders of one result, name its file.")
    if path.exists():
        return path
    named = [baseline for baseline in saved(root) if baseline.name == text]
    if len(named) > 1:
        raise UsageError(f"Several devices have a baseline {text!r}: name the file, such as {named[0].path}.")
    if not named:
        near = difflib.get_close_matches(text, [baseline.name for baseline in saved(root)], n=3)
        hint = f"The nearest baselines: {', '.join(near)}." if near else "There is no baseline of that name."
        raise UsageError(f"{shown(text, 200)!r} is no file and no saved baseline. {hint}")
    return named[0].path


def newest(folder: Path, like: ResultSet, besides: Path | None = None) -> Path:
    """Return the newest result of the same device and suite in `folder`, or in its folders down to two levels.

    Newest by the time in the file's name. `besides`: a file that does not count (the new result itself). Files that
    are no results are passed over. UsageError when none fits.
    """
    suite = like.suite.get("name")
    excluded = None if besides is None else besides.resolve()
    for file in sorted(_candidates(folder), key=_age, reverse=True):
        if file.resolve() == excluded:
            continue
        try:
            found = read(file)
        except ResultFileError:
            continue
        if device_slug(found) == device_slug(like) and found.suite.get("name") == suite:
            return file
    raise UsageError(f"{folder}: holds no result of the suite {suite!r} on {device_slug(like)} to compare with.")


def _candidates(folder: Path) -> Iterator[Path]:
    for pattern in ("*", "*/*", "*/*/*"):
        for file in folder.glob(pattern):
            if not file.name.endswith(SUFFIXES):
                continue
            if file.is_file() and FOLDER not in file.relative_to(folder).parts:
                yield file


def _age(file: Path) -> tuple[str, int, str]:
    stamp = _STAMP.search(file.name)
    return (stamp[1], int(stamp[2] or 1), file.name) if stamp else ("", 0, file.name)
