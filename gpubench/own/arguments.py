"""The arguments of a launch: what a suite writes for them, their bytes, and the C++ that asserts the parameters' types.

x                    an operand: a pointer to its first element
workspace + 256      an address in the workspace
rows * row_size      a number, an int64
int32(rows)          a number of another type
"""

from __future__ import annotations

import re
import struct
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from gpubench.dtypes import dtype
from gpubench.kernels.arguments import CASTS
from gpubench.kernels.foreign import MARK
from gpubench.kernels.sources import CHECKS
from gpubench.model import Argument, Operand, Pointer, Value, Workspace
from gpubench.own.expression import Expression, ExpressionError, read
from gpubench.own.expression import Value as Number

WORKSPACE = "workspace"

_CAST = re.compile(rf"({'|'.join(CASTS)})\s*\((.*)\)", re.DOTALL)
_FORMATS = dict(zip(CASTS, "bhiqBHIQfd", strict=True))


@dataclass(frozen=True, slots=True)
class Written:
    """An argument as it was written. `operand`: of a pointer; `number`: of all others, and a workspace's offset."""

    text: str
    operand: str = ""
    is_workspace: bool = False
    number: Expression | None = None
    cast: str = "int64"

    @property
    def is_pointer(self) -> bool:
        """True for an address."""
        return bool(self.operand) or self.is_workspace

    def packed(self, names: Mapping[str, Number]) -> Argument:
        """Return the argument of a launch. ExpressionError for a number that its type does not hold."""
        if self.operand:
            return Pointer(self.operand)
        offset = self.number.whole(names) if self.is_workspace and self.number else 0
        if self.is_workspace:
            return Workspace(offset)
        assert self.number is not None
        value = self.number.value(names)
        if isinstance(value, str):
            raise ExpressionError(f"{self.text} is the word {value}; a kernel takes numbers")
        if not self.cast.startswith("float") and not isinstance(value, int):
            raise ExpressionError(f"{self.text} is {value}, no whole number: write float32({self.text})")
        try:
            return Value(struct.pack(f"<{_FORMATS[self.cast]}", value))
        except (struct.error, OverflowError):
            raise ExpressionError(f"{self.text} is {value}, which {self.cast} does not hold") from None


def read_argument(text: str | int | float, operands: Collection[str], known: Collection[str]) -> Written:
    """Read one argument. ExpressionError in one line."""
    text = str(text).strip()
    if text in operands:
        return Written(text, operand=text)
    if text == WORKSPACE:
        return Written(text, is_workspace=True)
    head, plus, rest = text.partition("+")
    if head.strip() == WORKSPACE and plus:
        return Written(text, is_workspace=True, number=read(rest, known))
    cast = _CAST.fullmatch(text)
    try:
        number = read(cast[2] if cast else text, known)
    except ExpressionError as error:
        hint = f"; operands are {', '.join(operands)}" if operands and str(error).startswith("unknown") else ""
        raise ExpressionError(f"{error}{hint}") from None
    return Written(text, number=number, cast=cast[1] if cast else "int64")


# --- The parameters' types -------------------------------------------------------------------------------------------

