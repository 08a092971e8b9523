"""What stands in a report, worked out: every value is plain text or a number, and the template escapes it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpubench.model import Json, ResultSet, Sample, Timing
from gpubench.views import text
from gpubench.views.charts.data import Point, contenders, geometric_mean
from gpubench.views.rows import HOST_CONTENDERS

Facts = list[tuple[str, str]]

WORST = 10
PROBLEMS = 50
_FINE = ("ok", "noisy", "throttled", "unsupported", "skipped")
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
        return ", ".join(shown(one) for one in value) or text.MISSING
    return text.printable(str(value))


def flat(value: Json, name: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield the leaves of nested JSON with the path of their keys."""
    if isinstance(value, Mapping) and depth < _FLAT_DEPTH:
        for key, inner in value.items():
            path = f"{name}.{key}" if name else str(key)
            yield from flat(inner, text.printable(path), depth + 1)
    else:
        yield name, shown(value)


def overview(result: ResultSet, found: Sequence[Point]) -> Facts:
    """Return the first facts: the device, its ceilings, and how many records ended how."""
    device = result.environment.get("device")
    device = device if isinstance(device, Mapping) else {}
    facts = [("device", shown(device.get("name"))), ("suite", shown(result.suite.get("name")))]
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
    """Return the geometric means of each operator and contender, numpy left out."""
    rows = []
    for operator in dict.fromkeys(point.row.operator for point in found):
        mine = [point for point in found if point.row.operator == operator]
        for name in contenders(mine):
            theirs = [point for point in mine if point.row.contender == name]
            shares = [point.fraction for point in theirs if point.fraction and not point.row.launch_bound]
            gains = [point.row.speedup for point in theirs if point.row.speedup and point.row.status != "wrong"]
            if name not in HOST_CONTENDERS and (shares or gains):
                rows.append(
                    {
                        "operator": shown(operator),
                        "contender": shown(name),
                        "share": text.percent(geometric_mean(shares)) if shares else text.MISSING,
                        "share_cases": str(len(shares)),
                        "speedup": text.ratio(geometric_mean(gains)) if gains else text.MISSING,
                        "speedup_cases": str(len(gains)),
                    }
                )
    return rows


