"""One entry of a suite's `cases`, looked into: its axes, its variables, what it runs and how it is timed."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from gpubench.model import TimingOptions
from gpubench.names import AUTO, CONSTANTS_MARK, NUMPY, contender_of, is_kernel, is_own, split_constants
from gpubench.operators import OPERATORS
from gpubench.operators.base import Operator
from gpubench.operators.drawing.wishes import Wishes
from gpubench.own.definitions import Kernel
from gpubench.suite.axes import Axis, Option, placeholders, read_axis, read_zip
from gpubench.suite.read import Document, Path_
from gpubench.suite.schema import Key, common_keys, keys_of, random_checker, variable_key
from gpubench.suite.types import did_you_mean, found
from gpubench.suite.validate import note, unknown_key

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_BUILT_IN = {"dtype": "float32", "input": "normal", "seed": 1}
_OUTSIDE_AXES = ("contenders", "peers", "timing", "timeout", "limits")
_VITAL = ("zip", "shape", "inputs")
"""Keys beside the required ones without which the rest of an entry means nothing, so that it is not looked into."""


@dataclass(frozen=True, slots=True)
class Defaults:
    """The suite's `defaults` and `peers`: values by key, with their places. `flawed`: something wrong was left out."""

    axes: Mapping[str, Axis]
    settings: Mapping[str, Option]
    peers: tuple[str, ...]
    flawed: bool = False


@dataclass(frozen=True, slots=True)
class CasePlan:
    """One entry of `cases`. `parameters` are the operator's keys, `variables` the names that placeholders refer to.

    `optional` are the parameters that can be left out to look at the others. `flawed`: some keys were wrong and are
    left out, so that the cases are looked into for further mistakes but are none themselves. `wishes`: of an entry
    whose cases are drawn at random, each with one step of every axis.
    """

    path: Path_
    operator: str
    parameters: frozenset[str]
    variables: tuple[str, ...]
    axes: tuple[Axis, ...]
    contenders: tuple[str, ...]
    timing: TimingOptions
    limits: Mapping[str, Any]
    optional: frozenset[str] = frozenset()
    flawed: bool = False
    wishes: Wishes | None = None


def read_defaults(document: Document, written: Any, peers: Any) -> Defaults:
    """Return the checked defaults; what is wrong is noted and left out."""
    keys = {name: key for name, key in common_keys().items() if name != "peers"}
    axes, settings = {}, {}
    before = len(document.mistakes)
    for name, value in written.items() if isinstance(written, dict) else ():
        path: Path_ = ("defaults", name)
        if name not in keys:
            document.add(path, unknown_key(name, keys), key=True)
            continue
        axis = read_axis(document, keys[name], value, path)
        if axis is not None and name in _OUTSIDE_AXES:
            settings[name] = axis.steps[0][0]
        elif axis is not None:
            axes[name] = axis
    names = [peer for peer in peers if isinstance(peer, str)] if isinstance(peers, list) else []
    flawed = len(document.mistakes) > before or any(path[:1] == ("defaults",) for path in document.refused)
    return Defaults(axes, settings, tuple(names), flawed)


@dataclass(frozen=True, slots=True)
class Known:
    """What the cases of a suite may name: operators, and the kernels that it brings."""

    operators: Mapping[str, Operator[Any]]
    kernels: tuple[Kernel, ...] = ()

    def contenders(self, operator: str) -> list[str]:
        """Return the names of the kernels of an operator: our variants, then those that the suite brings."""
        variants = [contender_of(variant.name) for variant in self.operators[operator].variants]
        return [*variants, *(kernel.contender for kernel in self.kernels if kernel.operator == operator)]


