"""What kernels moved and computed, as ncu counted it, for the claim that merged dims raise bandwidth and save work."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from gpubench.model import Json
from gpubench.views import text
from studies.markdown import grid

BESIDE = (
    ("gpubench:uncollapsed", "gpubench:auto_pytorch"),
    ("gpubench:small_index", "gpubench:small_index_multiplied"),
    ("gpubench:large_index", "gpubench:large_index_multiplied"),
)
"""Before and after: dims as they are and merged; remainders and multiplications."""


COUNTS = "seeds.counts"
"""The file beside a result in which scripts/dram_bytes.py left its counts."""


def counts_beside(result: Path) -> dict[str, Json]:
    """Return what was counted beside a result, nothing where no such file is. ValueError if it is damaged."""
    path = result.with_name(COUNTS)
    found = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    if not isinstance(found, dict):
        raise ValueError(f"{path}: no counts by case; make them anew by scripts/dram_bytes.py --json")
    return found


def counted(counts: Mapping[str, Json]) -> str | None:
    """Return the table of DRAM bytes and executed instructions, by case and pair; None where nothing was counted.

    counts: case -> contender -> {read, written, instructions}: bytes, and instructions of all warps.
    """
    lines = []
    for case, contenders in counts.items():
        for before, after in BESIDE:
            found = [contenders.get(name) if isinstance(contenders, Mapping) else None for name in (before, after)]
            numbers = [_numbers(entry) for entry in found if isinstance(entry, Mapping)]
            if len(numbers) == 2:
                lines.append((text.markdown_code(case), *_cells((before, after), *numbers)))
    heading = ("case", "before", "after", "DRAM bytes before", "after", "instructions before", "after", "saved")
    return grid(heading, lines, right=(3, 4, 5, 6, 7)) if lines else None


def _numbers(one: Mapping[str, Json]) -> tuple[float, float]:
    """Return bytes moved and instructions. ValueError where the file does not have them."""
    found = [one.get(key) for key in ("read", "written", "instructions")]
    read, written, instructions = (float(value) for value in found if isinstance(value, int | float))
    return read + written, instructions


def _cells(names: tuple[str, str], before: tuple[float, float], after: tuple[float, float]) -> tuple[str, ...]:
    moved = tuple(f"{number / 1e6:.2f} MB" for number in (before[0], after[0]))
    done = tuple(f"{number / 1e6:.3f} M" for number in (before[1], after[1]))
    saved = text.percent(1 - after[1] / before[1])
    return (*(text.markdown_code(name) for name in names), *moved, *done, saved)
