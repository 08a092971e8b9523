"""`gpubench plot`: draw charts of results into files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from gpubench.cli import output
from gpubench.cli.choosing import chosen
from gpubench.cli.options import Filters, OutputFolder, filter_options, results_argument, split_commas
from gpubench.errors import UsageError

if TYPE_CHECKING:
    from gpubench.model import ResultSet
    from gpubench.views.charts.files import Kind
    from gpubench.views.charts.sheets import Chart

KINDS = ("bandwidth", "ceiling", "speedup", "ladder", "samples", "profile", "scatter", "compare")
DEFAULT = ("bandwidth", "ceiling", "speedup", "ladder")
JOINT = ("profile", "compare")
"""Kinds that are drawn once, of all results."""
FORMATS = ("svg", "png", "pdf")
MOST_SAMPLES = 24
"""Charts of samples drawn without asking for each case by name."""


PAPER_WIDTH = 7.0


def page_size(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[float, float | None] | None:
    """Read `7` or `7x5`: inches."""
    del context, parameter
    if value is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(?:x(\d+(?:\.\d+)?))?", value)
    sizes = [float(part) for part in found.groups() if part] if found else []
    if not sizes or not 5 <= sizes[0] <= 40 or not all(2 <= size <= 60 for size in sizes):
        raise click.BadParameter(f"{value!r} is no size in inches such as 7 or 7x5; the least width is 5")
    return sizes[0], sizes[1] if len(sizes) > 1 else None


HELP = """Draw charts of each RESULT into DIR, and print the names of the files.

\b
bandwidth  GB/s: a curve over bytes for each sweep over sizes, a row for every other case, with ceilings
ceiling    the share of the measured ceiling, a row a case
speedup    over --over, a row a case, with the geometric mean
ladder     the variants of an operator on one case, from naive to best
profile    performance profile: in which share of the cases a contender is within a factor of the fastest
scatter    each case's time over the least that the measured ceiling allows
samples    every sample of a case, their distribution, and the SM clock
compare    what changed between two results (OLD NEW), with verdicts

The same input gives the same files, byte for byte. Of several results each file is named after its own first;
profiles are drawn over all of them together.
"""


@click.command(help=HELP)
@results_argument
@click.option("-o", "folder", metavar="DIR", type=OutputFolder(), required=True, help="Write here.")
@click.option(
    "--format",
    "formats",
    multiple=True,
    callback=split_commas,
    metavar="NAMES",
    help="svg (the default), png or pdf; several separated by commas.",
)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    metavar="KIND",
    help="bandwidth, ceiling, speedup, ladder (these four without the option), samples, profile, scatter, compare. "
    "ladder=OPERATOR and samples=CASE choose one; repeat for several.",
)
@click.option(
    "--title", metavar="TEXT", help="Write this over the charts in place of their own titles; empty for none."
)
@click.option(
    "--size",
    callback=page_size,
    metavar="WIDTH[xHEIGHT]",
    help="Inches, such as 7 or 7x5; without it 8.64 wide, and as high as the chart needs.",
)
@click.option("--dpi", type=click.IntRange(50, 1200), metavar="N", help="Dots an inch of PNG files; 144 without it.")
@click.option(
    "--style",
    "look",
    type=click.Choice(("page", "paper")),
    default="page",
    show_default=True,
    help="page: complete in itself. paper: 7 inches wide, finer lines, 300 dpi, and neither title nor notes, which go "
    "into the file's metadata for you to write the caption from.",
)
@click.option("--over", metavar="CONTENDER", help="What speedup is over: numpy where it was run, else torch, cupy ...")
@filter_options
def command(
    results: tuple[Path, ...],
    folder: Path,
    formats: tuple[str, ...],
    kinds: tuple[str, ...],
    over: str | None,
    title: str | None,
    size: tuple[float, float | None] | None,
    dpi: int | None,
    look: str,
    filters: Filters,
) -> None:
    """Draw the charts that were asked for; `HELP` is what a user reads."""
    from gpubench.views.charts.files import files, joint_charts, prefixed
    from gpubench.views.style import Format, Page

    width, height = size or (PAPER_WIDTH if look == "paper" else Page().width, None)
    page = Page(width, height, title, look == "paper", dpi)
    _require(formats, FORMATS, "format")
    wishes = _wishes(kinds)
    contents = _read(results)
    if over is not None:
        _require_contender(over, contents)
    charts: list[Chart] = []
    for path, whole in zip(results, contents, strict=True):
        kept = chosen(whole, filters)
        mine = [chart for kind, what in wishes if kind not in JOINT for chart in _charts(kept, whole, kind, what, over)]
        charts += prefixed(mine, _stem(path, results)) if len(results) > 1 else mine
    if any(kind == "profile" for kind, _ in wishes):
        charts += joint_charts([chosen(result, filters) for result in contents])
    if any(kind == "compare" for kind, _ in wishes):
        charts += _compared(results, [chosen(result, filters) for result in contents])
    if not charts:
        raise UsageError("There is nothing to draw: no case has the figures that these charts show.")
    wanted = cast("tuple[Format, ...]", formats or ("svg",))
    _write(folder, files(_unique(charts), wanted, page))


def _wishes(kinds: Sequence[str]) -> list[tuple[str, str | None]]:
    """Return each kind asked for with its operand: ("samples", "cumsum/64/...")."""
    found = []
    for given in kinds or DEFAULT:
        whole = [(given, None)] if "=" in given else [(kind.strip(), None) for kind in given.split(",")]
        for name, _ in whole:
            kind, mark, operand = name.partition("=")
            _require([kind], KINDS, "kind of chart")
            if mark and kind not in ("samples", "ladder"):
                raise UsageError(f"{kind} takes no operand; samples=CASE and ladder=OPERATOR do.")
            found.append((kind, operand if mark else None))
    return list(dict.fromkeys(found))


def _require(given: Iterable[str], allowed: Sequence[str], what: str) -> None:
    for name in given:
        if name not in allowed:
            raise UsageError(f"There is no {what} {name!r}; there are {', '.join(allowed)}.")


def _require_contender(over: str, results: Sequence[ResultSet]) -> None:
    """UsageError, with the nearest names, when none of the results has the contender that --over names."""
    import difflib

    names = list(dict.fromkeys(record.contender for result in results for record in result.records))
    if over not in names:
        near = difflib.get_close_matches(over, names, n=3) or names[:5]
        raise UsageError(f"There is no record of {over!r} to be over. The nearest: {', '.join(near)}.")


def _read(paths: Sequence[Path]) -> list[ResultSet]:
    from gpubench.results.read import read

    return [read(path) for path in paths]


def _bare(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".json")


def _stem(path: Path, paths: Sequence[Path]) -> str:
    """Return the name of a result for the files of its charts: its own, with its folder's where two are alike."""
    from gpubench.views.charts.sheets import file_name

    bare = _bare(path)
    same = [other for other in paths if _bare(other) == bare]
    name = bare if len(same) == 1 else f"{path.parent.name}-{bare}"
    if [other.parent.name for other in same].count(path.parent.name) > 1:
        name = f"{paths.index(path) + 1}-{name}"
    return file_name("", name).removeprefix("-")


