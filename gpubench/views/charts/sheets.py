"""A chart before it is drawn: its file name, what a screen reader says of it, and how to draw it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LONGEST_NAME = 90


@dataclass(frozen=True, slots=True)
class Chart:
    """One sheet. `name` is its file's name without the ending; `draw` must be called inside `style.styled`."""

    name: str
    title: str
    alt: str
    draw: Callable[[], Figure]


def numbered(name: str, number: int) -> str:
    """Return the name of the sheet with this number, counted from 1: the first has the plain name."""
    return name if number == 1 else f"{name}-{number}"


def file_name(prefix: str, foreign: str) -> str:
    """Return `prefix-foreign` fit to be a file's name on any system, the same for the same strings.

    A slash becomes a hyphen. Where more had to be changed or cut, a short hash keeps different names different.
    """
    plain = foreign.replace("/", "-")
    safe = re.sub(r"[^A-Za-z0-9.,=_-]+", "-", plain).strip("-.")[:_LONGEST_NAME]
    if safe != plain:
        digest = hashlib.sha256(foreign.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        safe = f"{safe}-{digest}" if safe else digest
    return f"{prefix}-{safe}"