def plan_case(
    document: Document, defaults: Defaults, case: Mapping[str, Any], path: Path_, known: Known
) -> CasePlan | None:
    """Note what is wrong with one entry of `cases` and return its plan; None when too much is wrong to look further."""
    name = case.get("operator")
    if not isinstance(name, str) or name not in known.operators:
        hint = did_you_mean(name, known.operators)
        what = f"found {found(name)}" if "operator" in case else "the key operator is missing"
        document.add((*path, "operator"), f"{what}; allowed: {', '.join(known.operators)}.{hint}")
        return None
    before = len(document.mistakes)
    params: Any = known.operators[name].params
    own = keys_of(params)
    wishes = _wishes(document, case["random"], (*path, "random")) if "random" in case else None
    keys = {**common_keys(), **own}
    variables = _variables(document, case, keys, path)
    resolved = {variable for _, variable in placeholders(dict(case))} <= {*variables}
    axes, wrong = _axes(document, case, {**{variable: variable_key(variable) for variable in variables}, **keys}, path)
    settings = _settings(document, case, defaults, path)
    complete = "random" in case or _is_complete(document, case, keys, path)
    contenders = _contenders(document, name, settings, defaults, known)
    timing = _timing(document, settings)
    limits = {name: value for option in settings["limits"] for name, value in option.value.items()}
    optional = frozenset(name for name, key in own.items() if not key.required and name not in _VITAL)
    is_known = resolved and ("random" not in case or wishes is not None)
    if not (complete and is_known and wrong <= {*optional, *_BUILT_IN}):
        return None
    for common, value in _BUILT_IN.items():
        if not any(common in axis.names for axis in axes):
            pool = known.operators[name].dtypes if common == "dtype" and wishes else (value,)
            axes.append(defaults.axes.get(common) or Axis((common,), tuple((Option(choice, path),) for choice in pool)))
    used = {name for axis in axes for name in axis.names}
    refused = any(place[: len(path)] == path for place in document.refused)
    flawed = defaults.flawed or refused or bool(wrong) or len(document.mistakes) > before
    return CasePlan(
        path,
        name,
        frozenset(own) & used,
        tuple(variables),
        tuple(axes),
        contenders,
        timing,
        limits,
        optional,
        flawed,
        wishes,
    )


def _wishes(document: Document, written: Any, path: Path_) -> Wishes | None:
    """Return what stands under `random`; None, with every mistake noted, when it is wrong."""
    before = len(document.mistakes)
    note(document, path, random_checker().faults(written))
    if len(document.mistakes) > before or not isinstance(written, dict):
        return None
    given: dict[str, Any] = {**written}
    for name in ("cases", "seed", "memory"):  # which YAML may hold as 1e3
        if name in given:
            given[name] = int(given[name])
    for name in ("elements", "dims"):
        if name in given:
            least, most = given[name] = (int(given[name][0]), int(given[name][1]))
            if least > most:
                document.add((*path, name), f"the least, {least}, is above the most, {most}")
    return Wishes(**given) if len(document.mistakes) == before else None


def _variables(document: Document, case: Mapping[str, Any], keys: Mapping[str, Key], path: Path_) -> list[str]:
    """Return the keys that are variables: unknown ones that a placeholder names. Others are noted as unknown."""
    zipped = case.get("zip")
    places = {key: (*path, key) for key in case if key not in ("operator", "zip", "random")}
    for key in zipped if isinstance(zipped, dict) else ():
        if key in places:
            document.add((*path, "zip", key), "the key stands under zip and beside it; write it once", key=True)
        places[key] = (*path, "zip", key)
    wanted = list(placeholders(dict(case), path))
    for where, name in wanted:
        if name not in places or name in keys:
            document.add(where, f"nothing here gives {name} a value; add a key such as {name}: [1024, 2048]")
    names = {name for _, name in wanted}
    variables = []
    for key, place in places.items():
        if key not in keys and key in names and _NAME.fullmatch(key):
            variables.append(key)
        elif key not in keys:
            document.add(place, unknown_key(key, (*keys, "operator", "zip", "random")), key=True)
    return variables