def _charts(kept: ResultSet, whole: ResultSet, kind: str, what: str | None, over: str | None) -> list[Chart]:
    from gpubench.views.charts.files import Wish, charts, default_over

    over = over or default_over(whole)
    if kind == "speedup" and over not in {record.contender for record in whole.records}:
        output.report(f"speedup: no record of {over!r} is in the result; --over names another contender.")
        return []
    made = charts(_narrowed(kept, kind, what), Wish(cast("Kind", kind), over, whole))
    if not made:
        output.report(f"{kind}: not drawn, as no case has the figures that it shows.")
    if kind == "samples" and what is None and len(made) > MOST_SAMPLES:
        raise UsageError(
            f"That would be {len(made)} charts of samples: name the case (--kind samples=CASE) or narrow with -k."
        )
    return made


def _narrowed(kept: ResultSet, kind: str, what: str | None) -> ResultSet:
    """Return the records of the case or operator that a wish names."""
    if what is None:
        return kept
    if kind == "ladder":
        return chosen(kept, Filters(operators=(what,)))
    records = tuple(record for record in kept.records if record.case.id == what)
    if not records:
        import difflib

        names = list(dict.fromkeys(record.case.id for record in kept.records))
        near = difflib.get_close_matches(what, names, n=3, cutoff=0.4) or names[:3]
        raise UsageError(f"There is no case {what!r}. The nearest: {', '.join(near)}.")
    return replace(kept, records=records)


def _compared(paths: Sequence[Path], contents: Sequence[ResultSet]) -> list[Chart]:
    from gpubench.analysis.compare import Options, compare
    from gpubench.views.charts.files import comparison_charts

    if len(contents) != 2:
        raise UsageError(f"compare takes two results, OLD and NEW; found {len(contents)}.")
    old, new = contents
    return comparison_charts(compare(old, new, Options(old=paths[0].name, new=paths[1].name)))


def _unique(charts: Sequence[Chart]) -> list[Chart]:
    """Give charts whose names would be one file (on systems that take A for a, too) a number."""
    seen: dict[str, int] = {}
    found = []
    for chart in charts:
        key = chart.name.lower()
        seen[key] = seen.get(key, 0) + 1
        found.append(chart if seen[key] == 1 else replace(chart, name=f"{chart.name}~{seen[key]}"))
    return found


def _write(folder: Path, made: Iterable[tuple[str, bytes]]) -> None:
    from gpubench.results.write import replace_file

    for name, data in made:
        replace_file(folder / name, data)
        output.write(str(folder / name))
