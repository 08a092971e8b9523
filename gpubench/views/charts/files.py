"""The kinds of charts in one table, and how a set of them becomes files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gpubench.comparison import Comparison
from gpubench.errors import UsageError
from gpubench.model import ResultSet
from gpubench.names import COMPACT, CUB, CUPY, INDUCTOR, JAX, NUMPY, TORCH
from gpubench.views.charts.sheets import Chart
from gpubench.views.style import PAPER_STYLE, Format, Page, encoded, on_page, styled

Kind = Literal["bandwidth", "ceiling", "speedup", "ladder", "samples", "profile", "scatter"]

KINDS: tuple[Kind, ...] = ("bandwidth", "ceiling", "speedup", "ladder", "samples", "profile", "scatter")
"""What one result gives; `compare` takes two."""


LEAST_HEIGHT = 0.8
"""How much of the height that a chart takes by itself it must have, for its words to stay apart."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What to draw of a result: `over` is the contender of the speed-up; `whole` the result before it was filtered.

    least: cases without which a profile or a scatter is not drawn.
    """

    kind: Kind
    over: str = NUMPY
    whole: ResultSet | None = None
    least: int = 2


_OVER = (NUMPY, TORCH, CUPY, INDUCTOR, CUB, JAX)


def default_over(result: ResultSet) -> str:
    """Return the contender that speed-ups are over when none is asked for: numpy, or the first other library there."""
    there = {record.contender for record in result.records}
    return next((name for name in _OVER if name in there), NUMPY)


def charts(result: ResultSet, wish: Wish) -> list[Chart]:
    """Return the charts of one kind; none when the result has nothing to show in it."""
    return _MAKERS[wish.kind](result, wish)


def _bandwidth(result: ResultSet, wish: Wish) -> list[Chart]:
    from gpubench.views.charts import bandwidth

    del wish
    return bandwidth.charts(result)


def _ceiling(result: ResultSet, wish: Wish) -> list[Chart]:
    from gpubench.views.charts import ceiling

    del wish
    return ceiling.charts(result)


def _speedup(result: ResultSet, wish: Wish) -> list[Chart]:
    from gpubench.views.charts import speedup

    return speedup.charts(result, wish.over, speedup.base_medians(wish.whole or result, wish.over))


def _ladder(result: ResultSet, wish: Wish) -> list[Chart]:
    from gpubench.views.charts import ladder

    del wish
    return ladder.charts(result)


def _samples(result: ResultSet, wish: Wish) -> list[Chart]:
    from gpubench.views.charts import samples

    del wish
    if COMPACT in result.extra:
        raise UsageError("A compact result has lost its samples: draw them from the whole file.")
    return samples.charts(result)


def _profile(result: ResultSet, wish: Wish) -> list[Chart]:
    from gpubench.views.charts import profile

    return profile.charts([result], wish.least)


def _scatter(result: ResultSet, wish: Wish) -> list[Chart]:
    from gpubench.views.charts import scatter

    return scatter.charts(result, wish.least)


_MAKERS: dict[Kind, Callable[[ResultSet, Wish], list[Chart]]] = {
    "bandwidth": _bandwidth,
    "ceiling": _ceiling,
    "speedup": _speedup,
    "ladder": _ladder,
    "samples": _samples,
    "profile": _profile,
    "scatter": _scatter,
}


def comparison_charts(comparison: Comparison) -> list[Chart]:
    """Return the forest plot of a comparison."""
    from gpubench.views.charts import compare

    return compare.charts(comparison)


def joint_charts(results: Sequence[ResultSet]) -> list[Chart]:
    """Return the performance profiles of several results together."""
    from gpubench.views.charts import profile

    return profile.charts(results)


def prefixed(charts_: Sequence[Chart], prefix: str) -> list[Chart]:
    """Return the charts with `prefix-` before their names, where several results go to one folder."""
    return [replace(chart, name=f"{prefix}-{chart.name}") for chart in charts_]


def files(
    charts_: Sequence[Chart], formats: Sequence[Format], asked: Page | None = None
) -> Iterator[tuple[str, bytes]]:
    """Draw the charts one by one on the page asked for, and yield the name and the bytes of each file.

    UsageError for a height that is too small for what is on a chart.
    """
    page = asked or Page()
    with styled(**(PAPER_STYLE if page.bare else {})), on_page(page):
        for chart in charts_:
            figure = chart.draw()
            width, height = figure.get_size_inches()
            if page.height is not None:
                if page.height < LEAST_HEIGHT * height:
                    least = f"{width:g}x{LEAST_HEIGHT * height:.1f}"
                    raise UsageError(f"--size: {chart.name} needs at least {least} inches, or a width alone.")
                figure.set_size_inches(width, page.height)
            for form in formats:
                yield f"{chart.name}.{form}", encoded(figure, form, page.title or chart.title)
