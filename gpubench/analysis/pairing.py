"""Which record of one result stands against which of the other, whether they may, and which are the same work."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from gpubench.analysis.rounds import is_timed, measured
from gpubench.errors import ComparisonError, UsageError
from gpubench.model import Case, Json, Record, ResultSet
from gpubench.names import HOST_CONTENDERS, is_kernel, is_peer
from gpubench.work import machine_code

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]

LISTED = 5
"""How many cases a refusal names."""

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


@dataclass(frozen=True, slots=True)
class Matched:
    """The pairs of two results. `picked`: those to be compared; `timed`: those that both results timed, whatever is
    compared; `at`: where among these the picked ones stand. `notes`: what a reader should know.
    """

    picked: Sequence[Pair]
    timed: Sequence[Pair]
    at: Array
    simulated: bool
    notes: tuple[str, ...]


def match(
    old: ResultSet, new: ResultSet, selection: Selection, allow_different: bool = False, host: bool = False
) -> Matched:
    """Return the pairs of two results, which may be one result in which two contenders are compared.

    host: numpy's as well. ComparisonError for results that must not be compared (unless they are allowed to be
    different) or that have nothing in common; UsageError for a filter that matches nothing.
    """
    refused = _refusals(old, new)
    if refused and not allow_different:
        _refuse(refused)
    everything = _pairs(old, new, selection)
    picked, notes = _without_host(_chosen(everything, selection), host or selection.b is not None)
    unequal = _unequal_work(picked)
    if unequal and not allow_different:
        _refuse(unequal)
    if old is not new and (unknown := _unknown_versions(picked, old, new)):
        notes.append(f"{', '.join(unknown)}: versions are not recorded, and taken to be the same")
    timed = [pair for pair in everything if pair.is_timed]
    members = {id(pair) for pair in picked}
    at = np.asarray([number for number, pair in enumerate(timed) if id(pair) in members], dtype=np.int64)
    allowed = [f"compared all the same: {reason}" for reason in [*refused, *unequal]]
    return Matched(picked, timed, at, is_simulated(old) or is_simulated(new), (*allowed, *notes))


def _without_host(picked: list[Pair], host: bool) -> tuple[list[Pair], list[str]]:
    """Leave out the pairs that were timed on the host, unless they are asked for or there are no others."""
    kept = [pair for pair in picked if pair.either.contender not in HOST_CONTENDERS]
    if host or not kept or len(kept) == len(picked):
        return picked, []
    return kept, [f"numpy is left out ({len(picked) - len(kept)} of {len(picked)} pairs): its times are the host's"]


def _refuse(why: Sequence[str]) -> NoReturn:
    lines = "\n".join(f"  {reason}" for reason in why)
    raise ComparisonError(
        f"These results must not be compared:\n{lines}\nTo compare them all the same: --allow-different-device."
    )


_WORK: tuple[tuple[str, Callable[[Record], Json]], ...] = (
    ("bytes", lambda record: record.bytes),
    ("timing methods", lambda record: record.case.timing.method),
)


def _unequal_work(picked: Sequence[Pair]) -> list[str]:
    """Return one sentence for each kind of work that is not the same in pairs that were timed on both sides."""
    found = []
    for what, value in _WORK:
        cases = [
            f"{pair.new.case.id} ({value(pair.old)} and {value(pair.new)})"
            for pair in picked
            if pair.is_measured and pair.old and pair.new and value(pair.old) != value(pair.new)
        ]
        if cases:
            more = f" and {len(cases) - LISTED} more" if len(cases) > LISTED else ""
            found.append(f"the {what} differ: {', '.join(cases[:LISTED])}{more}")
    return found


def _pairs(old: ResultSet, new: ResultSet, selection: Selection) -> list[Pair]:
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


def _chosen(everything: Sequence[Pair], selection: Selection) -> list[Pair]:
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
    for name in theirs[:3]:
        near = difflib.get_close_matches(name, ours[:5000], n=1, cutoff=0.0)
        lines.append(f"  new has {name}" + (f", nearest in the baseline: {near[0]}" if near else ""))
    if not theirs:
        lines = [f"  only the baseline has {name}" for name in ours[:3]]
    raise ComparisonError("\n".join(["Nothing was compared: the results have no case in common.", *lines]))


# --- The results -----------------------------------------------------------------------------------------------------


def device_name(result: ResultSet) -> str:
    """Return the name of the device that a result was measured on, `unknown` where it does not say."""
    name = device_of(result).get("name")
    return name if isinstance(name, str) else "unknown"


def same_device(old: ResultSet, new: ResultSet) -> bool:
    """Return whether both were measured on one and the same card, as far as they tell."""
    uuid = device_of(old).get("uuid")
    return uuid is not None and uuid == device_of(new).get("uuid")


def device_of(result: ResultSet) -> Mapping[str, Json]:
    """Return what a result tells of its device."""
    device = result.environment.get("device")
    return device if isinstance(device, Mapping) else {}


def is_simulated(result: ResultSet) -> bool:
    """Return whether any time in the result comes from a simulator."""
    return any(record.simulated for record in result.records)


def _refusals(old: ResultSet, new: ResultSet) -> list[str]:
    """Return why these results must not be compared, one sentence each; empty when they may be."""
    found = []
    if device_name(old) != device_name(new):
        found.append(f"the devices differ: {device_name(old)} and {device_name(new)}")
    if is_simulated(old) != is_simulated(new):
        which = "first" if is_simulated(old) else "second"
        found.append(f"the {which} result is simulated and the other is not")
    return found


# --- The work --------------------------------------------------------------------------------------------------------


def unchanged(pair: Pair, old: ResultSet, new: ResultSet) -> bool:
    """Return whether both sides are the same work: identical machine code of ours, or a library of one version."""
    if pair.old is None or pair.new is None or pair.old.contender != pair.new.contender:
        return False
    if is_kernel(pair.new.contender):
        return same_code(pair.old, pair.new)
    return (
        is_peer(pair.new.contender)
        and _work(pair.old) == _work(pair.new)
        and not _versions_differ(old, new, pair.new.contender)
    )


def unchanged_pairs(old: ResultSet, new: ResultSet) -> list[Pair]:
    """Return all pairs of work that did not change and was timed on both sides, whatever is compared."""
    ours, theirs = keyed(old.records), keyed(new.records)
    pairs = [Pair(record, theirs[key]) for key, record in ours.items() if key in theirs]
    return [pair for pair in pairs if pair.is_timed and unchanged(pair, old, new)]


def _versions_differ(old: ResultSet, new: ResultSet, contender: str) -> bool | None:
    """Return whether a library's versions differ, None where the results do not tell.

    The first format recorded no library but CuPy.
    """
    for told in (
        [(result.environment.get("libraries") or {}).get(contender) for result in (old, new)],
        [result.environment.get(contender) for result in (old, new)],
    ):
        if None not in told:
            return bool(told[0] != told[1])
    return None


def _unknown_versions(pairs: Sequence[Pair], old: ResultSet, new: ResultSet) -> list[str]:
    """Return the libraries among the pairs whose versions the results do not tell; they are taken to be the same."""
    names = dict.fromkeys(pair.new.contender for pair in pairs if pair.new and is_peer(pair.new.contender))
    return [name for name in names if _versions_differ(old, new, name) is None]


def same_code(old: Record, new: Record) -> bool:
    """Return whether both ran the same machine code with the same launches on the same work."""
    code = machine_code(old.kernel)
    return code is not None and code == machine_code(new.kernel) and _work(old) == _work(new)


def _work(record: Record) -> tuple[Json, ...]:
    case = record.case
    return (case.operator, case.dtype, case.params, case.distribution, case.seed, case.timing.method, record.bytes)
