"""One row of a comparison: what its times, its statuses and its machine code say together, and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from gpubench.analysis.identity import CLOCK_TOLERANCE, is_positive, same_code
from gpubench.analysis.pairing import Pair, measured, samples
from gpubench.analysis.rounds import medians
from gpubench.comparison import Difference, Estimate, Row, Verdict
from gpubench.model import Json, Record
from gpubench.names import FAILED, MEASURED

RESOURCES: tuple[tuple[str, str], ...] = (
    ("variant", "variant"),
    ("registers", "registers"),
    ("spill_bytes", "spilled bytes"),
    ("shared_bytes", "shared bytes"),
    ("occupancy", "occupancy"),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the times of a pair say. `few`: why they are too few for any verdict, None when they suffice."""

    verdict: Verdict
    estimate: Estimate | None
    old_us: float
    new_us: float
    few: str | None
    unchanged: bool


def timed_row(pair: Pair, outcome: Outcome, words: Sequence[str], listed: Sequence[Difference]) -> Row:
    """Return the row of a pair that was timed on both sides; `words` say what the verdict needs."""
    old, new = pair.old, pair.new
    if old is None or new is None:
        raise ValueError("a timed pair has two sides")
    said = [one for one in (outcome.few, *words) if one]
    if outcome.verdict not in ("SAME", "UNDECIDED") or not outcome.unchanged:
        said += explanations(pair, listed)
    return Row(
        case=new.case.id,
        operator=new.case.operator,
        dtype=new.case.dtype,
        old_contender=old.contender,
        new_contender=new.contender,
        verdict=outcome.verdict,
        estimate=outcome.estimate,
        old_us=outcome.old_us,
        new_us=outcome.new_us,
        old_n=sum(map(len, samples(old))),
        new_n=sum(map(len, samples(new))),
        old_status=old.status,
        new_status=new.status,
        reasons=tuple(said),
        unchanged=outcome.unchanged,
    )


def untimed_row(pair: Pair) -> Row:
    """Return the row of a pair of which at least one side was not timed, or is not there."""
    old, new = pair.old, pair.new
    either = pair.either
    verdict, said = _untimed_verdict(old, new)
    return Row(
        case=either.case.id,
        operator=either.case.operator,
        dtype=either.case.dtype,
        old_contender=(old or either).contender,
        new_contender=(new or either).contender,
        verdict=verdict,
        old_us=_typical_us(old),
        new_us=_typical_us(new),
        old_status=None if old is None else old.status,
        new_status=None if new is None else new.status,
        reasons=(said,) if said else (),
    )


def _untimed_verdict(old: Record | None, new: Record | None) -> tuple[Verdict, str]:
    """Return the verdict and what to say. A record that was skipped is as good as none."""
    if new is None or (new.status == "skipped" and old is not None and old.status != "skipped"):
        return "REMOVED", "" if new is None else _status(new)
    if old is None or (old.status == "skipped" and new.status != "skipped"):
        return "ADDED", "" if measured(new) else _status(new)
    if measured(old) and measured(new):
        return "UNDECIDED", "no usable samples"
    if measured(old) or _breakage(new) not in (None, _breakage(old)):
        return "BROKEN", f"was {old.status}, now {_status(new)}"
    if measured(new):
        return "FIXED", f"was {_status(old)}, now {new.status}"
    return "UNDECIDED", f"{old.status} in the baseline, now {_status(new)}"


def _breakage(record: Record) -> str | None:
    """Return how a record failed: a wrong answer, or no answer at all; None when it did not."""
    return "wrong" if record.status == "wrong" else "failed" if record.status in FAILED else None


def _status(record: Record) -> str:
    return f"{record.status}: {record.message}" if record.message else record.status


def _typical_us(record: Record | None) -> float | None:
    rounds = samples(record) if record is not None and measured(record) else []
    return float(np.exp(medians(rounds)[0].mean())) if rounds else None


# --- Why -------------------------------------------------------------------------------------------------------------


def explanations(pair: Pair, listed: Sequence[Difference]) -> list[str]:
    """Return what may explain a change of a measured pair, the most telling first."""
    old, new = pair.old, pair.new
    if old is None or new is None:
        return []
    found = [_clocks(old, new), *_resources(old, new)]
    found += [_either(old, new, status) for status in reversed(MEASURED) if status != "ok"]
    if old.bytes != new.bytes:
        found.append(f"bytes {old.bytes} -> {new.bytes}")
    digest = (old.kernel or {}).get("cubin_sha256")
    if digest and digest == (new.kernel or {}).get("cubin_sha256") and not same_code(old, new):
        found.append("same machine code, other launches or work")
    found += [f"driver {one.old} -> {one.new}" for one in listed if one.name.endswith("driver")]
    return [one for one in found if one]


def _clock(record: Record, key: str) -> float | None:
    """Return the median clock of a record in MHz, None where it is not known.

    The SM clocks stand with the samples; the memory clock in the telemetry.
    """
    if key == "sm_mhz" and record.timing is not None:
        clocks = [sample.sm_mhz for sample in record.timing.samples if sample.sm_mhz]
        if clocks:
            return float(median(clocks))
    entry = (record.telemetry or {}).get(key)
    values = [float(one) for one in (entry if isinstance(entry, list | tuple) else [entry]) if is_positive(one)]
    return median(values) if values else None


def _clocks(old: Record, new: Record) -> str | None:
    for key, name in (("sm_mhz", "SM clock"), ("memory_mhz", "memory clock")):
        before, after = _clock(old, key), _clock(new, key)
        if before and after and abs(after - before) > CLOCK_TOLERANCE * before:
            return f"{name} {before:.0f} -> {after:.0f} MHz"
    return None


def _resources(old: Record, new: Record) -> list[str]:
    before, after = old.kernel or {}, new.kernel or {}
    return [
        f"{name} {_brief(before[key])} -> {_brief(after[key])}"
        for key, name in RESOURCES
        if before.get(key) is not None and after.get(key) is not None and before[key] != after[key]
    ]


def _brief(value: Json) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _either(old: Record, new: Record, status: str) -> str | None:
    test: Callable[[Record], bool] = lambda record: record.status == status  # noqa: E731 # one line, used twice
    which = [name for name, record in (("old", old), ("new", new)) if test(record)]
    return f"{status} ({' and '.join(which)})" if which else None
