"""Turn what a suite wrote for an operator's parameters into their plain JSON: variables put in, layouts spelled out."""

from __future__ import annotations

import collections.abc
import dataclasses
import functools
import typing
from collections.abc import Mapping
from typing import Any, Literal

from gpubench.dtypes import NAMES, canonical
from gpubench.errors import ParameterError
from gpubench.layout import Layout
from gpubench.suite.annotations import is_dataclass, members, origin
from gpubench.suite.types import Type_, is_placeholder


@dataclasses.dataclass(frozen=True, slots=True)
class Scope:
    """What a value may refer to: the variables of the case, and the shape beside it (for `transposed`)."""

    variables: Mapping[str, int]
    shape: tuple[int, ...] | None = None


def resolve_fields(cls: Type_, written: Mapping[str, Any], scope: Scope, field: str = "") -> dict[str, Any]:
    """Return the plain JSON of the fields of dataclass `cls` that were written, `shape` first as others may need it.

    ParameterError, naming the field below `field`, for a layout that needs another shape.
    """
    hints = _hints(cls)
    plain: dict[str, Any] = {}
    for name in sorted(written, key=lambda name: name != "shape"):
        plain[name] = _resolve(hints[name], written[name], scope, f"{field}{name}")
        if name == "shape" and isinstance(plain[name], list):
            scope = Scope(scope.variables, tuple(plain[name]))
    return plain


@functools.cache
def _hints(cls: Type_) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _resolve(annotation: Type_, value: Any, scope: Scope, field: str) -> Any:
    if annotation is Layout:
        return _layout(value, scope, field)
    if is_placeholder(value):
        return scope.variables[value[1:-1]]
    if isinstance(value, list):
        item = next(typing.get_args(member)[0] for member in members(annotation) if origin(member) is tuple)
        return [_resolve(item, each, scope, f"{field}.{position}") for position, each in enumerate(value)]
    if isinstance(value, dict):
        return _mapping(annotation, value, scope, field)
    return canonical(value) if _names_dtypes(annotation) else value


@functools.cache
def _names_dtypes(annotation: Type_) -> bool:
    words = {word for member in members(annotation) if origin(member) is Literal for word in typing.get_args(member)}
    return bool(words) and words <= {*NAMES}


def _mapping(annotation: Type_, value: dict[str, Any], scope: Scope, field: str) -> dict[str, Any]:
    for member in members(annotation):
        if is_dataclass(member) and value.keys() <= _hints(member).keys():
            return resolve_fields(member, value, scope, f"{field}.")
        if origin(member) is collections.abc.Mapping:
            item = typing.get_args(member)[1]
            return {key: _resolve(item, each, scope, f"{field}.{key}") for key, each in value.items()}
    raise TypeError(f"{field} passed validation as a mapping, but no member of {annotation} is one")


def _layout(value: Any, scope: Scope, field: str) -> dict[str, Any]:
    """Return the fields of a Layout. `transposed` swaps the last two dims in memory (a column-major matrix)."""
    if value == "contiguous":
        return {}
    if value != "transposed":
        return {name: _resolve_all(part, scope) for name, part in value.items()}
    if scope.shape is None or len(scope.shape) < 2:
        what = "no shape beside it" if scope.shape is None else f"a shape of {len(scope.shape)} dims"
        raise ParameterError(field, f"transposed swaps the last two dims, but there is {what}")
    order = list(range(len(scope.shape)))
    return {"permute": [*order[:-2], order[-1], order[-2]]}


def _resolve_all(value: Any, scope: Scope) -> Any:
    if isinstance(value, list):
        return [_resolve_all(item, scope) for item in value]
    return scope.variables[value[1:-1]] if is_placeholder(value) else value
