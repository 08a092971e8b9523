"""The signature by which a function of a shared library is called: `(x, y, int64(n), stream) -> int32`."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from gpubench.own.arguments import Written, read_argument
from gpubench.own.expression import ExpressionError

STREAM = "stream"
"""Names the stream's handle, a pointer."""

_WHOLE = re.compile(r"\s*\((.*)\)\s*->\s*(int32|void)\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Signature:
    """The arguments in order, None for the stream. `has_code`: the function returns 0, or an error's number."""

    arguments: tuple[Written | None, ...]
    has_code: bool


def read_signature(text: str, operands: Collection[str], known: Collection[str]) -> Signature:
    """Read a signature. ExpressionError in one line."""
    match = _WHOLE.fullmatch(text)
    if match is None:
        raise ExpressionError(f"{text!r} is no signature: write (x, y, int64(n), stream) -> int32, or -> void")
    parts = [part.strip() for part in _split(match[1])] if match[1].strip() else []
    arguments = tuple(None if part == STREAM else read_argument(part, operands, known) for part in parts)
    return Signature(arguments, match[2] == "int32")


def _split(text: str) -> list[str]:
    """Cut at the commas that stand in no parentheses."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in "([") - (char in ")]")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return parts


def signature_mistake(text: str, operands: Collection[str], known: Collection[str]) -> str | None:
    """Return what is wrong with a signature, None when it can be read."""
    try:
        read_signature(text, operands, known)
    except ExpressionError as error:
        return str(error)
    return None
