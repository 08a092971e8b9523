"""The arithmetic that a suite may write: whole numbers, documented names and a few functions, walked and never run.

    ceil_div(rows, 4)      row_size <= 1024 and dtype in [float32, float16]      256 if n > 4096 else 64

Python's parser reads the text; the walk below knows the nodes listed in it and refuses every other one, by its place.
Texts have at most 200 characters and 20 levels; every number met on the way lies below 2^63.
"""

from __future__ import annotations

import ast
import difflib
import operator
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpubench.dtypes import NAMES
from gpubench.operators.geometry.rounding import ceil_div, power_of_two

Value = int | float | str
"""A number, a truth (1 or 0), or a word such as `float32`."""

LONGEST = 200
DEEPEST = 20
LIMIT = 2**63


class ExpressionError(ValueError):
    """An expression that is not one, or that has no value here. The message is one line."""


def _round_up(a: int, b: int) -> int:
    return ceil_div(a, b) * b


FUNCTIONS: dict[str, tuple[Callable[..., Any], int, str]] = {
    "ceil_div": (ceil_div, 2, "ceil_div(a, b): a / b, rounded up"),
    "round_up": (_round_up, 2, "round_up(a, b): the next multiple of b that is at least a"),
    "pow2_at_least": (power_of_two, 1, "pow2_at_least(a): the next power of two that is at least a"),
    "min": (min, 0, "min(a, b, ...)"),
    "max": (max, 0, "max(a, b, ...)"),
}
"""Each function with the number of its arguments (0: two or more) and what it is."""

_ARITHMETIC: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod),
    ast.LShift: ("<<", operator.lshift),
    ast.RShift: (">>", operator.rshift),
}
_OF_FLOATS = ("+", "-", "*")
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_NAMES_OF_NODES = {
    "Attribute": "a dot",
    "Subscript": "square brackets behind a name",
    "Lambda": "lambda",
    "ListComp": "a comprehension",
    "GeneratorExp": "a comprehension",
    "SetComp": "a comprehension",
    "DictComp": "a comprehension",
    "Pow": "**",
    "Div": "/ (write // to divide whole numbers)",
    "BitAnd": "& (write and)",
    "BitOr": "| (write or)",
    "BitXor": "^",
    "Starred": "*",
    "keyword": "a keyword argument",
    "JoinedStr": "text",
    "NamedExpr": ":=",
    "Tuple": "a comma",
}


@dataclass(frozen=True, slots=True)
class Expression:
    """A text that was read and whose names are known. Equal texts are equal."""

    text: str
    _tree: ast.expr

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def names(self) -> frozenset[str]:
        """Return the names that occur in it, functions left out."""
        called = {id(node.func) for node in ast.walk(self._tree) if isinstance(node, ast.Call)}
        found = (node for node in ast.walk(self._tree) if isinstance(node, ast.Name) and id(node) not in called)
        return frozenset(node.id for node in found)

    def value(self, names: Mapping[str, Value]) -> Value:
        """Return its value. ExpressionError for a name without a value here, a division by zero and the like."""
        return _Walk(self.text, names).value(self._tree)

    def whole(self, names: Mapping[str, Value]) -> int:
        """Return its value, a whole number. ExpressionError for any other."""
        value = self.value(names)
        if not isinstance(value, int):
            raise ExpressionError(f"{self.text} is {value}, not a whole number")
        return int(value)


def read(text: str | int | float, known: Collection[str]) -> Expression:
    """Read an expression over the names `known`. ExpressionError, in one line, for what the language does not have."""
    text = str(text).strip()
    if not 1 <= len(text) <= LONGEST:
        raise ExpressionError(f"an expression has 1 to {LONGEST} characters; this one has {len(text)}")
    if not (text.isascii() and text.isprintable()):
        raise ExpressionError("an expression is plain printable ASCII")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError, OverflowError):
        raise ExpressionError(f"{text!r} is no expression: write numbers, names, + - * // %, comparisons") from None
    _refuse_strange(tree, text)
    expression = Expression(text, tree)
    for name in sorted(expression.names() - {*known}):
        raise ExpressionError(unknown(name, known))
    return expression


def unknown(name: str, known: Collection[str]) -> str:
    """Return the message for a name that means nothing, with the nearest one or all of them."""
    near = difflib.get_close_matches(name, known, n=1)
    plain = sorted(other for other in known if "_stride_" not in other and other not in NAMES)
    hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(plain)}"
    return f"unknown name {name}; {hint}"


def _refuse_strange(tree: ast.expr, text: str) -> None:
    """Refuse every node that the walk does not take, before anything is worked out."""
    waiting: list[tuple[ast.AST, int]] = [(tree, 1)]
    while waiting:
        node, depth = waiting.pop()
        if depth > DEEPEST:
            raise ExpressionError(f"an expression is nested at most {DEEPEST} levels deep")
        waiting += ((child, depth + 1) for child in _children(node, text))


def _children(node: ast.AST, text: str) -> Iterator[ast.AST]:
    match node:
        case ast.Name() | ast.Constant() if _is_plain(node):
            return
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Not(), operand=operand):
            yield operand
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            yield from (left, right)
        case ast.BoolOp(values=values):
            yield from values
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield from (test, body, orelse)
        case ast.Compare():
            yield from _compared(node, text)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            _refuse_call(name, len(arguments))
            yield from arguments
        case _:
            raise ExpressionError(f"{text!r} has {_strange(node)}, which expressions do not have")


