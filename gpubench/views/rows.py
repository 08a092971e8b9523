"""Records as rows: the figures that tables and charts show, worked out once for all of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from gpubench.model import Json, Record, ResultSet
from gpubench.names import HOST_CONTENDERS, NUMPY, REFUTED, TRUSTED, Status, is_peer

LAUNCH_BOUND_FACTOR = 3.0
"""A median under this many times the duration of an empty launch is launch-bound: most of it is not the kernel's."""

OF_CEILING = "of the rate at which the device copied, read and wrote as many bytes in the same run"
"""What a share of the ceiling is a share of, wherever one is shown."""

NO_SHARE = "cases that a launch would dominate even at the ceiling have no share"
"""Else a slow contender of a small case would have one, and a fast one none."""

YARDSTICK = NUMPY
"""The contender that the speed-up is over."""


@dataclass(frozen=True, slots=True)
class Row:
    """One record's figures. None: the record does not have it, or (simulated) it would say nothing.

    fraction is the share of the ceiling (`OF_CEILING`; of the large copy's rate where a run measured no others), and
    ceiling_GBps that rate. of_copy is always of the large copy's rate. best_peer is the fastest other
    library of the case, and versus_peer its time over this one's: above 1 is faster than it; peer_inaccurate, that its
    answer is beyond our bound. kernels_us: CUPTI's time.
    """

    case: str
    operator: str
    dtype: str
    contender: str
    status: Status
    message: str | None
    simulated: bool
    bytes: int | None
    median_us: float | None
    low_us: float | None
    high_us: float | None
    min_us: float | None
    p95_us: float | None
    samples: int | None
    GBps: float | None
    fraction: float | None
    ceiling_GBps: float | None
    speedup: float | None
    of_copy: float | None
    corrected_us: float | None
    kernels_us: float | None
    best_peer: str | None
    versus_peer: float | None
    peer_inaccurate: bool
    launch_bound: bool
    check_ok: bool | None
    over_tolerance: float | None
    variant: str | None
    registers: int | None

    @property
    def inaccurate(self) -> bool:
        """True for another library's answer beyond our bound, whatever else became of it."""
        return self.check_ok is False and is_peer(self.contender) and self.status not in REFUTED

    @property
    def noise(self) -> float | None:
        """The interval's larger half relative to the median."""
        if not self.median_us or self.low_us is None or self.high_us is None:
            return None
        return max(self.high_us - self.median_us, self.median_us - self.low_us) / self.median_us


@dataclass(frozen=True, slots=True)
class _Case:
    """What a record is compared with: the others of its case."""

    yardstick_us: float | None = None
    best_peer: str | None = None
    peer_us: float | None = None
    peer_inaccurate: bool = False


def rows(result: ResultSet) -> list[Row]:
    """Return one row a record, in the order of the file."""
    cases = _cases(result)
    overhead = max(result.ceiling.launch_us or 0.0, result.ceiling.event_overhead_us or 0.0)
    return [_row(record, cases.get(record.case.id, _Case()), overhead) for record in result.records]


def _cases(result: ResultSet) -> dict[str, _Case]:
    """Return what each case has to compare with; a time that nobody should trust is nothing to compare with."""
    found: dict[str, _Case] = {}
    for record in result.records:
        median = _number(record.summary, "median_us")
        if record.simulated or not median or record.status not in TRUSTED:
            continue
        case = found.get(record.case.id, _Case())
        if record.contender == YARDSTICK:
            case = replace(case, yardstick_us=median)
        elif is_peer(record.contender) and (case.peer_us is None or median < case.peer_us):
            inaccurate = record.status == "inaccurate"
            case = replace(case, best_peer=record.contender, peer_us=median, peer_inaccurate=inaccurate)
        found[record.case.id] = case
    return found


def _row(record: Record, case: _Case, overhead_us: float) -> Row:
    summary = record.summary
    median = _number(summary, "median_us")
    low, high = _interval(summary)
    timed_on_device = record.contender not in HOST_CONTENDERS and not record.simulated
    compares = timed_on_device and bool(median)
    cupti = summary.get("cupti") if summary else None
    launch_bound = bool(timed_on_device and median and median < LAUNCH_BOUND_FACTOR * overhead_us)
    rate = None if record.simulated else _number(summary, "GBps")
    share = _number(summary, "fraction_of_ceiling") if timed_on_device else None
    return Row(
        case=record.case.id,
        operator=record.case.operator,
        dtype=record.case.dtype,
        contender=record.contender,
        status=record.status,
        message=record.message,
        simulated=record.simulated,
        bytes=record.bytes,
        median_us=median,
        low_us=low,
        high_us=high,
        min_us=_number(summary, "min_us"),
        p95_us=_number(summary, "p95_us"),
        samples=_integer(summary, "n"),
        GBps=rate,
        fraction=None if launch_bound or _is_small(share, median, overhead_us) else share,
        ceiling_GBps=rate / share if rate and share else None,
        speedup=_ratio(case.yardstick_us, median) if not record.simulated else None,
        of_copy=_number(summary, "fraction_of_copy") if timed_on_device else None,
        corrected_us=_number(summary, "corrected_us"),
        kernels_us=_number(cupti, "span_us") if isinstance(cupti, Mapping) else None,
        best_peer=case.best_peer if compares else None,
        versus_peer=_ratio(case.peer_us, median) if compares else None,
        peer_inaccurate=compares and case.peer_inaccurate,
        launch_bound=launch_bound,
        check_ok=record.check.ok if record.check else None,
        over_tolerance=record.check.max_error_over_tolerance if record.check else None,
        variant=_text(record.kernel, "variant"),
        registers=_integer(record.kernel, "registers"),
    )


def _is_small(share: float | None, median: float | None, overhead_us: float) -> bool:
    """Tell whether the launch would dominate the case at the ceiling."""
    return bool(share and median and share * median < LAUNCH_BOUND_FACTOR * overhead_us)


def _ratio(other_us: float | None, median_us: float | None) -> float | None:
    return other_us / median_us if other_us and median_us else None


def _number(data: Mapping[str, Json] | None, key: str) -> float | None:
    value = data.get(key) if data else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _integer(data: Mapping[str, Json] | None, key: str) -> int | None:
    value = _number(data, key)
    return None if value is None else int(value)


def _text(data: Mapping[str, Json] | None, key: str) -> str | None:
    value = data.get(key) if data else None
    return value if isinstance(value, str) else None


def _interval(summary: Mapping[str, Json] | None) -> tuple[float | None, float | None]:
    both = summary.get("ci95_us") if summary else None
    if not isinstance(both, list | tuple) or len(both) != 2:
        return None, None
    ends = {"low": both[0], "high": both[1]}
    low, high, median = _number(ends, "low"), _number(ends, "high"), _number(summary, "median_us")
    if low is None or high is None or median is None:
        return low, high
    return min(low, median), max(high, median)  # it lies around the middle of the rounds, not of all samples
