"""Which record of one result stands against which of the other, and what is the same in both: environment and work."""

from __future__ import annotations

import difflib
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NoReturn, TypeGuard

from gpubench.analysis.rounds import is_timed, measured
from gpubench.comparison import Difference
from gpubench.errors import ComparisonError, UsageError
from gpubench.model import Case, Json, Record, ResultSet
from gpubench.names import HOST_CONTENDERS, is_kernel, is_peer
from gpubench.work import machine_code

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
    for name in theirs[:3]:
        near = difflib.get_close_matches(name, ours[:5000], n=1, cutoff=0.0)
        lines.append(f"  new has {name}" + (f", nearest in the baseline: {near[0]}" if near else ""))
    if not theirs:
        lines = [f"  only the baseline has {name}" for name in ours[:3]]
    raise ComparisonError("\n".join(["Nothing was compared: the results have no case in common.", *lines]))


# --- The results -----------------------------------------------------------------------------------------------------

CAPPED = 0.95
"""A median SM clock under this share of the card's maximum was held down."""


HARMLESS = (
    "python",
    "os",
    "cpu",
    "hostname",
    "host",
    "numpy",
    "device.uuid",
    "device.properties.uuid",
    "device.name",
    "source",
)
"""Entries of the environment that cannot make a kernel faster; they are listed all the same. (Another device name is
refused, or allowed explicitly, before this is asked.)"""

TUNING = "tuning.sha256"
"""The entry that tells one tuning of `auto` from another."""

VOLATILE = ("free_bytes", "pci_bus_id", "temperature_c", "power_w")
"""Last words of entries that differ from run to run and say nothing."""

MEANINGS: tuple[tuple[Callable[[str], bool], str], ...] = (
    (
        lambda name: name.endswith("uuid"),
        "another GPU: of kernels over 50 us, 1 in 25 runs 2 % faster or slower on another card with the same code; "
        "confirm on one GPU",
    ),
    (
        lambda name: name == "harness.protocol",
        "times are taken in another way: only what changed beyond the controls counts",
    ),
    (lambda name: name.endswith("driver"), "libraries may choose other kernels, and the driver other clocks"),
    (lambda name: name.startswith("libraries."), "this library's pairs are judged as changed"),
    (lambda name: name == TUNING, "`auto` has other constants: what changed of it may be theirs, not the kernels'"),
    (lambda name: name.startswith("SM clock"), "a card held down slows some kernels more than others"),
)
"""Which differences say what to a reader of the verdicts."""


def device_name(result: ResultSet) -> str:
    """Return the name of the device that a result was measured on, `unknown` where it does not say."""
    name = _device(result).get("name")
    return name if isinstance(name, str) else "unknown"


def same_device(old: ResultSet, new: ResultSet) -> bool:
    """Return whether both were measured on one and the same card, as far as they tell."""
    uuid = _device(old).get("uuid")
    return uuid is not None and uuid == _device(new).get("uuid")


def _device(result: ResultSet) -> Mapping[str, Json]:
    device = result.environment.get("device")
    return device if isinstance(device, Mapping) else {}


def is_simulated(result: ResultSet) -> bool:
    """Return whether any time in the result comes from a simulator."""
    return any(record.simulated for record in result.records)


def refusals(old: ResultSet, new: ResultSet) -> list[str]:
    """Return why these results must not be compared, one sentence each; empty when they may be."""
    found = []
    if device_name(old) != device_name(new):
        found.append(f"the devices differ: {device_name(old)} and {device_name(new)}")
    if is_simulated(old) != is_simulated(new):
        which = "first" if is_simulated(old) else "second"
        found.append(f"the {which} result is simulated and the other is not")
    return found


# --- The environment -------------------------------------------------------------------------------------------------


def differences(old: ResultSet, new: ResultSet) -> tuple[Difference, ...]:
    """Return everything around the results that is not the same, what matters first, with what it means."""
    before, after = _surroundings(old), _surroundings(new)
    found = []
    for name in [*before, *(name for name in after if name not in before)]:
        if name.rpartition(".")[2] in VOLATILE or _alike(before.get(name), after.get(name)):
            continue
        matters = not any(name == prefix or name.startswith(f"{prefix}.") for prefix in HARMLESS)
        unknown = name not in before or name not in after  # a writer that did not record it yet
        meaning = "" if unknown else next((words for fits, words in MEANINGS if fits(name)), "")
        found.append(Difference(name, before.get(name), after.get(name), matters, meaning))
    found += _capped(old, new)
    return tuple(sorted(found, key=lambda difference: (not difference.meaning, not difference.matters)))


def _surroundings(result: ResultSet) -> dict[str, Json]:
    harness = {"gpubench": result.gpubench, "harness.protocol": result.harness.protocol}
    source = {"suite": result.source.suite.commit, "kernels": result.source.kernels.commit}
    told = {name: commit for name, commit in source.items() if commit is not None}
    tuning = result.environment.get("tuning")
    sha256 = (tuning.get("sha256") if isinstance(tuning, Mapping) else None) or "none"
    return dict(_flat({**result.environment, **harness, "source": told, "tuning": {"sha256": sha256}}))


def _capped(old: ResultSet, new: ResultSet) -> Iterator[Difference]:
    """Yield a difference where one of the results ran at a clock held under the card's maximum, or at another one."""
    clocks = [_median_clock(result) for result in (old, new)]
    highest = [_device(result).get("max_sm_mhz") for result in (old, new)]
    held = [bool(mhz and is_positive(most) and mhz < CAPPED * most) for mhz, most in zip(clocks, highest, strict=True)]
    if any(held) and all(clocks):
        before, after = (f"{mhz:.0f} of {most} MHz" for mhz, most in zip(clocks, highest, strict=True))
        meaning = next(words for fits, words in MEANINGS if fits("SM clock"))
        yield Difference("SM clock", before, after, True, meaning)


def _median_clock(result: ResultSet) -> float | None:
    clocks = [
        sample.sm_mhz
        for record in result.records
        if record.timing is not None and record.contender not in HOST_CONTENDERS
        for sample in record.timing.samples
        if sample.sm_mhz
    ]
    return float(median(clocks)) if clocks else None


def _flat(entry: Mapping[str, Json], prefix: str = "") -> Iterator[tuple[str, Json]]:
    for key, value in entry.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _alike(old: Json, new: Json) -> bool:
    if _is_number(old) and _is_number(new):
        return math.isclose(old, new, rel_tol=1e-9)
    return bool(old == new)


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_positive(value: Json) -> TypeGuard[float]:
    """Return whether the value is a number over 0."""
    return _is_number(value) and value > 0


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


def unknown_versions(pairs: Sequence[Pair], old: ResultSet, new: ResultSet) -> list[str]:
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
