"""The types of a suite's values, as pydantic understands them: strict, and with errors that say what was found and what
is allowed.

In every place for a whole number a placeholder, "{n}", may stand: expand.py puts the variable's value there.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterable
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, Field, PlainValidator, WithJsonSchema, create_model
from pydantic_core import PydanticCustomError

from gpubench.dtypes import ALIASES
from gpubench.suite.read import printable

MAX_DIMS = 8
MAX_WHOLE = 2**62
PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")

Type_: TypeAlias = Any  # an annotation: a class, a special form or Annotated; the type system has no name for all

# --- What was found, what is allowed ---------------------------------------------------------------------------------


def found(value: Any) -> str:
    """Describe a value of a suite in a message."""
    match value:
        case None:
            return "nothing (null)"
        case bool():
            return "true" if value else "false"
        case str():
            return f"the text {printable(value)!r}"
        case int() | float():
            return (
                str(value) if abs(value) < MAX_WHOLE else f"{float(value):.3g}" if abs(value) < 2**1000 else "too much"
            )
        case list():
            return f"a list of {len(value)}"
    return "a mapping"


def did_you_mean(word: Any, allowed: Iterable[str]) -> str:
    """Return ` Did you mean x?`, or nothing when no allowed word is near."""
    if not isinstance(word, str) or len(word) > 100:
        return ""
    by_lower = {name.lower(): name for name in allowed}
    near = difflib.get_close_matches(word.lower(), by_lower, n=1)
    return f" Did you mean {by_lower[near[0]]}?" if near else ""


def _error(message: str) -> PydanticCustomError:
    return PydanticCustomError("suite", "{message}", {"message": message})


# --- Scalars ---------------------------------------------------------------------------------------------------------


def is_placeholder(value: Any) -> bool:
    """Tell whether a value is text such as "{n}"."""
    return isinstance(value, str) and PLACEHOLDER.fullmatch(value) is not None


def whole(low: int, high: int, placeholder: bool = False) -> Type_:
    """Return the type of whole numbers from `low` to `high`; `1e3` is one, `1.5` is not."""

    def validate(value: Any) -> int | str:
        if placeholder and is_placeholder(value):
            return str(value)
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
            hint = " Write numbers without underscores." if isinstance(value, str) and "_" in value else ""
            hint = (
                ' A placeholder looks like "{n}".' if placeholder and isinstance(value, str) and "{" in value else hint
            )
            raise _error(f"found {found(value)}; allowed is a whole number.{hint}")
        if not low <= value <= high:
            raise _error(f"found {found(value)}; allowed is a whole number from {low} to {high}")
        return int(value)

    number = {"type": "integer", "minimum": low, "maximum": high}
    schema = {"anyOf": [number, {"type": "string", "pattern": f"^{PLACEHOLDER.pattern}$"}]} if placeholder else number
    return Annotated[Any, PlainValidator(validate), WithJsonSchema(schema)]


def number(low: float = -math.inf, high: float = math.inf) -> Type_:
    """Return the type of finite numbers from `low` to `high`."""

    def validate(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _error(f"found {found(value)}; allowed is a number")
        if not low <= value <= high or abs(value) > 1e308:
            limits = f" from {low:g} to {high:g}" if math.isfinite(low) and math.isfinite(high) else " of float64"
            raise _error(f"found {found(value)}; allowed is a number{limits}")
        return float(value)

    limits = {"minimum": low, "maximum": high} if math.isfinite(low) and math.isfinite(high) else {}
    return Annotated[Any, PlainValidator(validate), WithJsonSchema({"type": "number", **limits})]


def text(pattern: str, meaning: str) -> Type_:
    """Return the type of texts that `pattern` matches as a whole; `meaning` names them in errors."""

    def validate(value: Any) -> str:
        if not isinstance(value, str) or re.fullmatch(pattern, value) is None:
            raise _error(f"found {found(value)}; allowed is {meaning}")
        return value

    return Annotated[Any, PlainValidator(validate), WithJsonSchema({"type": "string", "pattern": f"^({pattern})$"})]


def text_that(fits: Callable[[str], bool], meaning: str) -> Type_:
    """Return the type of texts that `fits` accepts; `meaning` names them in errors."""

    def validate(value: Any) -> str:
        if not isinstance(value, str) or not fits(value):
            raise _error(f"found {found(value)}; allowed is {meaning}")
        return value

    return Annotated[Any, PlainValidator(validate), WithJsonSchema({"type": "string"})]


def choice(allowed: tuple[Any, ...], also: str = "") -> Type_:
    """Return the type of a few fixed words. `also` says in errors what may be written that is no word. A dtype's alias
    is taken wherever the dtype is.
    """
    words = [str(word) for word in allowed]
    taken = [*allowed, *(alias for alias, name in ALIASES.items() if name in allowed)]

    def validate(value: Any) -> Any:
        if isinstance(value, bool) or value not in taken:
            hint = did_you_mean(value, words)
            raise _error(f"found {found(value)}; allowed: {', '.join(words)}{also}.{hint}")
        return value

    return Annotated[Any, PlainValidator(validate), WithJsonSchema({"enum": taken})]


def one_of_names(names: Callable[[], tuple[str, ...]], pattern: str = "", examples: tuple[str, ...] = ()) -> Type_:
    """Return the type of registered names, and of texts that `pattern` matches as a whole; `examples` of these.

    The registry is asked when a value is checked, so that a name added later counts.
    """

    def validate(value: Any) -> str:
        known = (*examples, *names())
        if isinstance(value, str) and (value in names() or (pattern and re.fullmatch(pattern, value))):
            return value
        raise _error(f"found {found(value)}; allowed: {', '.join(known)}.{did_you_mean(value, known)}")

    words: dict[str, Any] = {"enum": [*names()]}
    schema = {"anyOf": [words, {"type": "string", "pattern": f"^({pattern})$"}]} if pattern else words
    return Annotated[Any, PlainValidator(validate), WithJsonSchema(schema)]


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _error(f"found {found(value)}; allowed: true, false.")
    return value


def _nothing(value: Any) -> None:
    if value is not None:
        raise _error(f"found {found(value)}; allowed is null")


WHOLE = whole(-MAX_WHOLE, MAX_WHOLE, placeholder=True)
NUMBER = number()
TEXT = text(r"[^\x00-\x1f\x7f]{1,200}", "a line of 1 to 200 characters")
TRUTH = Annotated[Any, PlainValidator(_truth), WithJsonSchema({"type": "boolean"})]
NULL = Annotated[Any, PlainValidator(_nothing), WithJsonSchema({"type": "null"})]

# --- Lists and mappings ----------------------------------------------------------------------------------------------


def list_of(item: Type_, at_least: int = 0, at_most: int = MAX_DIMS) -> Type_:
    """Return the type of lists of `item`."""
    return Annotated[list[item], Field(min_length=at_least, max_length=at_most)]


def mapping_of(item: Type_, at_most: int = MAX_DIMS) -> Type_:
    """Return the type of mappings from any text to `item`."""
    return Annotated[dict[str, item], Field(max_length=at_most)]


def strict_model(name: str, description: str, keys: dict[str, tuple[Type_, Any]]) -> type[BaseModel]:
    """Return the type of mappings with known keys only: each has a type and a default (`...`: it must be there)."""
    fields: dict[str, Any] = dict(keys)
    model: type[BaseModel] = create_model(name, __config__={"extra": "forbid"}, **fields)
    model.__doc__ = description
    return model


LAYOUT_MAPPING = strict_model(
    "LayoutMapping",
    "permute: the order of dims in memory, slowest first. step: distance in elements between neighbours of the fastest "
    "dim. expand: dims that are broadcast. offset: elements before the first one.",
    {"permute": (list_of(WHOLE), []), "step": (WHOLE, 1), "expand": (list_of(WHOLE), []), "offset": (WHOLE, 0)},
)
