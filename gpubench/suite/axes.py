"""Axes: the several values that one key may stand for, written as a list, as a range, or in lockstep under `zip`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpubench.suite.read import Document, Path_
from gpubench.suite.schema import Key
from gpubench.suite.types import MAX_WHOLE, PLACEHOLDER, found
from gpubench.suite.validate import Fault, note

MAX_VALUES = 10_000
RANGES = {
    "pow2": "{pow2: [low, high, step]} with 0 <= low <= high <= 62 and step >= 1 (or without step)",
    "range": "{range: [first, last, step]} with first <= last and step >= 1 (or without step)",
    "log": "{log: [first, last, count]} with 1 <= first <= last and count from 2 to 1000",
}


@dataclass(frozen=True, slots=True)
class Option:
    """One value of an axis, and where it stands."""

    value: Any
    path: Path_


@dataclass(frozen=True, slots=True)
class Axis:
    """Keys that change together, and their values step by step: `steps[i][k]` is the value of `names[k]`."""

    names: tuple[str, ...]
    steps: tuple[tuple[Option, ...], ...]


def read_axis(document: Document, key: Key, value: Any, path: Path_) -> Axis | None:
    """Return the values that `value` stands for under `key`; None when it is wrong (the mistakes are noted).

    A value that fits the key's type is one value, even when it is a list; any other list is a list of values.
    """
    options = _options(document, key, value, path)
    return None if options is None else Axis((key.name,), tuple((option,) for option in options))


def _options(document: Document, key: Key, value: Any, path: Path_) -> list[Option] | None:
    faults = key.checker.faults(value)
    if not faults:
        return [Option(value, path)]
    if key.is_axis and key.takes_range and isinstance(value, dict):
        return _range(document, key, value, path)
    if key.is_axis and isinstance(value, list) and not (key.takes_list and not _holds_lists(key, value)):
        return _list(document, key, value, path)
    note(document, path, faults)
    return None


def _holds_lists(key: Key, value: list[Any]) -> bool:
    """Tell whether a list that does not fit as one value was meant as a list of values."""
    return any(isinstance(item, list) for item in value) or any(
        isinstance(item, str) and PLACEHOLDER.fullmatch(item) is None and key.checker.fits(item) for item in value
    )


def _list(document: Document, key: Key, value: list[Any], path: Path_) -> list[Option] | None:
    if not 1 <= len(value) <= MAX_VALUES:
        document.add(path, f"found {found(value)}; a list of values has 1 to {MAX_VALUES:,} of them")
        return None
    faults: list[Fault] = []
    for position, item in enumerate(value):
        faults += [((position, *where), message, at_key) for where, message, at_key in key.checker.faults(item)]
    note(document, path, faults)
    return None if faults else [Option(item, (*path, position)) for position, item in enumerate(value)]


def _range(document: Document, key: Key, value: dict[str, Any], path: Path_) -> list[Option] | None:
    numbers = _numbers(value)
    if numbers is None:
        document.add(path, "not a range; allowed: " + "; ".join(RANGES.values()))
        return None
    if len(numbers) > MAX_VALUES:
        document.add(path, f"a range of more than {MAX_VALUES:,} numbers")
        return None
    faults = [fault for number in (numbers[0], numbers[-1]) for fault in key.checker.faults(number)]
    note(document, path, faults)
    return None if faults else [Option(number, path) for number in numbers]


def _numbers(value: Mapping[str, Any]) -> range | list[int] | None:
    """Return the whole numbers of a range, None when it is not written as RANGES says."""
    if len(value) != 1:
        return None
    [(name, given)] = value.items()
    if name not in RANGES or not isinstance(given, list) or not 2 <= len(given) <= 3:
        return None
    if any(isinstance(item, bool) or not isinstance(item, int | float) or item != item // 1 for item in given):
        return None
    low, high, *rest = (int(item) for item in given)
    third = rest[0] if rest else 1
    if not -MAX_WHOLE <= low <= high <= MAX_WHOLE or not 1 <= third <= MAX_WHOLE:
        return None
    if name == "range":
        return range(low, high + 1, third)
    if name == "pow2":
        return [2**exponent for exponent in range(low, high + 1, third)] if low >= 0 and high <= 62 else None
    return _evenly_in_ratio(low, high, third) if low >= 1 and 2 <= third <= 1000 else None


def _evenly_in_ratio(first: int, last: int, count: int) -> list[int]:
    """Return `first`, `last` and what lies between in even ratios, rounded; equal neighbours are one."""
    ratio = last / first
    inner = (min(max(round(first * ratio ** (step / (count - 1))), first), last) for step in range(1, count - 1))
    return sorted({first, *inner, last})


def read_zip(document: Document, keys: Mapping[str, Key], value: Any, path: Path_) -> Axis | None:
    """Return the lockstep axis of a `zip` mapping; `keys` are those of the case, by name. None when it is wrong."""
    if not isinstance(value, dict) or not value:
        document.add(path, f"found {found(value)}; allowed is a mapping of keys to lists of equal length")
        return None
    columns: dict[str, list[Option]] = {}
    for name, items in value.items():
        here = (*path, name)
        column = _column(document, keys[name], items, here) if name in keys else None
        if column is not None:
            columns[name] = column
    if len(columns) < len(value):
        return None
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} {length}" for name, length in lengths.items())
        document.add(path, f"the lists under zip must be of one length; found: {told}")
        return None
    return Axis(tuple(columns), tuple(zip(*columns.values(), strict=True)))


def _column(document: Document, key: Key, items: Any, path: Path_) -> list[Option] | None:
    if key.takes_range and isinstance(items, dict):
        return _range(document, key, items, path)
    if isinstance(items, list):
        return _list(document, key, items, path)
    document.add(path, f"found {found(items)}; under zip stands a list of values" + " or a range" * key.takes_range)
    return None


def placeholders(value: Any, path: Path_ = ()) -> Iterator[tuple[Path_, str]]:
    """Yield the place and the name of every placeholder such as "{n}" inside a value."""
    if isinstance(value, str):
        match = PLACEHOLDER.fullmatch(value)
        if match:
            yield path, match[1]
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from placeholders(item, (*path, position))
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from placeholders(item, (*path, name))
