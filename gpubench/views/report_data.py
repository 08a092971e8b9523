"""What stands in a report, worked out: every value is plain text or a number, and the template escapes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

from gpubench.model import Json, ResultSet
from gpubench.names import AUTO, FINE
from gpubench.standing import standings
from gpubench.standing import worst as worst_standings
from gpubench.views import text
from gpubench.views.charts.data import Point, contenders
from gpubench.views.means import means as geometric_means

Facts = list[tuple[str, str]]

WORST = 10
PROBLEMS = 50
_FLAT_DEPTH = 6


def shown(value: object) -> str:
    """Return a foreign value as text that is safe to read: control characters and overrides as escapes."""
    if value is None:
        return text.MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return text.significant(value, 6)
    if isinstance(value, list | tuple):
        return ", ".join(shown(item) for item in value) or text.MISSING
    return text.printable(str(value))


def flat(value: Json, name: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield the leaves of nested JSON with the path of their keys."""
    if isinstance(value, Mapping) and depth < _FLAT_DEPTH:
        for key, inner in value.items():
            path = f"{name}.{key}" if name else str(key)
            yield from flat(inner, text.printable(path), depth + 1)
    else:
        yield name, shown(value)


def source(result: ResultSet) -> dict[str, Json]:
    """Return the commits and labels of a result, without those that are not known."""
    found = result.source
    commits = {"suite": asdict(found.suite), "kernels": asdict(found.kernels)}
    return {name: commit for name, commit in commits.items() if commit["commit"]} | {"label": dict(found.label)}


def overview(result: ResultSet, found: Sequence[Point]) -> Facts:
    """Return the first facts: the device, its ceilings, and how many records ended how."""
    device = result.environment.get("device")
    device = device if isinstance(device, Mapping) else {}
    facts = [("device", shown(device.get("name"))), ("suite", shown(result.suite.get("name")))]
    if result.source.suite.commit:
        commit = shown(result.source.suite.commit[:12]) + " (with changes)" * bool(result.source.suite.dirty)
        branch = result.source.suite.branch
        facts.append(("commit", f"{commit}, {shown(branch)}" if branch else commit))
    ceiling = result.ceiling
    for name, value in (("copy", ceiling.copy_GBps), ("read", ceiling.read_GBps), ("write", ceiling.write_GBps)):
        if value is not None:
            facts.append((f"measured ceiling, {name}", f"{text.rate(value)} GB/s"))
    peak = device.get("theoretical_GBps")
    if isinstance(peak, int | float):
        facts.append(("theoretical peak", f"{text.rate(peak)} GB/s"))
    for name, us in (("empty launch", ceiling.launch_us), ("event pair", ceiling.event_overhead_us)):
        if us is not None:
            facts.append((name, text.duration(us)))
    counts = Counter(point.row.status for point in found)
    cases = len({point.row.case for point in found})
    told = ", ".join(f"{count} {status}" for status, count in counts.most_common())
    facts.append(("results", f"{len(found)} ({cases} cases): {told}" if found else "none"))
    return facts


def means(found: Sequence[Point]) -> list[dict[str, str]]:
    """Return the geometric means of each operator and contender that has some, numpy left out."""
    order = contenders(found)
    operators = list(dict.fromkeys(point.row.operator for point in found))
    every = geometric_means([point.row for point in found])
    told = [mean for mean in every if mean.shares or mean.speedups or mean.peers]
    told.sort(key=lambda mean: (operators.index(mean.operator), order.index(mean.contender)))
    return [
        {
            "operator": shown(mean.operator),
            "contender": shown(mean.contender),
            "share": text.quantity(mean.of_ceiling, "fraction"),
            "share_cases": str(mean.shares),
            "speedup": text.quantity(mean.speedup, "ratio"),
            "speedup_cases": str(mean.speedups),
            "peer": text.quantity(mean.versus_peer, "ratio"),
            "peer_cases": str(mean.peers),
        }
        for mean in told
    ]


def has_speedups(rows: Sequence[Mapping[str, str]]) -> bool:
    """Return whether any mean was taken over numpy, so that the column says something."""
    return any(row["speedup"] != text.MISSING for row in rows)


