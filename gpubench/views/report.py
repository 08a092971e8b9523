"""A result as one HTML page that needs nothing else: no network, no other file, no script but its own.

The page's policy names its one script and its one style sheet by their hashes, so that nothing else can run or load,
whatever a hostile result holds; and every value is escaped all the same.
"""

from __future__ import annotations

import base64
import hashlib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

from gpubench.comparison import Comparison
from gpubench.model import ResultSet
from gpubench.views import comparison as comparison_view
from gpubench.views import report_data as data
from gpubench.views import text
from gpubench.views.charts.data import Point, is_simulated, points
from gpubench.views.charts.files import Kind, Wish, charts, comparison_charts, default_over
from gpubench.views.charts.sheets import Chart
from gpubench.views.report_details import case_details
from gpubench.views.report_svg import inline_charts

if TYPE_CHECKING:
    from jinja2 import Environment

SHEETS = 3
"""Sheets of one kind of chart in a report; its table has every case."""
COMPARED_ROWS = 2000

_KINDS: tuple[Kind, ...] = ("bandwidth", "ceiling", "speedup", "ladder", "profile", "scatter")
_ENOUGH = 10
"""Cases of an operator from which a profile and a scatter say something that the table does not."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart in the page: `svg` is markup of our own making, `caption` is not."""

    svg: Any
    caption: str
    anchor: str


def report_html(result: ResultSet, comparison: Comparison | None = None) -> str:
    """Return the page. With a comparison (of this result with an earlier one) it begins with what changed."""
    found = points(result)
    cases: dict[str, list[Point]] = {}
    for point in found:
        cases.setdefault(point.row.case, []).append(point)
    anchors = {case: f"case-{number}" for number, case in enumerate(cases, 1)}
    drawn, notes = _charts(result)
    wrong = data.problems(found, anchors)
    suite = data.shown(result.suite.get("name") or "suite")
    numbers = data.numbers_of(found)
    means = data.means(found)
    css, script = template_text("report.css"), template_text("report.js")
    return (
        templates()
        .get_template("report.html.j2")
        .render(
            title=f"gpubench: {suite} on {dict(data.overview(result, found))['device']}",
            subtitle=f"measured {data.shown(result.created)} by gpubench {data.shown(result.gpubench)}",
            policy=policy(css, script),
            style=own(css),
            script=own(script),
            simulated=is_simulated(found),
            overview=data.overview(result, found),
            means=means,
            means_over_numpy=data.has_speedups(means),
            worst=data.worst(found, anchors),
            behind=data.behind(result, anchors),
            problems=wrong[: data.PROBLEMS],
            problems_more=max(len(wrong) - data.PROBLEMS, 0),
            command=text.printable(shlex.join(result.command)) or "(left out of the result: --private)",
            comparison=_comparison(comparison) if comparison else None,
            charts=pictures(drawn, "c"),
            chart_notes=notes,
            filters=data.filters(found),
            columns=data.columns(numbers),
            rows=[data.table_row(point, anchors[point.row.case], numbers) for point in found],
            cases=[case_details(case, mine, anchors[case]) for case, mine in cases.items()],
            environment=list(data.flat({**result.environment, "suite": result.suite, "source": data.source(result)})),
            version=data.shown(result.gpubench),
        )
    )


def templates() -> Environment:
    """Return the pages' templates, which escape everything that is not marked as the project's own."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("gpubench.views"), autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True
    )


def template_text(name: str) -> str:
    """Return a file beside the templates as it is."""
    return resources.files("gpubench.views").joinpath("templates", name).read_text(encoding="utf-8")


def own(markup: str) -> Any:
    """Mark text of the project's own as markup, which the template leaves as it is."""
    from markupsafe import Markup

    return Markup(markup)  # our own files and charts, with what is foreign in them escaped


def policy(css: str, script: str | None = None) -> str:
    """Return the content policy of a page: this style sheet and this script alone (or none), and no network."""

    def digest(content: str) -> str:
        return base64.b64encode(hashlib.sha256(content.encode("utf-8")).digest()).decode("ascii")

    allowed = "'none'" if script is None else f"'sha256-{digest(script)}'"
    return (
        f"default-src 'none'; style-src 'sha256-{digest(css)}'; script-src {allowed}; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )


# --- Charts and comparison -------------------------------------------------------------------------------------------


def _charts(result: ResultSet) -> tuple[list[Chart], list[str]]:
    """Return the charts of the page, and a note for each kind that has more sheets than the page shows."""
    drawn: list[Chart] = []
    notes = []
    for kind in _KINDS:
        made = charts(result, Wish(kind, default_over(result), least=_ENOUGH))
        limit = SHEETS if kind in ("ceiling", "speedup") else len(made)
        drawn += made[:limit]
        if len(made) > limit:
            notes.append(
                f"The chart of {kind} has {len(made)} sheets, of which {limit} stand here; `gpubench plot` draws all."
            )
    return drawn, notes


def pictures(drawn: Sequence[Chart], prefix: str) -> list[Picture]:
    """Draw charts for a page; `prefix` keeps the ids of several groups apart."""
    svgs = inline_charts(drawn, prefix)
    return [
        Picture(own(svg), text.printable(chart.alt), f"{prefix}{number}-caption")
        for number, (svg, chart) in enumerate(zip(svgs, drawn, strict=True))
    ]


def _comparison(comparison: Comparison) -> dict[str, Any]:
    rows = comparison_view.ordered(comparison.rows, "ratio")
    cut = f"; the first {COMPARED_ROWS} of {len(rows)}" if len(rows) > COMPARED_ROWS else ""
    return {
        "heading": comparison_view.heading(comparison),
        "totals": comparison_view.totals(comparison),
        "charts": pictures(comparison_charts(comparison)[:SHEETS], "v"),
        "caption": f"Ratios of new over old, the one that slowed down most first{cut}",
        "rows": [
            {
                "case": data.shown(row.case),
                "contender": data.shown(row.contender),
                "old": text.quantity(row.old_us, "us"),
                "new": text.quantity(row.new_us, "us"),
                "ratio": text.MISSING if row.estimate is None else text.significant(row.estimate.ratio),
                "interval": comparison_view.interval(row),
                "verdict": row.verdict,
                "why": comparison_view.reason(row),
            }
            for row in rows[:COMPARED_ROWS]
        ],
    }