def worst(found: Sequence[Point], anchors: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the cases farthest from the ceiling, by our automatic choice where it was timed, launches aside."""
    auto = [point for point in found if point.row.contender == "gpubench:auto"]
    picked = [point for point in auto or found if point.fraction is not None and not point.row.launch_bound]
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
        if point.row.status not in _FINE
    ]


# --- The table -------------------------------------------------------------------------------------------------------

_NUMBERS: tuple[tuple[str, str, str], ...] = (
    ("bytes", "bytes", "bytes"),
    ("median", "median_us", "us"),
    ("95 % CI", "noise", "fraction"),
    ("GB/s", "GBps", "GBps"),
    ("of ceiling", "fraction", "fraction"),
    ("x numpy", "speedup", "ratio"),
    ("err/allowed", "over_tolerance", ""),
)
"""Heading, attribute of a row, unit."""


def columns() -> list[dict[str, object]]:
    """Return the headings of the table, and which are of numbers."""
    names: list[tuple[str, bool]] = [("case", False), ("contender", False)]
    names += [(name, True) for name, _, _ in _NUMBERS]
    return [{"name": name, "number": number} for name, number in [*names, ("status", False)]]


def table_row(point: Point, anchor: str) -> dict[str, object]:
    """Return one row: `numbers` holds, for each column, the value to sort by and the words."""
    row = point.row
    numbers = []
    for _, attribute, unit in _NUMBERS:
        value = getattr(row, attribute)
        if value is None or (attribute == "fraction" and row.launch_bound):
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


# --- Details of a case -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Strip:
    """The samples of a contender as a drawing 300 wide and 60 high: a path a round, discarded ones as points."""

    rounds: list[str]
    gone: list[tuple[str, str]]
    median: str
    alt: str


def case_details(case: str, mine: Sequence[Point], anchor: str) -> dict[str, object]:
    """Return everything that the file knows of one case."""
    record = mine[0].record
    facts = [(name, value) for name, value in flat(record.case.params)]
    facts += [("input", f"{shown(record.case.distribution)}, seed {record.case.seed}")]
    facts += [("timed", shown(record.case.timing.method))]
    moved = next((point.row.bytes for point in mine if point.row.bytes is not None), None)
    facts += [("bytes moved", text.quantity(moved, "bytes"))]
    return {"anchor": anchor, "id": shown(case), "facts": facts, "contenders": [_contender(point) for point in mine]}


def _contender(point: Point) -> dict[str, object]:
    record = point.record
    kernel = record.kernel or {}
    return {
        "name": shown(record.contender) + (" (simulated)" if record.simulated else ""),
        "status": record.status,
        "facts": [*_times(point), *_check(point), *_kernel(kernel), *_telemetry(record.telemetry or {})],
        "samples": strip(record.timing, point.row.median_us) if record.timing and record.timing.samples else None,
        "launches": [_launch(one) for one in kernel.get("launches") or [] if isinstance(one, Mapping)],
    }


def _times(point: Point) -> Facts:
    row = point.row
    facts: Facts = [("message", shown(row.message))] if row.message else []
    if row.median_us is None:
        return facts
    interval = ""
    if row.low_us is not None and row.high_us is not None:
        interval = f" (95 % interval {text.interval(row.low_us, row.high_us, row.median_us)})"
    facts.append(("median", text.duration(row.median_us) + interval))
    spread = [f"min {text.quantity(row.min_us, 'us')}", f"95 % under {text.quantity(row.p95_us, 'us')}"]
    facts.append(("spread", ", ".join(spread)))
    if row.GBps is not None:
        share = "" if row.fraction is None else f", {text.percent(row.fraction)} of the ceiling"
        bound = ", launch-bound" if row.launch_bound else ""
        facts.append(("rate", f"{text.rate(row.GBps)} GB/s{share}{bound}"))
    return facts


def _check(point: Point) -> Facts:
    check = point.record.check
    if check is None:
        return []
    words = "right" if check.ok else "WRONG"
    if check.max_error is not None:
        words += f", largest error {text.significant(check.max_error, 3)}"
    if check.max_error_over_tolerance is not None:
        words += f", {text.significant(check.max_error_over_tolerance, 2)} of what is allowed"
    facts = [("answer", words)]
    if check.first_mismatch:
        told = "; ".join(f"{name} {value}" for name, value in flat(check.first_mismatch))
        facts.append(("first mismatch", told))
    return facts


def _kernel(kernel: Mapping[str, Json]) -> Facts:
    facts = []
    for key, name in (
        ("variant", "variant"),
        ("cubin_sha256", "machine code, SHA-256"),
        ("workspace_bytes", "workspace bytes"),
    ):
        if kernel.get(key) is not None:
            facts.append((name, shown(kernel[key])))
    notes = kernel.get("notes")
    if notes:
        facts.append(("choices", "; ".join(f"{name} {value}" for name, value in flat(notes))))
    return facts


def _telemetry(telemetry: Mapping[str, Json]) -> Facts:
    rest = {key: value for key, value in telemetry.items() if key not in ("sm_mhz", "discarded_sm_mhz")}
    return [("device", "; ".join(f"{name} {value}" for name, value in flat(rest)))] if rest else []


def _launch(one: Mapping[str, Json]) -> list[str]:
    def sides(key: str) -> str:
        value = one.get(key)
        return " x ".join(shown(side) for side in value) if isinstance(value, list | tuple) else shown(value)

    occupancy = one.get("occupancy")
    return [
        shown(one.get("kernel")),
        shown(one.get("source")),
        sides("grid"),
        sides("block"),
        shown(one.get("registers")),
        shown(one.get("spill_bytes")),
        shown(one.get("shared_bytes")),
        text.quantity(occupancy, "fraction"),
    ]


def strip(timing: Timing, median_us: float | None) -> Strip:
    """Return the drawing of the samples. What lies far above the others stands at the upper edge."""
    kept = sorted(sample.us for sample in timing.samples)
    low = kept[0]
    usual = kept[min(len(kept) * 9 // 10, len(kept) - 1)]
    high = max(min(kept[-1], low + 2.5 * (usual - low)), low * 1.002)
    total = len(timing.samples) + len(timing.discarded)
    step = 296 / max(total, 1)

    def up(us: float) -> str:
        return f"{55 - 50 * min((us - low) / (high - low), 1.0):.0f}"

    paths, gone, place = [], [], 0
    for number, one in enumerate(timing.rounds):
        parts = []
        for sample in one:
            parts.append(f"M{2 + step * (place + 0.5):.1f} {up(sample.us)}h0")
            place += 1
        for owner, sample in timing.discarded:
            if owner == number:
                gone.append((f"{2 + step * (place + 0.5):.1f}", up(max(sample.us, low))))
                place += 1
        paths.append("".join(parts))
    median = up(median_us) if median_us is not None and low <= median_us <= high else ""
    return Strip(paths, gone, median, _strip_words(timing, kept))


def _strip_words(timing: Timing, kept: Sequence[float]) -> str:
    words = f"{len(kept)} samples in {len(timing.rounds)} rounds, {text.duration(kept[0])} to {text.duration(kept[-1])}"
    if timing.discarded:
        words += f"; {len(timing.discarded)} discarded (hollow)"
    clocks = sorted(_clocks(timing.samples))
    if clocks:
        words += f"; SM clock {clocks[0]:.0f} to {clocks[-1]:.0f} MHz"
    return words


def _clocks(samples: Iterable[Sample]) -> list[float]:
    return [sample.sm_mhz for sample in samples if sample.sm_mhz is not None and math.isfinite(sample.sm_mhz)]
