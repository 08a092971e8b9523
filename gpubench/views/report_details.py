"""Everything that a file knows of one case, worked out for the report: facts, samples as a drawing, launches."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gpubench.model import Json, Sample, Timing
from gpubench.views import mismatches, text
from gpubench.views.charts.data import Point
from gpubench.views.report_data import Facts, flat, shown


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
        "samples": strip(record.timing, point.row.median_us, (record.summary or {}).get("n"))
        if record.timing and record.timing.samples
        else None,
        "launches": [_launch(launch) for launch in kernel.get("launches") or [] if isinstance(launch, Mapping)],
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
    facts += _ceiling(point.record.summary or {}, point.record.bytes)
    return facts


def _ceiling(summary: Mapping[str, Json], moved: int | None) -> Facts:
    """Return what the ceiling counts where it is not simply the fewest bytes."""
    facts: Facts = []
    touched, assumed = summary.get("touched_bytes"), summary.get("assumed")
    if isinstance(touched, int) and moved is not None and touched > moved:
        facts.append(("ceiling", f"of {text.quantity(touched, 'bytes')} in whole sectors of 32 bytes"))
    if isinstance(assumed, Mapping) and assumed:
        facts.append(("ceiling assumes", "; ".join(f"{name} {value}" for name, value in flat(assumed))))
    return facts


def _check(point: Point) -> Facts:
    check = point.record.check
    if check is None:
        return []
    words = "right" if check.ok else "beyond the error that ours are allowed" if point.row.inaccurate else "WRONG"
    if check.max_error is not None:
        words += f", largest error {text.significant(check.max_error, 3)}"
    if check.max_error_over_tolerance is not None:
        words += f", {text.significant(check.max_error_over_tolerance, 2)} of what is allowed"
    facts = [("answer", words)]
    if check.first_mismatch:
        told = "; ".join(f"{name} {value}" for name, value in flat(check.first_mismatch))
        facts.append(("first mismatch", told))
    if check.mismatches:
        facts += zip(("wrong elements", "over the output"), mismatches.strip(check.mismatches), strict=True)
    facts += [
        ("stray write", "; ".join(f"{name} {value}" for name, value in flat(stray))) for stray in check.stray_writes
    ]
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


def strip(timing: Timing, median_us: float | None, taken: Json = None) -> Strip:
    """Return the drawing of the samples. What lies far above the others stands at the upper edge.

    taken: how many samples there were, of which a compact result has a few.
    """
    kept = sorted(sample.us for sample in timing.samples)
    low = kept[0]
    usual = kept[min(len(kept) * 9 // 10, len(kept) - 1)]
    high = max(min(kept[-1], low + 2.5 * (usual - low)), low * 1.002)
    total = len(timing.samples) + len(timing.discarded)
    step = 296 / max(total, 1)

    def up(us: float) -> str:
        return f"{55 - 50 * min((us - low) / (high - low), 1.0):.0f}"

    paths, gone, place = [], [], 0
    for number, samples in enumerate(timing.rounds):
        parts = []
        for sample in samples:
            parts.append(f"M{2 + step * (place + 0.5):.1f} {up(sample.us)}h0")
            place += 1
        for owner, sample in timing.discarded:
            if owner == number:
                gone.append((f"{2 + step * (place + 0.5):.1f}", up(max(sample.us, low))))
                place += 1
        paths.append("".join(parts))
    median = up(median_us) if median_us is not None and low <= median_us <= high else ""
    return Strip(paths, gone, median, _strip_words(timing, kept, taken))


def _strip_words(timing: Timing, kept: Sequence[float], taken: Json) -> str:
    of = f" of {taken}" if isinstance(taken, int) and taken > len(kept) else ""
    words = (
        f"{len(kept)}{of} samples in {len(timing.rounds)} rounds, {text.duration(kept[0])} to {text.duration(kept[-1])}"
    )
    if timing.discarded:
        words += f"; {len(timing.discarded)} discarded (hollow)"
    clocks = sorted(_clocks(timing.samples))
    if clocks:
        words += f"; SM clock {clocks[0]:.0f} to {clocks[-1]:.0f} MHz"
    return words


def _clocks(samples: Iterable[Sample]) -> list[float]:
    return [sample.sm_mhz for sample in samples if sample.sm_mhz is not None and math.isfinite(sample.sm_mhz)]
