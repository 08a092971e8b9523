"""Which record of one result stands against which of the other."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from gpubench.analysis.rounds import usable
from gpubench.errors import ComparisonError, UsageError
from gpubench.model import Case, Record, ResultSet
from gpubench.names import MEASURED

Key = tuple[str, str, int]
"""Case id, contender (empty where two contenders are compared with each other), number among equals."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What is compared. `keep` is asked for every (case, contender), None keeps all.

    `a` and `b`, given together, are the contenders to compare with each other: a of the old result with b of the new
    one (which may be the same result). `keep` is then asked for b.
    """

    keep: Callable[[Case, str], bool] | None = None
    a: str | None = None
    b: str | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two records that belong together; None: the other result has no such record."""

    old: Record | None
    new: Record | None

    @property
    def either(self) -> Record:
        """The new record, or the old one where there is no new one."""
        record = self.new or self.old
        if record is None:
            raise ValueError("a pair of nothing")
        return record

    @property
    def is_measured(self) -> bool:
        """True when both were timed, so that the times can be compared."""
        return self.old is not None and self.new is not None and measured(self.old) and measured(self.new)

    @property
    def is_timed(self) -> bool:
        """True when both were measured and have usable samples."""
        return self.old is not None and self.new is not None and is_timed(self.old) and is_timed(self.new)


def measured(record: Record) -> bool:
    """Return whether the record's status lets its times be compared."""
    return record.status in MEASURED


def is_timed(record: Record) -> bool:
    """Return whether the record was measured and has usable samples."""
    return measured(record) and bool(samples(record))


def samples(record: Record) -> list[list[float]]:
    """Return the kept samples by round in microseconds, without empty rounds; empty when nothing was timed.

    A time that is not a positive finite number makes the whole record unfit: then empty as well.
    """
    if record.timing is None:
        return []
    rounds = [[sample.us for sample in one] for one in record.timing.rounds if one]
    return rounds if usable(rounds) else []


def pairs(old: ResultSet, new: ResultSet, selection: Selection) -> list[Pair]:
    """Return all pairs in the order of the new result, then what only the old one has; the filters do not count yet.

    UsageError when a contender to compare is in neither; ComparisonError when the two have nothing in common.
    """
    before = keyed(old.records, selection.a)
    after = keyed(new.records, selection.b)
    if selection.a is not None and not before:
        _unknown_contender(selection.a, old)
    if selection.b is not None and not after:
        _unknown_contender(selection.b, new)
    found = [Pair(before.get(key), record) for key, record in after.items()]
    found += [Pair(record, None) for key, record in before.items() if key not in after]
    if not any(pair.old and pair.new for pair in found):
        _nothing_in_common(list(before), list(after))
    return found


def chosen(everything: Sequence[Pair], selection: Selection) -> list[Pair]:
    """Return the pairs that the filters let through. UsageError when there are none."""
    keep = selection.keep
    found = [pair for pair in everything if keep is None or keep(pair.either.case, pair.either.contender)]
    if not found:
        ids = sorted({pair.either.case.id for pair in everything})
        raise UsageError(f"The filter matches none of the {len(ids)} cases. Among them are: {', '.join(ids[:3])}.")
    return found


def keyed(records: Sequence[Record], contender: str | None = None) -> dict[Key, Record]:
    """Return the records (of one contender, when it is given) by what pairs them."""
    seen: Counter[tuple[str, str]] = Counter()
    keyed: dict[Key, Record] = {}
    for record in records:
        if contender is not None and record.contender != contender:
            continue
        name = (record.case.id, "" if contender is not None else record.contender)
        keyed[*name, seen[name]] = record
        seen[name] += 1
    return keyed


def _unknown_contender(asked: str, result: ResultSet) -> NoReturn:
    names = sorted({record.contender for record in result.records})
    near = difflib.get_close_matches(asked, names, n=3) or names[:5]
    raise UsageError(f"No record has the contender {asked!r}. There are: {', '.join(near) or 'none'}.")


def _nothing_in_common(old: list[Key], new: list[Key]) -> NoReturn:
    if not old and not new:
        raise ComparisonError("Both results are empty: there is nothing to compare.")
    ours = sorted({" ".join(key[:2]).strip() for key in old})
    theirs = sorted({" ".join(key[:2]).strip() for key in new})
    lines = []
    for one in theirs[:3]:
        near = difflib.get_close_matches(one, ours[:5000], n=1, cutoff=0.0)
        lines.append(f"  new has {one}" + (f", nearest in the baseline: {near[0]}" if near else ""))
    if not theirs:
        lines = [f"  only the baseline has {one}" for one in ours[:3]]
    raise ComparisonError("\n".join(["Nothing was compared: the results have no case in common.", *lines]))
