"""Keeping the machine's user out of records: messages of other programs name files by their whole path."""

from __future__ import annotations

import re

_FOLDER = r"[^\s/:;,'\"()<>\[\]]+/"
_FOLDERS = re.compile(rf"(?<![\w.~/@+-])(?:~\w*/(?:{_FOLDER})*|/(?:{_FOLDER})+)")


def without_paths(text: str) -> str:
    """Return a message in which each absolute path is cut to its last name: `/home/me/scan.py:3` is `scan.py:3`."""
    return _FOLDERS.sub("", text)
