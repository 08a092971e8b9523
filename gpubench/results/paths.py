"""Where result files lie: `runs/<device>/<suite>-<UTC time>.json`. results/README.md tells the rule to people."""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = "runs"
"""Under the folder that a command is started in."""
JOURNAL_SUFFIX = ".journal.jsonl"


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
