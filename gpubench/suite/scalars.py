"""What an unquoted word of a suite means: the core schema of YAML 1.2, narrowed to finite numbers of sane length.

| written            | means                                                            |
|--------------------|------------------------------------------------------------------|
| `true` `false`     | a truth value (also `True`, `TRUE` ...); `yes`, `no`, `on` are text |
| `null` `~` nothing | null                                                             |
| `12` `-3` `010`    | whole numbers, always decimal (`010` is ten)                     |
| `0x1F` `0o17`      | hexadecimal and octal                                            |
| `1.5` `1e3` `.5`   | numbers with a fraction or exponent                              |
| `1:30` `1_000`     | text                                                             |
"""

from __future__ import annotations

import math
import re

Scalar = None | bool | int | float | str

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})
_INTEGER = re.compile(r"[-+]?[0-9]+")
_OTHER_BASE = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_LONGEST_NUMBER = 64


def resolve(text: str) -> Scalar:
    """Return the value of an unquoted scalar. ValueError (its message for the user) for a number that is refused."""
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if _NOT_FINITE.fullmatch(text):
        raise ValueError(f"{text} is not allowed: numbers in a suite are finite")
    if not (_INTEGER.fullmatch(text) or _OTHER_BASE.fullmatch(text) or _FLOAT.fullmatch(text)):
        return text
    if len(text) > _LONGEST_NUMBER:
        raise ValueError(f"a number of {len(text)} characters; at most {_LONGEST_NUMBER} are allowed")
    if _INTEGER.fullmatch(text):
        return int(text, 10)
    if _OTHER_BASE.fullmatch(text):
        return int(text[2:], 8 if text[1] == "o" else 16)
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large for a number")
    return number
