#!/usr/bin/env python3
"""Time index_add's `auto` along duplicates, row widths and numbers of indices, and draw it: is there a cliff?

    scripts/index_add_sweeps.py cuda:0 --processes 14 --out sweeps.jsonl
    scripts/index_add_sweeps.py --draw sweeps.jsonl -o docs/charts/sweeps/index_add.svg

Prints, for each line, the largest step between neighbours: by how much their times differ beyond what the bytes of
their touched sectors explain, which the ceiling counts (docs/index_add.md). All float32, cold, as `gpubench run` times.
Row widths share 2^25 elements of the source among as many rows as there are indices.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import random_speed  # noqa: E402

from gpubench.model import Case  # noqa: E402
from gpubench.operators import OPERATORS  # noqa: E402
from gpubench.operators.hard import make_case  # noqa: E402
from gpubench.operators.sectors import touched_bytes  # noqa: E402
from gpubench.views import style  # noqa: E402
from studies.warming import warm  # noqa: E402

PATTERNS = ("uniform", "zipf", "half_same")
LOOKS = (("o", "#0072B2"), ("s", "#D55E00"), ("^", "#007A5E"))
TITLES = {
    "duplicates": "2^20 indices, each place named so often",
    "row bytes": "rows that hold 2^25 elements together",
    "indices, single": "single elements into 2^20 places",
    "indices, rows": "rows of 128 bytes into 2^18 places",
}


@dataclass(frozen=True, slots=True)
class Point:
    """One case of a sweep: of which line, where along it, and its params."""

    sweep: str
    line: str
    x: int
    shape: tuple[int, ...]
    indices: int
    pattern: Any

    @property
    def case(self) -> Case:
        """The case."""
        params = {"shape": list(self.shape), "indices": self.indices, "pattern": self.pattern}
        return make_case(OPERATORS["index_add"], "float32", params)


def points() -> list[Point]:
    """Return all points, line by line."""
    found = []
    for line, shape in (("rows of 128", (2**20, 128)), ("single elements", (2**20,))):
        found += [
            Point("duplicates", line, 2**k, shape, 2**20, {"duplicates": 2**k})
            for k in (0, 1, 2, 3, 4, 6, 8, 10, 12, 14, 16)
        ]
    for pattern in PATTERNS:
        for k in range(15):
            rows, width = 2 ** (25 - k), 2**k
            shape = (rows, width) if width > 1 else (rows,)
            found.append(Point("row bytes", pattern, 4 * width, shape, rows, pattern))
        found += [Point("indices, single", pattern, 2**k, (2**20,), 2**k, pattern) for k in range(4, 25)]
        found += [Point("indices, rows", pattern, 2**k, (2**18, 32), 2**k, pattern) for k in range(4, 24)]
    return found


def measure(spec: str, processes: int, out: Path) -> None:
    """Time all points, and write a JSON line each."""
    todo = points()
    warm(spec, inductor=False, cases=[point.case for point in todo], processes=processes)
    bench = random_speed.Bench(spec, [])
    with out.open("w", encoding="utf-8") as file:
        for point in todo:
            found = bench.time(point.case)
            row = {
                "sweep": point.sweep,
                "line": point.line,
                "x": point.x,
                "us": found["us"]["gpubench"],
                "bytes": sum(touched_bytes(OPERATORS[point.case.operator].problem(point.case))),
                "variant": found["variant"],
            }
            print(json.dumps(row), file=file, flush=True)


def steps(rows: Sequence[dict[str, Any]]) -> list[float]:
    """Return for each pair of neighbours the ratio of their times beyond what their bytes explain, at least 1."""
    found = []
    for left, right in itertools.pairwise(rows):
        growth, explained = right["us"] / left["us"], right["bytes"] / left["bytes"]
        low, high = min(1.0, explained), max(1.0, explained)
        found.append(max(growth / high, low / growth, 1.0))
    return found


def lines_of(rows: Sequence[dict[str, Any]]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Return the points by sweep and line."""
    lines: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        lines.setdefault((row["sweep"], row["line"]), []).append(row)
    return lines


def report(rows: Sequence[dict[str, Any]]) -> None:
    """Print the largest step of each line."""
    for (sweep, line), there in lines_of(rows).items():
        found = steps(there)
        at = found.index(max(found))
        pair = f"{there[at]['x']} {there[at]['us']:.1f} us, {there[at + 1]['x']} {there[at + 1]['us']:.1f} us"
        print(f"{sweep:16} {line:16} largest step {max(found):.2f}: {pair}")


def draw(rows: Sequence[dict[str, Any]], target: Path) -> None:
    """Draw a panel for each sweep, a line for each pattern."""
    from matplotlib import pyplot
    from matplotlib.ticker import FuncFormatter, NullFormatter

    with style.styled():
        figure, axes = pyplot.subplots(2, 2, figsize=(style.WIDTH, 6.4), layout="constrained")
        for axis, (sweep, title) in zip(axes.flat, TITLES.items(), strict=True):
            marks = iter(LOOKS)
            for (name, line), there in lines_of(rows).items():
                if name != sweep:
                    continue
                mark, colour = next(marks)
                x, us = [row["x"] for row in there], [row["us"] for row in there]
                axis.plot(x, us, marker=mark, color=colour, markersize=4, linewidth=1, label=line)
            axis.set_xscale("log", base=2)
            axis.set_yscale("log")
            axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"2^{round(math.log2(value))}"))
            axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.yaxis.set_minor_formatter(NullFormatter())
            axis.set_title(title, loc="left", fontsize=9)
            axis.set_xlabel(sweep)
            axis.set_ylabel("microseconds")
            if axis.lines:
                axis.legend(frameon=False, fontsize=8)
        form: style.Format = "png" if target.suffix == ".png" else "svg"
        drawn = style.encoded(figure, form, "index_add along duplicates, row widths and numbers of indices")
        pyplot.close(figure)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(drawn)


def main() -> int:
    """Measure, or draw what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("device", nargs="?", help="measure there")
    parser.add_argument("--processes", type=int, default=1, help="that compile at first")
    parser.add_argument("--out", type=Path, default=Path("sweeps.jsonl"), help="where the points go")
    parser.add_argument("--draw", type=Path, default=None, help="points to draw")
    parser.add_argument("-o", dest="chart", type=Path, default=Path("sweeps.svg"))
    options = parser.parse_args()
    if (options.device is None) == (options.draw is None):
        parser.error("name a device to measure on, or --draw a file of points")
    if options.device is not None:
        measure(options.device, options.processes, options.out)
    source = options.out if options.draw is None else options.draw
    rows = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]
    report(rows)
    if options.draw is not None:
        draw(rows, options.chart)
    return 0


if __name__ == "__main__":
    sys.exit(main())