def worst(found: Sequence[Point], anchors: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the cases farthest from the ceiling, by our automatic choice where it was timed, launches aside."""
    auto = [point for point in found if point.row.contender == AUTO]
    picked = [point for point in auto or found if point.fraction is not None]
    picked.sort(key=lambda point: point.fraction or 0.0)
    return [
        {
            "anchor": anchors[point.row.case],
            "case": shown(point.row.case),
            "contender": shown(point.row.contender),
            "share": text.percent(point.fraction or 0.0),
        }
        for point in picked[:WORST]
    ]


def behind(result: ResultSet, anchors: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the cases in which our automatic choice is furthest behind the fastest other contender."""
    ranked = [
        (ratio, standing)
        for standing in worst_standings(standings([result]), AUTO, WORST)
        if (ratio := standing.versus(AUTO))
    ]
    return [
        {
            "anchor": anchors[standing.case.id],
            "case": shown(standing.case.id),
            "contender": AUTO,
            "ratio": text.ratio(ratio),
            "other": shown(standing.best_other(AUTO)),
        }
        for ratio, standing in ranked
        if ratio < 1
    ]


def problems(found: Sequence[Point], anchors: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the records that are wrong or did not finish."""
    return [
        {
            "anchor": anchors[point.row.case],
            "case": shown(point.row.case),
            "contender": shown(point.row.contender),
            "status": point.row.status,
            "message": text.shorten(shown(point.row.message or ""), 300),
        }
        for point in found
        if point.row.status not in FINE
    ]


# --- The table -------------------------------------------------------------------------------------------------------

_NUMBERS: tuple[tuple[str, str, str], ...] = (
    ("bytes", "bytes", "bytes"),
    ("median", "median_us", "us"),
    ("95 % CI", "noise", "fraction"),
    ("GB/s", "GBps", "GBps"),
    ("ceiling", "ceiling_GBps", "GBps"),
    ("of ceiling", "fraction", "fraction"),
    ("x numpy", "speedup", "ratio"),
    ("x best peer", "versus_peer", "ratio"),
    ("err/allowed", "over_tolerance", ""),
)
"""Heading, attribute of a row, unit."""


_OPTIONAL = ("speedup", "versus_peer")


def numbers_of(found: Sequence[Point]) -> tuple[tuple[str, str, str], ...]:
    """Return the columns of numbers: the ratios to others only where there is one."""
    there = {name for name in _OPTIONAL for point in found if getattr(point.row, name) is not None}
    return tuple(number for number in _NUMBERS if number[1] not in _OPTIONAL or number[1] in there)


def columns(numbers: Sequence[tuple[str, str, str]]) -> list[dict[str, object]]:
    """Return the headings of the table, and which are of numbers."""
    names: list[tuple[str, bool]] = [("case", False), ("contender", False)]
    names += [(name, True) for name, _, _ in numbers]
    return [{"name": name, "number": number} for name, number in [*names, ("status", False)]]


def table_row(point: Point, anchor: str, shown_numbers: Sequence[tuple[str, str, str]]) -> dict[str, object]:
    """Return one row: `numbers` holds, for each column, the value to sort by and the words."""
    row = point.row
    numbers = []
    for _, attribute, unit in shown_numbers:
        value = getattr(row, attribute)
        if value is None:
            words = "launch-bound" if attribute == "fraction" and row.launch_bound else text.MISSING
            numbers.append(("", words))
            continue
        words = text.quantity(value, unit) if unit else text.significant(value, 2)
        sign = "\u00b1" if attribute == "noise" else ""
        numbers.append((f"{value:.6g}", sign + words))
    return {
        "anchor": anchor,
        "case": shown(row.case),
        "operator": shown(row.operator),
        "dtype": shown(row.dtype),
        "contender": shown(row.contender),
        "status": row.status,
        "simulated": row.simulated,
        "numbers": numbers,
    }


def filters(found: Sequence[Point]) -> list[dict[str, object]]:
    """Return the drop-down filters: the name of the attribute and its values."""
    return [
        {"name": name, "choices": sorted({shown(getattr(point.row, name)) for point in found})}
        for name in ("operator", "dtype", "contender", "status")
    ]
