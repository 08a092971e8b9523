"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence


def grid(heading: Sequence[str], lines: Iterable[Sequence[str]], right: Container[int]) -> str:
    """Return a Markdown table of cells that are Markdown already; `right`: the columns set to the right."""
    marks = ["---:" if column in right else "---" for column in range(len(heading))]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (heading, marks, *lines))
