"""A launch's arguments held against its kernel's parameters, so that a wrong one is a line and not a crash."""

from __future__ import annotations

from collections.abc import Sequence

from gpubench.errors import CompileError
from gpubench.model import Argument, Launch, Value

_BY_SIZE = {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}


def size_of(argument: Argument) -> int:
    """Return the bytes that an argument takes."""
    return len(argument.data) if isinstance(argument, Value) else 8


def require_fit(launch: Launch, wanted: Sequence[int] | None) -> None:
    """Hold a launch's arguments against the sizes in bytes of its kernel's parameters; None: nobody knows them.

    CompileError names the first argument that does not fit, and the fix.
    """
    given = [size_of(argument) for argument in launch.arguments]
    if wanted is None or list(wanted) == given:
        return
    names = launch.foreign.arguments if launch.foreign else tuple(map(str, range(1, len(given) + 1)))
    if len(wanted) != len(given):
        listed = ", ".join(names) or "none"
        raise CompileError(
            f"{launch.kernel} takes {len(wanted)} parameter{'s' * (len(wanted) != 1)}, and `arguments` gives "
            f"{len(given)}: {listed}"
        )
    for number, (size, argument, name) in enumerate(zip(wanted, launch.arguments, names, strict=True), 1):
        if size != size_of(argument):
            raise CompileError(
                f"argument {number} of {launch.kernel} takes {size} bytes, and {name} gives {size_of(argument)}: "
                + _fix(argument, name, size)
            )


def _fix(argument: Argument, name: str, size: int) -> str:
    if not isinstance(argument, Value):
        return f"{name} is a pointer of 8 bytes; is the order of `arguments` that of the parameters?"
    if size not in _BY_SIZE:
        return "a struct cannot be passed by value"
    head, _, inner = name.partition("(")
    return f"write {_BY_SIZE[size]}({inner.removesuffix(')') if head in CASTS else name})"


CASTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
"""The types that an argument's number may be written as: `int32(rows)`."""
