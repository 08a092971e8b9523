"""The compiler options that a suite may set: those that choose code, and none that opens a file."""

from __future__ import annotations

import re
from collections.abc import Sequence

_ALLOWED = re.compile(
    r"-[DU][A-Za-z_]\w*(?:=[\w.+{} -]*)?"
    r"|--?use_fast_math|--?lineinfo|--?std=c\+\+(?:14|17|20)"
    r"|--?maxrregcount=\d{1,3}|--?(?:fmad|ftz|prec-div|prec-sqrt|extra-device-vectorization)(?:=(?:true|false))?"
)
_ON_HOST = re.compile(r"-[DU].*")


def option_mistake(option: str) -> str | None:
    """Return what is wrong with an option, None when it is allowed."""
    if _ALLOWED.fullmatch(option):
        return None
    return (
        f"the option {option!r} is not among those that a suite may set: -DNAME=VALUE -UNAME -use_fast_math -lineinfo "
        "-std=c++17 -maxrregcount=N --fmad=false --ftz=true --prec-div=false --prec-sqrt=false"
    )


def for_host(options: Sequence[str]) -> tuple[str, ...]:
    """Return the options that mean something to a C++ compiler of the host: definitions."""
    return tuple(option for option in options if _ON_HOST.fullmatch(option))