_TRAITS = (
    """
#line 1 "@"
namespace gpubench_arguments {
template <class A, class B> struct Same { static constexpr bool value = false; };
template <class A> struct Same<A, A> { static constexpr bool value = true; };
template <class T> struct Plain { using type = T; static constexpr bool is_const = false; };
template <class T> struct Plain<const T> { using type = T; static constexpr bool is_const = true; };
template <class T> struct Plain<volatile T> { using type = T; static constexpr bool is_const = false; };
template <class T> struct To {
    using type = void;
    static constexpr bool is_pointer = false;
    static constexpr bool is_const = false;
};
template <class T> struct To<T*> {
    using type = typename Plain<T>::type;
    static constexpr bool is_pointer = true;
    static constexpr bool is_const = Plain<T>::is_const;
};
template <class T> struct Bytes { static constexpr int value = sizeof(T); };
template <> struct Bytes<void> { static constexpr int value = 1; };
template <class T> struct Kind {
    static constexpr bool is_float = Same<T, float>::value || Same<T, double>::value;
    static constexpr bool is_class = __is_class(T) || __is_union(T);
    static constexpr bool is_integer = !is_float && !is_class && !Same<T, void>::value && !To<T>::is_pointer;
};
template <int I, class H, class... A> struct At { using type = typename At<I - 1, A...>::type; };
template <class H, class... A> struct At<0, H, A...> { using type = H; };
template <class F> struct Parameters;
template <class... A> struct Parameters<void (*)(A...)> {
    static constexpr int count = sizeof...(A);
    template <int I, bool exists> struct Type { using type = void; };
    template <int I> struct Type<I, true> { using type = typename At<I, A...>::type; };
};
// Does memory of elements of `bytes` bytes, with floats of `part` bytes in them, make sense behind a T*?
template <class T, int bytes, int part, bool is_float> constexpr bool fits() {
    if (Bytes<T>::value == 1) return true;
    if (Kind<T>::is_class) return Bytes<T>::value != 2 || bytes == 2;
    if (Kind<T>::is_float) return is_float && Bytes<T>::value == part;
    return is_float || Bytes<T>::value == bytes;
}
}
"""
).replace("@", CHECKS)
"""Traits by hand: NVRTC has no <type_traits>. bytes and is_float describe an operand; a complex one is two floats."""


def checks(kernel: str, written: list[Written], operands: Mapping[str, Operand]) -> str:
    """Return C++ that asserts, behind a kernel's source, that its parameters have the types of the arguments.

    Where the count differs nothing is asserted: that has a message of its own, by the machine code.
    """
    name = f"gpubench_arguments::Parameters<decltype(&{kernel})>"
    lines = [_TRAITS]
    for index, argument in enumerate(written):
        exists = f"({name}::count == {len(written)})"
        kind = f"{name}::Type<{index}, {exists}>::type"
        for condition, message in _conditions(argument, operands):
            told = f"{MARK}argument {index + 1} of {_text(kernel)}, {_text(argument.text)}, {message}"
            lines.append(
                f'static_assert(!{exists} || {condition.replace("@", kind.removeprefix("typename "))}, "{told}");\n'
            )
    return "".join(lines)


def _conditions(argument: Written, operands: Mapping[str, Operand]) -> list[tuple[str, str]]:
    """Return (condition, with @ for the parameter's type, message) of what one argument asks."""
    pointer = "gpubench_arguments::To<@>"
    if not argument.is_pointer:
        is_float = argument.cast.startswith("float")
        other = ("int32" if argument.cast == "float32" else "int64") if is_float else "float32"
        return [
            (f"!{pointer}::is_pointer", "is a number, but that parameter is a pointer: is the order right?"),
            (
                f"({pointer}::is_pointer || gpubench_arguments::Kind<@>::is_float == {str(is_float).lower()} || "
                "gpubench_arguments::Kind<@>::is_class)",
                f"is {'a float' if is_float else 'a whole number'}, and that parameter is not: write {other}(...)",
            ),
        ]
    found = [(f"{pointer}::is_pointer", "is a pointer, but that parameter is none: is the order right?")]
    if argument.operand in operands:
        operand = operands[argument.operand]
        row = dtype(operand.dtype)
        if operand.role != "in":
            found.append((f"!{pointer}::is_const", "is written, but that parameter is const: is the order right?"))
        inexact = str(row.kind != "integer").lower()
        fits = f"gpubench_arguments::fits<{pointer}::type, {row.itemsize}, {dtype(row.part).itemsize}, {inexact}>()"
        told = f"has elements of {operand.dtype}, which is not what that parameter points to"
        found.append((f"(!{pointer}::is_pointer || {fits})", told))
    return found


def _text(words: str) -> str:
    return words.replace("\\", "\\\\").replace('"', '\\"')
