"""Limits that a suite sets for its kernels: `of_ceiling: ">= 0.9"`, `median_us: "<= 40"`. A limit that is missed fails.

They hold for kernels (ours and the user's own), or for the contenders that the limit's own key `contenders` names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from gpubench.model import Case, Json, Record
from gpubench.names import is_kernel

METRICS: Mapping[str, str] = {
    "of_ceiling": "fraction_of_ceiling",
    "of_copy": "fraction_of_copy",
    "GBps": "GBps",
    "median_us": "median_us",
    "min_us": "min_us",
    "p95_us": "p95_us",
    "corrected_us": "corrected_us",
}
"""What may be limited, and the key of the record's summary that holds it."""

WHO = "contenders"
_FORM = re.compile(r"\s*(>=|<=|>|<)\s*([0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,3})?)\s*(%?)\s*")
FORM = '">= 0.9", "<= 40", or with < and >; a percentage such as ">= 90%" too'


@dataclass(frozen=True, slots=True)
class Missed:
    """A limit that a contender does not keep. `value` None: nothing was measured that could be held against it."""

    case: str
    contender: str
    metric: str
    wanted: str
    value: float | None

    def __str__(self) -> str:
        """Say it in a line."""
        found = "was not measured" if self.value is None else f"is {self.value:.4g}"
        return f"{self.case} {self.contender}: {self.metric} {found}, wanted {self.wanted}"


def parse(text: str) -> tuple[str, float] | None:
    """Return sign and number of a limit, None for a text that is none."""
    match = _FORM.fullmatch(text) if len(text) <= 40 else None
    return None if match is None else (match[1], float(match[2]) / (100.0 if match[3] else 1.0))


def keeps(value: float, text: str) -> bool:
    """Tell whether a value keeps a limit. ValueError for a text that is none."""
    parsed = parse(text)
    if parsed is None:
        raise ValueError(f"{text!r} is no limit; write {FORM}")
    sign, bound = parsed
    return {">=": value >= bound, "<=": value <= bound, ">": value > bound, "<": value < bound}[sign]


def concerns(case: Case, contender: str) -> bool:
    """Tell whether a case's limits hold for a contender."""
    who = case.limits.get(WHO)
    if isinstance(who, list | tuple):
        return any(fnmatchcase(contender, str(pattern)) for pattern in who)
    return is_kernel(contender)


def missed(records: Iterable[Record]) -> list[Missed]:
    """Return every limit that is not kept, in the order of the records.

    A contender that does not take the case is not held to its limits; where no contender was measured, each limit is
    missed once, by nobody. Simulated times are not judged: they say nothing about a GPU.
    """
    found: list[Missed] = []
    judged: dict[str, tuple[Case, bool]] = {}
    for record in records:
        case = record.case
        if not case.limits or record.simulated or not concerns(case, record.contender):
            continue
        _, before = judged.get(case.id, (case, False))
        judged[case.id] = case, before or record.summary is not None
        if record.summary is not None:
            found += _missed_by(record, record.summary)
    for case, was_measured in judged.values():
        if not was_measured:
            found += [Missed(case.id, "nobody", name, wanted, None) for name, wanted in _bounds(case)]
    return found


def _missed_by(record: Record, summary: Mapping[str, Json]) -> list[Missed]:
    found = []
    for name, wanted in _bounds(record.case):
        value = summary.get(METRICS[name])
        number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
        if number is None or not keeps(number, wanted):
            found.append(Missed(record.case.id, record.contender, name, wanted, number))
    return found


def _bounds(case: Case) -> list[tuple[str, str]]:
    return [(name, str(wanted)) for name, wanted in case.limits.items() if name in METRICS]
