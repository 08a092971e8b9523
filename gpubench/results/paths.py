"""Where result files lie: `runs/<device>/<suite>-<UTC time>.json`. results/README.md tells the rule to people."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from gpubench.errors import UsageError
from gpubench.files import kind_name

FOLDER = "runs"
"""Under the folder that a command is started in."""
COMPACT_SUFFIX = ".json.gz"
SUFFIXES = (".json", COMPACT_SUFFIX)
"""How the names of results end, whole ones and compact ones."""
JOURNAL_SUFFIX = ".journal.jsonl"

STREAM = Path("-")
"""Stands for standard output among output files."""
_STREAMS = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


def slug(text: str) -> str:
    """Return a name for a file or folder: lower case, digits and single hyphens, at most 60 characters, never empty."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    return "-".join(words)[:60].strip("-") or "unnamed"


def default_path(suite: str, device: str, created: str, root: Path) -> Path:
    """Return the place of a new result under `root`; `created` is the ISO time of the run: 2026-01-31T10:00:00Z.

    A name that is taken gets -2, -3 ...
    """
    stamp = re.sub(r"[^0-9TZ]", "", created.split(".")[0].upper())
    folder = root / FOLDER / slug(device)
    stem = f"{slug(suite)}-{stamp}"
    path = folder / f"{stem}.json"
    number = 2
    while path.exists() or journal_path(path).exists():
        path = folder / f"{stem}-{number}.json"
        number += 1
    return path


def journal_path(result: Path) -> Path:
    """Return the place of the journal of a result: beside it."""
    return result.with_name(result.name.removesuffix(".json") + JOURNAL_SUFFIX)


def result_path(journal: Path) -> Path:
    """Return the place of the result that a journal belongs to (the inverse of `journal_path`)."""
    return journal.with_name(journal.name.removesuffix(JOURNAL_SUFFIX) + ".json")


def output_file(text: str) -> Path:
    """Return the file that an option such as -o names, STREAM for standard output. UsageError when it cannot be one.

    A name is free or a regular file's, and its folder can be made and written: all this is known before anything is
    measured. A device, a pipe or a link is never written over.
    """
    if text in _STREAMS:
        return STREAM
    if not text:
        raise UsageError("An output file has an empty name.")
    path = Path(text)
    if path == STREAM:  # ./-, a file
        path = path.absolute()
    try:
        kind = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        if text.endswith("/"):
            raise UsageError(f"{text}: is the name of a folder; name a file in it.") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{text}: cannot be written: {getattr(error, 'strerror', None) or error}.") from error
    else:
        if stat.S_ISDIR(kind):
            raise UsageError(f"{text}: is a folder; name a file in it.")
        if not stat.S_ISREG(kind):
            raise UsageError(f"{text}: is {kind_name(kind)}; only regular files are written, and - is standard output.")
    output_folder(str(path.parent))
    return path


def output_folder(text: str) -> Path:
    """Return the folder that an option names, there or to be made. UsageError when it cannot be made or written."""
    if not text:
        raise UsageError("An output folder has an empty name.")
    path = there = Path(text)
    try:
        while not there.exists() and not there.is_symlink() and there != there.parent:
            there = there.parent
        if not there.is_dir():
            raise UsageError(f"{text}: cannot be a folder: {there} is a file.")
    except (OSError, ValueError) as error:
        raise UsageError(f"{text}: cannot be written: {getattr(error, 'strerror', None) or error}.") from error
    if not os.access(there, os.W_OK | os.X_OK):
        raise UsageError(f"{text}: cannot be written: {there} may not be changed.")
    return path
