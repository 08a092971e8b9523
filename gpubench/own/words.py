"""What the user's own code calls a dtype: CUDA's names, for C types and for the types of parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from gpubench.own.expression import ExpressionError

C_TYPES: Mapping[str, str] = {
    "uint8": "unsigned char",
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "long long",
    "float16": "__half",
    "bfloat16": "__nv_bfloat16",
    "float32": "float",
    "float64": "double",
    "complex64": "float2",
    "complex128": "double2",
}
"""`{T}` in a name expression; complex numbers are pairs, as cuComplex.h has them."""

_BRACES = re.compile(r"\{([^{}]*)\}")


def filled(text: str, value: Callable[[str], str]) -> str:
    """Return a text with each `{expression}` replaced by its value. ExpressionError for a brace that stays open."""
    done = _BRACES.sub(lambda match: value(match[1].strip()), text)
    if "{" in done or "}" in done:
        raise ExpressionError(f"{text!r}: a brace is open; write {{name}}")
    return done


def braced(text: str) -> list[str]:
    """Return what stands in the braces of a text."""
    return [match.strip() for match in _BRACES.findall(text)]
