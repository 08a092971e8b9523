"""What may stand in a suite file: the models of its parts, and its JSON Schema for editors."""

from __future__ import annotations

import dataclasses
import functools
import typing
from collections.abc import Hashable, Mapping
from typing import Any

from gpubench import dtypes, plugins
from gpubench.libraries import PEERS
from gpubench.limits import FORM, METRICS, WHO, parse
from gpubench.model import Distribution, Method
from gpubench.names import AUTO, CONSTANTS_MARK, NUMPY, OURS, OWN, contender_of
from gpubench.operators import OPERATORS
from gpubench.operators.drawing.wishes import LAYOUTS
from gpubench.suite.annotations import is_required, members, origin, yaml_type
from gpubench.suite.own_schema import KERNEL, OPERATOR, file
from gpubench.suite.types import (
    MAX_DIMS,
    MAX_WHOLE,
    TEXT,
    Type_,
    choice,
    list_of,
    number,
    one_of_names,
    strict_model,
    text,
    text_that,
    whole,
)
from gpubench.suite.validate import Checker

MAX_ENTRIES = 10_000

CONTENDER = one_of_names(
    lambda: (NUMPY, *PEERS, *plugins.named(plugins.PEERS)),
    rf"(?:{OURS}|{OWN})[A-Za-z0-9_.*?-]+(?:{CONSTANTS_MARK}[A-Za-z0-9_.=+-]+)?",
    (AUTO, contender_of("VARIANT"), contender_of("*"), OWN + "KERNEL"),
)
PEER = one_of_names(lambda: (NUMPY, *PEERS, *plugins.named(plugins.PEERS)))
CONTENDERS = list_of(CONTENDER, at_least=1, at_most=100)
PEER_LIST = list_of(PEER, at_most=100)
LIMIT = text_that(lambda value: parse(value) is not None, f"a limit such as {FORM}")
LIMITS = strict_model(
    "Limits",
    "What the case's kernels must keep; a run that misses a limit exits with 1.",
    {**dict.fromkeys(METRICS, (LIMIT, None)), WHO: (list_of(TEXT, at_least=1, at_most=100), None)},
)
TIMEOUT = number(1e-3, 7 * 86400.0)

TIMING = strict_model(
    "Timing",
    "How contenders are timed; keys left out keep their defaults. The deadline of a case is its key `timeout`.",
    {
        "method": (choice(typing.get_args(Method)), None),
        "rounds": (whole(1, 1000), None),
        "min_samples": (whole(1, 100_000), None),
        "max_samples": (whole(1, 100_000), None),
        "max_noise": (number(1e-6, 1.0), None),
        "time_limit_s": (number(1e-3, 86400.0), None),
        "call_limit_s": (number(1e-3, 86400.0), None),
    },
)

MAX_DRAWN = 20_000
BOUNDS = list_of(whole(1, 2**40), 2, 2)
RANDOM = strict_model(
    "Random",
    "Draw this many cases in place of the product of the other keys, from whose values each case takes one. elements: "
    "least and most of the largest tensor. dims: fewest and most. friendly: share of sizes that are powers of two or "
    "multiples of one. layouts: weights. memory: bytes of all operands. broadcasts, casts: shares (elementwise).",
    {
        "cases": (whole(1, MAX_DRAWN), ...),
        "seed": (whole(0, MAX_WHOLE), 1),
        "elements": (BOUNDS, None),
        "dims": (list_of(whole(0, MAX_DIMS), 2, 2), None),
        "friendly": (number(0, 1), None),
        "layouts": (strict_model("Shares", "Weights.", dict.fromkeys(LAYOUTS, (number(0, 1000), 0))), None),
        "memory": (whole(1, 2**40), None),
        "broadcasts": (number(0, 1), None),
        "casts": (number(0, 1), None),
    },
)
"""What stands under `random`; what is left out is as in `operators.drawing.wishes`."""


@functools.cache
def random_checker() -> Checker:
    """Return the checker of `random`."""
    return Checker(RANDOM)


@dataclasses.dataclass(frozen=True, slots=True)
class Key:
    """A key of a case. `is_axis`: a list of values (where the type itself takes none), or a range of whole numbers,
    multiplies the cases. `takes_list`: a value may itself be a list. `takes_range`: it may be a whole number.
    """

    name: str
    type: Type_
    checker: Checker
    is_axis: bool = True
    takes_list: bool = False
    takes_range: bool = False
    required: bool = False


def _key(name: str, wanted: Type_, **flags: bool) -> Key:
    return Key(name, wanted, Checker(wanted), **flags)


@functools.cache
def common_keys() -> Mapping[str, Key]:
    """Return the keys that every case may have, whatever its operator; `defaults` may have all of them but `peers`."""
    keys = (
        _key("dtype", choice(dtypes.NAMES)),
        _key("input", choice(typing.get_args(Distribution))),
        _key("seed", whole(0, MAX_WHOLE), takes_range=True),
        _key("contenders", CONTENDERS, is_axis=False),
        _key("peers", PEER_LIST, is_axis=False),
        _key("timing", TIMING, is_axis=False),
        _key("timeout", TIMEOUT, is_axis=False),
        _key("limits", LIMITS, is_axis=False),
    )
    return {key.name: key for key in keys}


def operator_keys(name: str) -> Mapping[str, Key]:
    """Return the keys of the parameters of an operator of ours."""
    params: Any = OPERATORS[name].params
    return keys_of(params)


@functools.cache
def keys_of(params: Hashable) -> Mapping[str, Key]:
    """Return the keys of an operator's own parameters, made from its dataclass."""
    hints = typing.get_type_hints(params)
    keys = {}
    for field in dataclasses.fields(typing.cast(Any, params)):
        parts = members(hints[field.name])
        keys[field.name] = _key(
            field.name,
            yaml_type(hints[field.name]),
            takes_list=any(origin(part) is tuple for part in parts),
            takes_range=int in parts,
            required=is_required(field),
        )
    return keys


@functools.cache
def variable_key(name: str) -> Key:
    """Return the key of a variable: a whole number that placeholders refer to."""
    return _key(name, whole(-MAX_WHOLE, MAX_WHOLE), takes_range=True)


_MAPPING = dict[str, Any]
SUITE_FILE = strict_model(
    "SuiteFile",
    "The outermost mapping. Cases and defaults are looked into by plan.py, once the operator is known.",
    {
        "name": (TEXT, ...),
        "description": (text(r"[^\x00-\x08\x0b-\x1f\x7f]{0,2000}", "text of at most 2,000 characters"), ""),
        "defaults": (_MAPPING, {}),
        "peers": (PEER_LIST, []),
        "kernels": (list_of(KERNEL, at_most=200), []),
        "operators": (list_of(OPERATOR, at_most=50), []),
        "files": (list_of(file(), at_most=64), []),
        "cases": (list_of(_MAPPING, at_least=1, at_most=MAX_ENTRIES), ...),
    },
)


@functools.cache
def suite_checker() -> Checker:
    """Return the checker of the outermost mapping."""
    return Checker(SUITE_FILE)
