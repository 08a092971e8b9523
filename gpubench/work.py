"""What makes two records the same work: identical machine code with identical launches, on the same operands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_LISTS = (list, tuple)
_MAPPINGS = (dict, Mapping)  # a dict is told from the rest without asking the abstract class


def machine_code(kernel: Mapping[str, Any] | None) -> tuple[Any, ...] | None:
    """Return what a kernel's entry in a record says of its code and launches; None where it does not tell.

    The path of a source is left out: the same code may come from two checkouts.
    """
    found = kernel or {}
    digest, launches = found.get("cubin_sha256"), found.get("launches")
    if not isinstance(digest, str) or not digest or not launches:
        return None
    geometry = launches
    if isinstance(launches, _LISTS):
        geometry = [_without_source(launch) if isinstance(launch, _MAPPINGS) else launch for launch in launches]
    return digest, geometry, found.get("variant")


def _without_source(launch: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a launch that does not tell the path of its source."""
    found = dict(launch)
    found.pop("source", None)
    return found