def _is_plain(node: ast.Name | ast.Constant) -> bool:
    """Tell whether a leaf is a name or a number that is not too large."""
    if isinstance(node, ast.Name):
        return True
    return isinstance(node.value, int | float) and -LIMIT < node.value < LIMIT


def _compared(node: ast.Compare, text: str) -> Iterator[ast.AST]:
    yield node.left
    for op, comparator in zip(node.ops, node.comparators, strict=True):
        if isinstance(op, ast.In | ast.NotIn) and isinstance(comparator, ast.List):
            yield from comparator.elts
        elif type(op) in _COMPARISONS:
            yield comparator
        else:
            raise ExpressionError(f"{text!r}: compare with == != < <= > >=, or `in [a, b]`")


def _refuse_call(name: str, count: int) -> None:
    if name not in FUNCTIONS:
        raise ExpressionError(f"there is no function {name}; there are {', '.join(FUNCTIONS)}")
    _, wanted, told = FUNCTIONS[name]
    if count != wanted and not (wanted == 0 and count >= 2):
        raise ExpressionError(f"{name} has {count} arguments here; it is {told}")


def _strange(node: ast.AST) -> str:
    """Return what a node that is refused is called."""
    if isinstance(node, ast.Constant):
        return "a number of 2^63 or more" if isinstance(node.value, int | float) else "text or a constant"
    if isinstance(node, ast.Call):
        return "a call of something that is no function of the language"
    inner = node.op if isinstance(node, ast.BinOp | ast.UnaryOp) else node
    name = type(inner).__name__
    return _NAMES_OF_NODES.get(name, name)


class _Walk:
    """Works out the value of a tree that `_refuse_strange` let through."""

    def __init__(self, text: str, names: Mapping[str, Value]) -> None:
        self._text = text
        self._names = names

    def value(self, node: ast.expr) -> Value:
        """Return a node's value, bounded."""
        found = self._value(node)
        if not isinstance(found, str) and not -LIMIT < found < LIMIT:
            raise ExpressionError(f"{self._text}: a number of 2^63 or more on the way")
        return int(found) if isinstance(found, bool) else found

    def _value(self, node: ast.expr) -> Value:
        match node:
            case ast.Constant(value=value):
                return value  # type: ignore[return-value] # only numbers come here
            case ast.Name(id=name):
                if name not in self._names:
                    raise ExpressionError(f"{self._text}: {name} has no value in this case")
                return self._names[name]
            case ast.BinOp(left=left, op=op, right=right):
                return self._arithmetic(*_ARITHMETIC[type(op)], self.value(left), self.value(right))
            case ast.UnaryOp(op=op, operand=operand):
                value = self.number(operand)
                return int(not value) if isinstance(op, ast.Not) else -value if isinstance(op, ast.USub) else value
            case ast.BoolOp(op=op, values=values):
                wanted = isinstance(op, ast.Or)
                return int(wanted if any(bool(self.number(operand)) is wanted for operand in values) else not wanted)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.value(body if self.number(test) else orelse)
            case ast.Compare(left=left, ops=ops, comparators=right):
                return self._compare(left, ops, right)
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return self._call(name, [self._whole(argument, name) for argument in arguments])
        raise AssertionError(node)

    def number(self, node: ast.expr) -> int | float:
        """Return a node's value where a number is needed."""
        value = self.value(node)
        if isinstance(value, str):
            raise ExpressionError(f"{self._text}: {value} is a word, which is only compared: dtype == {value}")
        return value

    def _whole(self, node: ast.expr, what: str) -> int:
        value = self.number(node)
        if not isinstance(value, int):
            raise ExpressionError(f"{self._text}: {what} takes whole numbers, not {value}")
        return value

    def _arithmetic(self, sign: str, work: Callable[[Any, Any], Any], left: Value, right: Value) -> Value:
        for side in (left, right):
            if isinstance(side, str):
                raise ExpressionError(f"{self._text}: {side} is a word; {sign} takes numbers")
            if isinstance(side, float) and sign not in _OF_FLOATS:
                raise ExpressionError(f"{self._text}: {sign} takes whole numbers, not {side}")
        if sign in ("//", "%") and right == 0:
            raise ExpressionError(f"{self._text}: a division by zero")
        if sign in ("<<", ">>") and not 0 <= right < 63:  # type: ignore[operator] # words are gone
            raise ExpressionError(f"{self._text}: a shift by {right}; allowed are 0 to 62")
        found: Value = work(left, right)
        return found

    def _call(self, name: str, arguments: list[int]) -> int:
        if name in ("ceil_div", "round_up") and arguments[1] <= 0:
            raise ExpressionError(f"{self._text}: {name} divides by {arguments[1]}")
        return int(FUNCTIONS[name][0](*arguments))

    def _compare(self, left: ast.expr, ops: list[ast.cmpop], right: list[ast.expr]) -> int:
        value = self.value(left)
        for op, node in zip(ops, right, strict=True):
            if isinstance(op, ast.In | ast.NotIn):
                assert isinstance(node, ast.List)
                if (value in [self.value(element) for element in node.elts]) is isinstance(op, ast.NotIn):
                    return 0
                continue
            other = self.value(node)
            ordered = not isinstance(op, ast.Eq | ast.NotEq)
            if isinstance(value, str) is not isinstance(other, str) or (ordered and isinstance(value, str)):
                raise ExpressionError(f"{self._text}: {value} and {other} cannot be compared so")
            if not _COMPARISONS[type(op)](value, other):
                return 0
            value = other
        return 1
