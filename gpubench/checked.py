"""The verdict on an answer, as the record keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Json = Any  # what json.loads returns


@dataclass(frozen=True, slots=True)
class Check:
    """The verdict on the buffers that the timed launches wrote.

    `max_error` is the largest |y - reference|, `max_error_over_tolerance` the largest ratio to what was allowed there
    (over 1 is wrong); both None when nothing finite could be compared. `first_mismatch` gives index, found, wanted
    and allowed, as strings and numbers that JSON can hold. `mismatches`: how many (`count`, `of`), `where` in a word,
    a `strip` over the output, and the `first` three. `stray_writes`: what was written beside operands; any is wrong.
    `answer_sha256`: the digest of the answer's bytes, where it was asked for and the plan is repeatable.
    """

    ok: bool
    max_error: float | None
    max_error_over_tolerance: float | None
    first_mismatch: Mapping[str, Json] | None = None
    mismatches: Mapping[str, Json] | None = None
    stray_writes: tuple[Mapping[str, Json], ...] = ()
    answer_sha256: str | None = None
