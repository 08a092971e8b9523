"""Random cases beside other libraries, an operator a row: the part of docs/unseen.md that recorded results make.

python -m studies.unseen RESULT... --into docs/unseen.md
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpubench.model import ResultSet
from gpubench.views import text
from gpubench.views.charts.sheets import file_name
from gpubench.views.means import geometric
from studies.markdown import grid
from studies.measured import Line, lines

BEGIN, END = "<!-- unseen: begin (scripts/unseen writes this) -->", "<!-- unseen: end -->"
NEAR, FAR = 0.95, 0.80
"""A case is near the best library from the first on, and lost under the second: its time over ours."""
WORST = 5
"""Cases listed of each operator."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The cases of one operator, worst first, of all results."""

    operator: str
    found: tuple[Line, ...]

    @property
    def ratios(self) -> list[float]:
        """The best library's time over ours, worst first."""
        return [line.ours.versus_peer or 0.0 for line in self.found]

    def near(self, limit: float) -> float:
        """Return the share of the cases from a ratio on."""
        return sum(ratio >= limit for ratio in self.ratios) / len(self.found)


def standings(results: Sequence[ResultSet]) -> list[Standing]:
    """Return a standing an operator: over all cases of all results that another library has a time for, too."""
    groups: dict[str, list[Line]] = {}
    for line in (line for result in results for line in lines(result)):
        if line.ours.versus_peer:
            groups.setdefault(line.ours.operator, []).append(line)
    return [Standing(name, tuple(sorted(group, key=_ratio))) for name, group in groups.items()]


def _ratio(line: Line) -> float:
    return line.ours.versus_peer or 0.0


CHARTS = "charts/unseen"
"""Where the page finds the profiles."""


def section(results: Sequence[ResultSet]) -> str:
    """Return the page's part as Markdown: geometric means and shares by operator, then each one's profile and worst."""
    found = standings(results)
    parts = [_origin(results), grid(*_summary(found), range(1, 20))]
    for standing in found:
        head = ("case", "ours", "best library", "its time", "over the best", "of the ceiling", "variant")
        name = text.markdown(standing.operator)
        parts += [
            f"![Performance profile of {name} over {len(standing.found)} random cases: in which share of them each "
            f"library is within a factor of the fastest]({CHARTS}/{file_name('profile', standing.operator)}.svg)",
            f"{name}, the worst {min(WORST, len(standing.found))}:",
            grid(head, [_case(line) for line in standing.found[:WORST]], range(1, len(head) - 1)),
        ]
    return "\n\n".join(parts) + "\n"


def _summary(found: Sequence[Standing]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    names = list(dict.fromkeys(name for run in found for line in run.found for name in line.peers))
    head = (
        "operator",
        "cases",
        "over the best",
        f"{NEAR:.2f} and more",
        f"under {FAR:.2f}",
        "worst",
        "of the ceiling",
        *(f"over {text.markdown(name)}" for name in names),
    )
    return head, [(*_figures(run), *_means(run, names)) for run in found]


def _figures(one: Standing) -> tuple[str, ...]:
    shares = [line.ours.fraction for line in one.found if line.ours.fraction]
    mean = geometric(shares)
    return (
        text.markdown(one.operator),
        str(len(one.found)),
        text.quantity(geometric(one.ratios), "ratio"),
        text.percent(one.near(NEAR)),
        str(sum(ratio < FAR for ratio in one.ratios)),
        text.quantity(min(one.ratios), "ratio"),
        text.MISSING if mean is None else f"{text.percent(mean)} ({len(shares)})",
    )


def _means(one: Standing, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        ratios = [ratio for line in one.found if (ratio := line.over(name)) is not None]
        yield text.MISSING if not ratios else f"{text.quantity(geometric(ratios), 'ratio')} ({len(ratios)})"


def _case(line: Line) -> tuple[str, ...]:
    ours, best = line.ours, line.peers.get(line.ours.best_peer or "")
    return (
        text.markdown_code(ours.case),
        text.duration(ours.median_us or 0.0) + ("°" if ours.launch_bound else ""),
        text.markdown(ours.best_peer or text.MISSING),
        text.MISSING if best is None or best.median_us is None else text.duration(best.median_us),
        text.quantity(ours.versus_peer, "ratio"),
        text.MISSING if ours.fraction is None else text.percent(ours.fraction),
        text.markdown_code(ours.variant or text.MISSING),
    )


def _origin(results: Sequence[ResultSet]) -> str:
    """Say which runs these are: the device, the seeds, the date of each."""
    devices = dict.fromkeys(str(_block(result.environment, "device").get("name", "unknown")) for result in results)
    runs = [f"seed {_seeds(result)}, {text.markdown(result.created)}" for result in results]
    return (
        f"{text.markdown(', '.join(devices))}; {'; '.join(runs)}. *Over the best*: the fastest other library's time "
        "over ours, above 1 ours is faster; means are geometric. *Of the ceiling*: over the cases that a launch does "
        "not dominate, counted in brackets, as are the cases that a library takes. ° marks launch-bound times."
    )


def _seeds(result: ResultSet) -> str:
    seeds = _block(result.suite, "random").get("seeds", ())
    return ", ".join(dict.fromkeys(map(str, seeds))) if isinstance(seeds, Sequence) and seeds else "unknown"


def _block(data: object, key: str) -> dict[str, object]:
    found = data.get(key) if isinstance(data, dict) else None
    return found if isinstance(found, dict) else {}


def put(page: str, made: str) -> str:
    """Return the page with what stands between the two marks replaced. ValueError without marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{made}\n{END}{after}"
