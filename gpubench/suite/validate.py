"""What pydantic finds wrong with a value, as mistakes at their places in the file."""

from __future__ import annotations

import difflib
import types
import typing
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Annotated, Any

import pydantic

from gpubench.suite.read import Document, Path_, printable
from gpubench.suite.types import Type_, did_you_mean, found

MAX_FAULTS = 200
"""How many faults of one value are looked into: a hostile file has tens of thousands, and nobody reads them."""

Fault = tuple[Path_, str, bool]
"""Where below the value, what is wrong, and whether the key (rather than the value) is at fault."""


class Checker:
    """Tells what is wrong with a value of one type."""

    def __init__(self, wanted: Type_) -> None:
        """Prepare to check values of the pydantic type `wanted`."""
        self._wanted = wanted
        self.adapter: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(wanted)

    def faults(self, value: Any) -> list[Fault]:
        """Return what is wrong with a value, MAX_FAULTS at most; an empty list when it fits."""
        try:
            self.adapter.validate_python(value)
        except pydantic.ValidationError as error:
            details = error.errors(include_url=False)[:MAX_FAULTS]
        else:
            return []
        strange = {_place(detail)[:-1] for detail in details if detail["type"] == "extra_forbidden"}
        return [self._fault(detail, value) for detail in details if not self._says_nothing(detail, strange)]

    def _says_nothing(self, detail: Mapping[str, Any], strange: Collection[Path_]) -> bool:
        """Tell whether a missing key is one of a reading that a mapping with a strange key need not have meant."""
        above = _place(detail)[:-1]
        return detail["type"] == "missing" and above in strange and len(models_at(self._wanted, above)) > 1

    def _fault(self, detail: Mapping[str, Any], value: Any) -> Fault:
        if detail["type"] != "extra_forbidden":
            return _fault(detail)
        *above, key = _place(detail)
        written = value
        for part in above:
            written = written[part]
        near = nearest(models_at(self._wanted, above), written)
        return (*above, key), unknown_key(str(key), [name for model in near for name in model.model_fields]), True

    def fits(self, value: Any) -> bool:
        """Tell whether nothing is wrong with a value."""
        return not self.faults(value)


def note(document: Document, base: Path_, faults: Iterable[Fault]) -> None:
    """Put faults of the value at `base` into the document's mistakes."""
    for path, message, key in faults:
        document.add((*base, *path), message, key=key)


def unknown_key(key: str, allowed: Iterable[str]) -> str:
    """Return the message for a key that does not exist, naming the nearest one or all."""
    words = list(dict.fromkeys(allowed))
    if key in words:  # of mappings that exclude each other
        return f"the key {printable(key)!r} does not go with those beside it; write one of: {', '.join(words)}"
    hint = did_you_mean(key, words) or f" Allowed: {', '.join(words)}."
    return f"there is no key {printable(key)!r} here.{hint}"


def models_at(wanted: Type_, path: Sequence[str | int]) -> list[type[pydantic.BaseModel]]:
    """Return the kinds of mapping that may stand at a place below a value of the type `wanted`."""
    if isinstance(wanted, type) and issubclass(wanted, pydantic.BaseModel):
        if not path:
            return [wanted]
        field = wanted.model_fields.get(str(path[0]))
        return [] if field is None else models_at(field.annotation, path[1:])
    base: Any = typing.get_origin(wanted)
    arguments = typing.get_args(wanted)
    if base is Annotated:
        return models_at(arguments[0], path)
    if base is typing.Union or base is types.UnionType:
        return [model for member in arguments for model in models_at(member, path)]
    if base in (list, dict) and path:
        return models_at(arguments[-1], path[1:])
    return []


def nearest(models: Sequence[type[pydantic.BaseModel]], written: Iterable[Any]) -> list[type[pydantic.BaseModel]]:
    """Return the kinds of mapping that what is written comes nearest to: by shared keys, then by likeness of keys."""
    keys = [str(key)[:100] for key in written]

    def likeness(model: type[pydantic.BaseModel]) -> tuple[int, int]:
        alike = [difflib.get_close_matches(key, model.model_fields, n=1) for key in keys]
        return len({*keys} & {*model.model_fields}), sum(map(len, alike))

    best = max(map(likeness, models), default=(0, 0))
    return [model for model in models if likeness(model) == best]


def _place(detail: Mapping[str, Any]) -> Path_:
    """Return where a fault is, without the tags of unions, which begin with `<` (a foreign key may, too)."""
    *above, last = detail["loc"] or ("<",)
    path = tuple(part for part in above if not str(part).startswith("<"))
    return (*path, last) if detail["type"] == "extra_forbidden" or not str(last).startswith("<") else path


def _fault(error: Mapping[str, Any]) -> Fault:
    path = _place(error)
    context, here = error.get("ctx") or {}, error["input"]
    match error["type"]:
        case "suite":
            return path, context.get("message") or f"found {found(here)}; allowed is {error['msg']}", False
        case "missing":
            return path[:-1], f"the key {path[-1]} is missing", False
        case "too_long":
            return path, f"found {found(here)}; at most {context['max_length']} are allowed", False
        case "too_short":
            return path, f"found {found(here)}; at least {context['min_length']} must be there", False
        case "list_type":
            return path, f"found {found(here)}; allowed is a list", False
    return path, f"found {found(here)}; allowed is a mapping", False
