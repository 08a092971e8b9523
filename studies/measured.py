"""Our kernels beside other libraries, a row a case: the tables of the README and of docs/measured.md.

Every figure comes from a result; nothing is written by hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from gpubench.model import ResultSet
from gpubench.names import AUTO, TRUSTED, is_peer
from gpubench.views import text
from gpubench.views.means import counted, geometric, means
from gpubench.views.rows import OF_CEILING, Row, rows
from studies.markdown import grid

CONTENDER = AUTO
"""Whose times the others are held against."""

NOTE = (
    f"Medians of cold launches of one run. *Of the ceiling*: {OF_CEILING}; a mean is over the cases that have one, "
    "counted in brackets. *Over the best*: the best other library's time over ours; above 1 ours is faster. Times "
    "marked ° are launch-bound: most of them is the launch, not the kernel, and they have no share of the ceiling. "
    "Those marked † are inaccurate: the answer is beyond the error that ours are allowed."
)


@dataclass(frozen=True, slots=True)
class Line:
    """One case: our row, and the row of each other library that has a time."""

    ours: Row
    peers: dict[str, Row]

    def over(self, peer: str) -> float | None:
        """Return a library's time over ours; None without one."""
        other = self.peers.get(peer)
        return other.median_us / self.ours.median_us if other and other.median_us and self.ours.median_us else None


@dataclass(frozen=True, slots=True)
class Summary:
    """One operator of a result: geometric means over its cases, how many there are, and how many a peer wins."""

    operator: str
    cases: int
    of_ceiling: float | None
    shares: int
    over_best: float | None
    over: dict[str, float]
    slower: int


def lines(result: ResultSet) -> list[Line]:
    """Return a line a case that our contender has a time for, in the order of the file."""
    found = [row for row in rows(result) if row.status in TRUSTED and row.median_us and not row.simulated]
    ours = {row.case: row for row in found if row.contender == CONTENDER}
    peers: dict[str, dict[str, Row]] = {case: {} for case in ours}
    for row in found:
        if row.case in ours and is_peer(row.contender):
            peers[row.case][row.contender] = row
    return [Line(row, peers[case]) for case, row in ours.items()]


def peers_of(result: ResultSet) -> list[str]:
    """Return the other libraries that have a time beside ours, in the order of the file."""
    return list(dict.fromkeys(name for line in lines(result) for name in line.peers))


def summaries(result: ResultSet) -> list[Summary]:
    """Return a summary an operator."""
    return [_summary(operator, tuple(group)) for operator, group in _by_operator(lines(result))]


def _by_operator(found: Sequence[Line]) -> Iterable[tuple[str, Iterable[Line]]]:
    order = list(dict.fromkeys(line.ours.operator for line in found))
    return groupby(sorted(found, key=lambda line: order.index(line.ours.operator)), lambda line: line.ours.operator)


def _summary(operator: str, group: Sequence[Line]) -> Summary:
    (own,) = means([line.ours for line in group])
    names = dict.fromkeys(name for line in group for name in line.peers)
    ratios = {name: [ratio for line in group if (ratio := line.over(name))] for name in names}
    over = {name: value for name, found in ratios.items() if (value := geometric(found)) is not None}
    slower = sum(1 for line in group if line.ours.versus_peer is not None and line.ours.versus_peer < 1)
    return Summary(operator, len(group), own.of_ceiling, own.shares, own.versus_peer, over, slower)


def summary_table(result: ResultSet, source: str) -> str:
    """Return the geometric means by operator as a Markdown table under a line that names the run."""
    names = peers_of(result)
    head = (
        "operator",
        "cases",
        "of the ceiling",
        "over the best library",
        *(f"over {text.markdown(n)}" for n in names),
    )
    body = [
        (
            text.markdown(summary.operator),
            str(summary.cases),
            counted(summary.of_ceiling, "fraction", summary.shares),
            text.quantity(summary.over_best, "ratio"),
            *(text.quantity(summary.over.get(name), "ratio") for name in names),
        )
        for summary in summaries(result)
    ]
    return f"{_origin(result, source)}\n\n{grid(head, body, range(1, len(head)))}"


def page(results: Sequence[tuple[str, ResultSet]]) -> str:
    """Return the whole page as Markdown: a section a result (its file's name beside it), a table an operator."""
    parts = ["# Measured beside other libraries", f"Made by `scripts/tables`, not edited by hand. {NOTE}"]
    for source, result in results:
        parts += [f"## {_suite(result)}", summary_table(result, source)]
        names = peers_of(result)
        for operator, group in _by_operator(lines(result)):
            parts += [f"### {_suite(result)}: {text.markdown(operator)}", _cases(group, names)]
    return "\n\n".join(parts) + "\n"


def _cases(group: Iterable[Line], names: Sequence[str]) -> str:
    head = ("case", "ours", *(text.markdown(name) for name in names), "of the ceiling", "over the best", "variant")
    body = [
        (
            text.markdown_code(line.ours.case),
            _time(line.ours),
            *(_time(line.peers.get(name)) for name in names),
            text.MISSING if line.ours.fraction is None else text.percent(line.ours.fraction),
            text.quantity(line.ours.versus_peer, "ratio"),
            text.markdown_code(line.ours.variant or text.MISSING),
        )
        for line in group
    ]
    return grid(head, body, range(1, len(head) - 1))


def _time(row: Row | None) -> str:
    if row is None or row.median_us is None:
        return text.MISSING
    return text.duration(row.median_us) + ("°" if row.launch_bound else "") + ("†" if row.inaccurate else "")


def _suite(result: ResultSet) -> str:
    return text.markdown(str(result.suite.get("name", "unnamed")))


def _origin(result: ResultSet, source: str) -> str:
    device = result.environment.get("device", {})
    name = device.get("name", "an unknown device") if isinstance(device, dict) else "an unknown device"
    return f"{text.markdown(str(name))}, {text.markdown(result.created)}, from {text.markdown_code(source)}:"
