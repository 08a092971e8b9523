"""From a dataclass to what a suite may write for it.

An operator's parameters are a plain frozen dataclass; `yaml_type` turns each annotation into a strict pydantic type. So
a new operator needs nothing here. What it may annotate: int, float, bool, str, Literal, Layout, None, unions,
tuple[X, ...], Mapping[str, X], and further dataclasses of these.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import functools
import types
import typing
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Discriminator, Tag

from gpubench.layout import Layout
from gpubench.suite.types import (
    LAYOUT_MAPPING,
    NULL,
    NUMBER,
    TEXT,
    TRUTH,
    WHOLE,
    Type_,
    choice,
    is_placeholder,
    list_of,
    mapping_of,
    strict_model,
)
from gpubench.suite.validate import nearest

_LAYOUT_WORDS = ("contiguous", "transposed")
_SIMPLE: dict[Any, Any] = {int: WHOLE, float: NUMBER, bool: TRUTH, str: TEXT, type(None): NULL}


def yaml_type(annotation: Type_) -> Type_:
    """Return the pydantic type of what a suite writes for a parameter so annotated. TypeError for an annotation that
    this module does not know (a mistake in an operator, not in a suite).
    """
    if annotation in _SIMPLE:
        return _SIMPLE[annotation]
    if annotation is Layout:
        return _one_of(
            (choice(_LAYOUT_WORDS, ", or a mapping of " + ", ".join(LAYOUT_MAPPING.model_fields)), "text"),
            (LAYOUT_MAPPING, "mapping"),
        )
    if is_dataclass(annotation):
        return _model(annotation)
    base, arguments = origin(annotation), typing.get_args(annotation)
    if base is Literal:
        return choice(arguments)
    if len(members(annotation)) > 1:
        return _union(arguments)
    if base is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return list_of(yaml_type(arguments[0]))
    if base in (collections.abc.Mapping, dict) and arguments[0] is str:
        return mapping_of(yaml_type(arguments[1]))
    raise TypeError(f"a suite cannot express a parameter of type {annotation}")


@functools.cache
def _model(cls: Type_) -> type[BaseModel]:
    hints = typing.get_type_hints(cls)
    keys = {
        field.name: (yaml_type(hints[field.name]), ... if is_required(field) else None)
        for field in dataclasses.fields(cls)
    }
    return strict_model(cls.__name__, cls.__doc__ or "", keys)


def is_dataclass(annotation: Type_) -> bool:
    """Tell whether an annotation is a dataclass (the standard function narrows its argument to less than is known)."""
    return dataclasses.is_dataclass(annotation)


def origin(annotation: Type_) -> Any:
    """Return typing.get_origin, whose declared type leaves most origins out."""
    return typing.get_origin(annotation)


def members(annotation: Type_) -> tuple[Type_, ...]:
    """Return the members of a union, or the annotation alone."""
    if origin(annotation) in (typing.Union, types.UnionType):
        return typing.get_args(annotation)
    return (annotation,)


def is_required(field: dataclasses.Field[Any]) -> bool:
    """Tell whether a dataclass field has no default."""
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _union(annotations: tuple[Type_, ...]) -> Type_:
    """Return the type of a union; an error of its words also names its other forms.

    A class whose `in_suites` is False stands in cases only, where an operator has put it.
    """
    annotations = tuple(annotation for annotation in annotations if getattr(annotation, "in_suites", True))
    forms = [_shape_of(annotation) for annotation in annotations]
    told = (_told(annotation, form) for annotation, form in zip(annotations, forms, strict=True) if form != "text")
    others = " or ".join(dict.fromkeys(told))
    return _one_of(
        *(
            (
                choice(typing.get_args(annotation), f", or {others}")
                if origin(annotation) is Literal
                else yaml_type(annotation),
                form,
            )
            for annotation, form in zip(annotations, forms, strict=True)
        )
    )


def _told(annotation: Type_, form: str) -> str:
    """Say what is written for a member of a union: `{below: ...}` for a mapping whose keys are known."""
    if not is_dataclass(annotation):
        return _FORMS[form]
    return "{" + ", ".join(f"{field.name}: ..." for field in dataclasses.fields(annotation)) + "}"


def _shape_of(annotation: Type_) -> str:
    """Name the form of YAML that an annotation is written in; a union may hold several mappings, else one of each."""
    base = origin(annotation)
    if base is Literal or annotation is str:
        return "text"
    if base is tuple:
        return "list"
    if annotation is type(None):
        return "null"
    if annotation is bool:
        return "truth"
    return "number" if annotation in (int, float) else "mapping"


def _form(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "truth"
        case int() | float():
            return "number"
        case str():
            return "number" if is_placeholder(value) else "text"
    return "list" if isinstance(value, list) else "mapping"


_FORMS = {
    "text": "text",
    "list": "a list",
    "null": "null",
    "truth": "true or false",
    "number": "a number",
    "mapping": "a mapping",
}


def _one_of(*members: tuple[Type_, str]) -> Type_:
    """Return a union whose member is chosen by the form of what is written, so that errors speak of that member only.

    Tags start with `<`, which marks them in the places that pydantic reports.
    """
    tags = [f"<{form}{position}>" for position, (_, form) in enumerate(members)]

    def select(value: Any) -> str | None:
        form = _form(value)
        fitting = [tag for tag, (_, its_form) in zip(tags, members, strict=True) if its_form == form]
        if form != "mapping" or len(fitting) < 2:
            return fitting[0] if fitting else None
        near = nearest([members[tags.index(tag)][0] for tag in fitting], value)
        return next(tag for tag in fitting if members[tags.index(tag)][0] is near[0])

    tagged = tuple(Annotated[member, Tag(tag)] for (member, _), tag in zip(members, tags, strict=True))
    wanted = " or ".join(dict.fromkeys(_FORMS[form] for _, form in members))
    chosen = Discriminator(select, custom_error_type="suite", custom_error_message=wanted)
    return Annotated[typing.Union[tagged], chosen]  # noqa: UP007 # a tuple made at run time
