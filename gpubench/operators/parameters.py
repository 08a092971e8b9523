"""Helpers for the operators' parameter dataclasses: JSON in and out, checks of shapes and dims, parts of a case id."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from gpubench.errors import ParameterError
from gpubench.layout import Layout, view
from gpubench.model import Json

T = TypeVar("T")


def to_json(params: Any) -> dict[str, Json]:
    """Return the plain JSON of an operator's parameter dataclass (what `Case.params` holds)."""
    plain: dict[str, Json] = _plain(dataclasses.asdict(params))
    return plain


def _plain(value: Any) -> Json:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value


@functools.cache
def _adapter(cls: Any) -> Any:
    import pydantic

    return pydantic.TypeAdapter(cls)


def from_json(cls: type[T], params: Mapping[str, Json]) -> T:
    """Turn the plain JSON of `to_json` back into the dataclass; ParameterError when it does not fit."""
    import pydantic

    try:
        value: T = _adapter(cast(Any, cls)).validate_python(dict(params))
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise ParameterError(field, str(first["msg"])) from None
    return value


def check_shape(field: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape; ParameterError for a negative size."""
    if any(size < 0 for size in shape):
        raise ParameterError(field, f"sizes must be at least 0, found {list(shape)}")
    return tuple(shape)


def count_dim(field: str, dim: int, dims: int) -> int:
    """Return `dim` counted from 0. A scalar counts as having one dim. ParameterError when it is out of range."""
    places = max(dims, 1)
    if not -places <= dim < places:
        raise ParameterError(field, f"{dim} is out of range for {dims} dims; allowed are {-places} to {places - 1}")
    return dim % places


def count_layout(field: str, layout: Layout, shape: tuple[int, ...]) -> Layout:
    """Return the layout with dims counted from 0 and trivial parts left out; ParameterError when it does not fit."""
    dims = len(shape)
    permute = layout.permute
    if permute is not None:
        permute = tuple(dim + dims if dim < 0 else dim for dim in permute)
    expand = tuple(sorted({dim + dims if dim < 0 else dim for dim in layout.expand}))
    counted = Layout(permute, layout.step, expand, layout.offset)
    try:
        view(shape, counted)
    except ValueError as error:
        raise ParameterError(field, str(error)) from None
    if permute == tuple(range(dims)):
        counted = dataclasses.replace(counted, permute=None)
    return counted


def shape_label(shape: tuple[int, ...]) -> str:
    """Return `4096x128`, or `scalar` for no dims."""
    return "x".join(str(size) for size in shape) if shape else "scalar"


def layout_label(layout: Layout) -> str:
    """Return what differs from contiguous, such as `permute1-0+step2+expand0+offset3`; empty when nothing does."""
    parts = []
    if layout.permute is not None:
        parts.append("permute" + "-".join(str(dim) for dim in layout.permute))
    if layout.step != 1:
        parts.append(f"step{layout.step}")
    if layout.expand:
        parts.append("expand" + "-".join(str(dim) for dim in layout.expand))
    if layout.offset:
        parts.append(f"offset{layout.offset}")
    return "+".join(parts)


def number_label(value: float) -> str:
    """Return the shortest text that reads back as the same number, whole numbers without a point."""
    text = repr(float(value))
    return text.removesuffix(".0")


def input_label(distribution: str, seed: int) -> str:
    """Return the end of a case id: what differs from normally distributed inputs of seed 1."""
    return f"/input={distribution}" * (distribution != "normal") + f"/seed={seed}" * (seed != 1)