def _axes(
    document: Document, case: Mapping[str, Any], keys: Mapping[str, Key], path: Path_
) -> tuple[list[Axis], set[str]]:
    """Return the axes in the order in which the file has them, and the names of the keys that are wrong."""
    axes: dict[str, Axis | None] = {}
    for name, value in case.items():
        if name == "zip":
            usable = {key: described for key, described in keys.items() if described.is_axis}
            axes[name] = read_zip(document, usable, value, (*path, "zip"))
            for key in value if isinstance(value, dict) else ():
                if key in _OUTSIDE_AXES:
                    document.add(
                        (*path, "zip", key), f"{key} cannot stand under zip: it has one value a case", key=True
                    )
        elif name in keys and name not in _OUTSIDE_AXES:
            axes[name] = read_axis(document, keys[name], value, (*path, name))
    return [axis for axis in axes.values() if axis is not None], {name for name, axis in axes.items() if axis is None}


def _is_complete(document: Document, case: Mapping[str, Any], keys: Mapping[str, Key], path: Path_) -> bool:
    zipped = case.get("zip")
    there = {*case, *(zipped if isinstance(zipped, dict) else ())}
    missing = [key.name for key in keys.values() if key.required and key.name not in there]
    for name in missing:
        document.add(path, f"the key {name} is missing")
    return not missing


def _settings(document: Document, case: Mapping[str, Any], defaults: Defaults, path: Path_) -> dict[str, list[Option]]:
    """Return contenders, peers, timing, timeout, limits: the defaults' first, the case's own last; no wrong ones."""
    settings = {name: [defaults.settings[name]] if name in defaults.settings else [] for name in _OUTSIDE_AXES}
    for name in _OUTSIDE_AXES:
        if name in case:
            faults = common_keys()[name].checker.faults(case[name])
            note(document, (*path, name), faults)
            if not faults or (name == "contenders" and isinstance(case[name], list)):  # the others in it are looked at
                settings[name].append(Option(case[name], (*path, name)))
    return settings


def _contenders(
    document: Document, operator: str, settings: Mapping[str, list[Option]], defaults: Defaults, known: Known
) -> tuple[str, ...]:
    """Return the contenders of a case: its own or the defaults', then the peers of the suite and of the case."""
    names: list[str] = []
    kernels = known.contenders(operator)
    chosen = settings["contenders"][-1:]
    for option in chosen:
        for position, name in enumerate(option.value):
            if not isinstance(name, str):
                continue  # told already
            plain, constants = split_constants(name)
            matching = [name] if not is_kernel(name) or plain == AUTO else _matching(plain, kernels)
            if constants is not None and plain != AUTO:
                matching = [kernel + CONSTANTS_MARK + constants for kernel in matching]
            if not matching:
                document.add((*option.path, position), _no_kernel(operator, name, kernels, known))
            names += matching
    if not chosen:
        own = [name for name in kernels if is_own(name)]
        names = [*(own if operator not in OPERATORS else [AUTO, *own]), NUMPY]
    peers = [*defaults.peers, *(peer for option in settings["peers"] for peer in option.value)]
    return tuple(dict.fromkeys([*names, *peers]))


def _no_kernel(operator: str, name: str, kernels: list[str], known: Known) -> str:
    """Say that an operator has no kernel of this name, and where there is one."""
    others = [kernel.operator for kernel in known.kernels if kernel.contender == name]
    if others:
        return f"{name} is a kernel of {others[0]}, not of {operator}"
    what = "kernel" if is_own(name) else "variant"
    allowed = ", ".join([AUTO, *kernels])
    return f"{operator} has no {what} {name}; allowed: {allowed}.{did_you_mean(name, kernels)}"


def _matching(pattern: str, names: list[str]) -> list[str]:
    return [name for name in names if fnmatchcase(name, pattern)]


def _timing(document: Document, settings: Mapping[str, list[Option]]) -> TimingOptions:
    timing = TimingOptions()
    for option in settings["timing"]:
        timing = dataclasses.replace(timing, **option.value)
    for option in settings["timeout"]:
        timing = dataclasses.replace(timing, timeout_s=float(option.value))
    if timing.min_samples > timing.max_samples:
        message = f"min_samples ({timing.min_samples}) is above max_samples ({timing.max_samples})"
        document.add(settings["timing"][-1].path, message)
    return timing
