"""What pydantic finds wrong with a value, as mistakes at their places in the file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pydantic

from gpubench.suite.read import Document, Path_, printable
from gpubench.suite.types import MODELS, Type_, did_you_mean, found

MAX_FAULTS = 200
"""How many faults of one value are looked into: a hostile file has tens of thousands, and nobody reads them."""

Fault = tuple[Path_, str, bool]
"""Where below the value, what is wrong, and whether the key (rather than the value) is at fault."""


class Checker:
    """Tells what is wrong with a value of one type."""

    def __init__(self, wanted: Type_) -> None:
        """Prepare to check values of the pydantic type `wanted`."""
        self.adapter: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(wanted)

    def faults(self, value: Any) -> list[Fault]:
        """Return what is wrong with a value, MAX_FAULTS at most; an empty list when it fits."""
        try:
            self.adapter.validate_python(value)
        except pydantic.ValidationError as error:
            return [_fault(detail, value) for detail in error.errors(include_url=False)[:MAX_FAULTS]]
        return []

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


def _fault(error: Mapping[str, Any], value: Any) -> Fault:
    *above, last = error["loc"] or ("<",)
    path = tuple(part for part in above if not str(part).startswith("<"))
    if error["type"] == "extra_forbidden" or not str(last).startswith("<"):  # a foreign key may begin with anything
        path = (*path, last)
    context, here = error.get("ctx") or {}, error["input"]
    match error["type"]:
        case "suite":
            return path, context.get("message") or f"found {found(here)}; allowed is {error['msg']}", False
        case "missing":
            return path[:-1], f"the key {path[-1]} is missing", False
        case "extra_forbidden":
            return path, unknown_key(str(path[-1]), _known_keys(path[:-1], value)), True
        case "too_long":
            return path, f"found {found(here)}; at most {context['max_length']} are allowed", False
        case "too_short":
            return path, f"found {found(here)}; at least {context['min_length']} must be there", False
        case "list_type":
            return path, f"found {found(here)}; allowed is a list", False
    return path, f"found {found(here)}; allowed is a mapping", False


def _known_keys(path: Path_, value: Any) -> list[str]:
    """Return the keys of the model that shares most keys with the mapping at `path` (pydantic does not say which)."""
    for part in path:
        value = value[part]
    written = set(value)
    shared = [len(written & set(model.model_fields)) for model in MODELS]
    best = [model for model, count in zip(MODELS, shared, strict=True) if count == max(shared)]
    return [key for model in best for key in model.model_fields]
