"""How well each median of a run is known: worked out at its end, from the rounds of all of its cases together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from gpubench.measure.timing import RESOLUTION_US, ROUNDING_US, too_few
from gpubench.model import Record
from gpubench.names import HOST_CONTENDERS, RIGHT


def with_intervals(records: Sequence[Record]) -> tuple[Record, ...]:
    """Return the records with the 95 % interval from their round medians, and `noisy` where that is wider than wanted.

    Samples of one round share its allocation, so that the interval of all samples together would be too narrow. A
    record with fewer than two rounds keeps the interval of its samples, and its status.
    """
    found = list(records)
    for is_host in (False, True):  # what varies on the host says nothing about the device
        places = [
            place
            for place, record in enumerate(found)
            if record.timing is not None and record.summary and (record.contender in HOST_CONTENDERS) == is_host
        ]
        for place, ends in zip(places, _intervals([found[place] for place in places]), strict=True):
            if ends is not None:
                found[place] = _with_interval(found[place], *ends, judge=not is_host)
    return tuple(found)


def _intervals(records: Sequence[Record]) -> list[tuple[float, float] | None]:
    from gpubench.analysis.rounds import intervals

    rounds = [
        [[sample.us for sample in samples] for samples in record.timing.rounds] for record in records if record.timing
    ]
    return intervals(rounds)


def _with_interval(record: Record, low: float, high: float, *, judge: bool) -> Record:
    """Return the record with its interval and, where it was measured on a device, with what follows from it."""
    timing = record.timing
    assert timing is not None
    record = replace(record, summary={**(record.summary or {}), "ci95_us": [low, high]})
    if not judge or record.simulated or timing.throttled:
        return record
    options = record.case.timing
    middle, half = math.sqrt(low * high), math.sqrt(high / low) - 1
    is_noisy = half > max(options.max_noise, (RESOLUTION_US + ROUNDING_US) / middle)
    reasons = [too_few(len(timing.samples), options)]
    if is_noisy:
        rounds = sum(map(bool, timing.rounds))
        known = f"{rounds} rounds tell the median, {middle:.4g} us, to {100 * half:.2g} %"
        reasons.insert(0, f"{known}; {100 * options.max_noise:g} % was wanted (more rounds tell more).")
    message = " ".join(reason for reason in reasons if reason) or None
    whole = _reworded(record.message, timing.message, message)
    status = record.status
    if status in RIGHT:
        status = "noisy" if is_noisy else "ok"
    return replace(record, status=status, message=whole, timing=replace(timing, noisy=is_noisy, message=message))


def _reworded(said: str | None, provisional: str | None, final: str | None) -> str | None:
    """Return a record's message with the timing's part replaced; what else was said of it stays."""
    if said is None or provisional is None or not said.startswith(provisional):
        return said or final
    rest = said[len(provisional) :]
    return (final + rest if final else rest.removeprefix("; ")) or None
