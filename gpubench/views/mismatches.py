"""Where an answer is wrong, in lines for a reader."""

from __future__ import annotations

from collections.abc import Mapping

from gpubench.model import Json


def lines(mismatches: Mapping[str, Json]) -> list[str]:
    """Return how many elements are wrong, the first of them, and the strip, however a foreign file wrote them."""
    first = mismatches.get("first")
    several = (
        [mismatch for mismatch in first if isinstance(mismatch, Mapping)] if isinstance(first, list | tuple) else []
    )
    told = [
        f"{'mismatch' if place else 'first mismatch'}: "
        + ", ".join(f"{key} {value}" for key, value in mismatch.items())
        for place, mismatch in enumerate(several)
    ]
    return [*told, *strip(mismatches)]


def strip(mismatches: Mapping[str, Json]) -> list[str]:
    """Return the two lines that show where over the whole output the wrong elements lie."""
    count, of = mismatches.get("count"), mismatches.get("of")
    return [f"where: {mismatches.get('where')} ({count} of {of} elements)", f"|{mismatches.get('strip')}|  x wrong"]
