"""Reading JSON that nobody vouches for: bounded in size, depth, time and memory, with a key path in every complaint."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, NoReturn

from gpubench.errors import ResultFileError
from gpubench.model import Json

MAX_BYTES = 32 * 2**20
"""The largest file read. About two million samples: a thousand cases of five contenders stay far below."""
MAX_BYTES_NOT_ASCII = 8 * 2**20
"""The writer escapes everything outside ASCII; text that does not takes up to four bytes a character once read."""
MAX_MEMORY = 150 * 2**20
"""What the parsed file may take, by the estimate of `memory_estimate`."""
MAX_DEPTH = 32
MAX_TEXT_RUN = 4 * 2**20
"""The longest run of characters without a quotation mark: a text, or a list of some 200,000 samples."""
MAX_INTEGER = 2**64

_LINES = str.maketrans({chr(code): " " for code in (*range(32), *range(127, 160), 0x2028, 0x2029)})


class _Fault:
    """Stands in the parsed tree where the text was wrong, so that the walk can say at which path."""

    def __init__(self, message: str) -> None:
        self.message = message


def shown(value: object, limit: int = 80) -> str:
    """Return a short, printable form of something foreign, without control characters."""
    text = value if isinstance(value, str) else repr(value)
    text = text.translate(_LINES)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def parse(data: bytes, file: str) -> Node:
    """Return the root of the JSON document in `data`, every value of it checked for size, depth and finiteness.

    ResultFileError names `file` and, where there is one, the key path.
    """
    root = Node(None, file, "")
    _refuse_oversize(data, root)
    try:
        tree = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_unique,
            parse_constant=lambda name: _Fault(f"{name} is not a JSON number"),
            parse_float=_finite,
            parse_int=_integer,
        )
    except UnicodeDecodeError as error:
        root.fail(f"is not UTF-8 text (byte {error.start})")
    except json.JSONDecodeError as error:
        root.fail(f"is not JSON: {error.msg} at line {error.lineno}, column {error.colno}")
    except RecursionError:
        root.fail(f"is nested deeper than {MAX_DEPTH} levels")
    _walk(tree, file)
    return Node(tree, file, "")


def _refuse_oversize(data: bytes, root: Node) -> None:
    limit = MAX_BYTES if data.isascii() else MAX_BYTES_NOT_ASCII
    if len(data) > limit:
        root.fail(f"has {len(data)} bytes; at most {limit} are read")
    if _has_long_run(data):
        root.fail(f"holds a text or a list of more than {MAX_TEXT_RUN} characters")
    if memory_estimate(data) > MAX_MEMORY:
        root.fail("holds more values than a result file can have")


def _has_long_run(data: bytes) -> bool:
    """Tell whether MAX_TEXT_RUN characters follow each other without a quotation mark; leaps from mark to mark."""
    start = 0
    while len(data) - start >= MAX_TEXT_RUN:
        mark = data.rfind(b'"', start, start + MAX_TEXT_RUN)
        if mark < 0:
            return True
        start = mark + 1
    return False


def memory_estimate(data: bytes) -> int:
    """Return an upper guess, in bytes, of what the parsed values take: 120 a number kept as a sample, 40 a list ..."""
    return 100 * data.count(b",") + 140 * data.count(b"[") + 300 * data.count(b"{") + 60 * data.count(b'"')


def _unique(pairs: list[tuple[str, Json]]) -> Json:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            return _Fault(f"the key {shown(key)!r} stands twice")
        seen.add(key)
    return found  # pragma: no cover - two equal keys were counted above


def _finite(text: str) -> Json:
    value = float(text)
    return value if math.isfinite(value) else _Fault(f"the number {shown(text)} is too large")


def _integer(text: str) -> Json:
    if len(text) > 21 or abs(int(text)) >= MAX_INTEGER:
        return _Fault(f"the number {shown(text)} is too large")
    return int(text)


def _walk(tree: Json, file: str) -> None:
    """Look at every value once, without recursion. Numbers and texts need no visit: the parser has seen them."""
    pending: list[tuple[Json, str, int]] = [(tree, "", 1)] if isinstance(tree, _CONTAINERS) else []
    inner: list[tuple[str | int, Json]]
    while pending:
        value, path, depth = pending.pop()
        if isinstance(value, _Fault):
            Node(None, file, path).fail(value.message)
        if depth > MAX_DEPTH:
            Node(None, file, path).fail(f"is nested deeper than {MAX_DEPTH} levels")
        if isinstance(value, dict):
            inner = [(key, child) for key, child in value.items() if isinstance(child, _CONTAINERS)]
        else:
            inner = [(key, child) for key, child in enumerate(value) if isinstance(child, _CONTAINERS)]
        pending += [(child, _join(path, key), depth + 1) for key, child in inner]


_CONTAINERS = (dict, list, _Fault)


def _join(path: str, key: str | int) -> str:
    if isinstance(key, int):
        return f"{path}[{key}]"
    return f"{path}.{shown(key, 40)}" if path else shown(key, 40)


class Node:
    """A parsed value with its file and key path. The accessors return what was asked for or raise ResultFileError."""

    __slots__ = ("file", "path", "value")

    def __init__(self, value: Json, file: str, path: str) -> None:
        self.value = value
        self.file = file
        self.path = path

    def fail(self, message: str) -> NoReturn:
        """Raise the ResultFileError for this place."""
        raise ResultFileError(f"{self.file}: {self.path + ': ' if self.path else ''}{message}")

    def expected(self, what: str) -> NoReturn:
        """Raise: something else than `what` stands here."""
        self.fail(f"expected {what}, found {shown(self.value)}")

    def keys(self, required: frozenset[str], optional: frozenset[str] | None) -> None:
        """Check the keys of an object; `optional` None allows any others."""
        found = set(self.object())
        missing = sorted(required - found)
        if missing:
            self.fail(f"lacks {', '.join(missing)}")
        unknown = set() if optional is None else found - required - optional
        if unknown:
            self.fail(f"has keys that this version of the format does not know: {shown(', '.join(sorted(unknown)))}")

    def get(self, key: str) -> Node:
        """Return the value at `key`, a null where the key is absent."""
        return Node(self.object().get(key), self.file, _join(self.path, key))

    def has(self, key: str) -> bool:
        """Tell whether an object has the key with a value other than null."""
        return self.object().get(key) is not None

    def items(self) -> Iterator[Node]:
        """Yield the elements of a list."""
        for index, value in enumerate(self.array()):
            yield Node(value, self.file, _join(self.path, index))

    def object(self) -> dict[str, Json]:
        """Return the object that stands here."""
        return self.value if isinstance(self.value, dict) else self.expected("an object")

    def array(self) -> list[Json]:
        """Return the list that stands here."""
        return self.value if isinstance(self.value, list) else self.expected("a list")

    def text(self, allowed: tuple[str, ...] | None = None) -> str:
        """Return the text that stands here, one of `allowed` when given."""
        if not isinstance(self.value, str):
            self.expected("a text")
        if allowed is not None and self.value not in allowed:
            self.expected("one of " + ", ".join(allowed))
        return self.value

    def text_or_none(self) -> str | None:
        """Return the text or the null that stands here."""
        return None if self.value is None else self.text()

    def boolean(self) -> bool:
        """Return the true or false that stands here."""
        return self.value if isinstance(self.value, bool) else self.expected("true or false")

    def integer(self, lowest: int | None = None) -> int:
        """Return the whole number that stands here, at least `lowest`."""
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            self.expected("a whole number")
        if lowest is not None and self.value < lowest:
            self.expected(f"a whole number of at least {lowest}")
        return self.value

    def number(self, *, positive: bool = False, lowest: float | None = None) -> float:
        """Return the finite number that stands here as a float."""
        if not isinstance(self.value, int | float) or isinstance(self.value, bool):
            self.expected("a number")
        if positive and self.value <= 0:
            self.expected("a number above 0")
        if lowest is not None and self.value < lowest:
            self.expected(f"a number of at least {lowest:g}")
        return float(self.value)

    def number_or_none(self, *, lowest: float | None = None) -> float | None:
        """Return the number or the null that stands here."""
        return None if self.value is None else self.number(lowest=lowest)

    def times(self) -> list[float]:
        """Return a list of times: finite numbers above 0."""
        values = self.array()
        for index, value in enumerate(values):
            if type(value) is not float or value <= 0:
                Node(value, self.file, _join(self.path, index)).number(positive=True)
        return [float(value) for value in values]

    def numbers_or_nulls(self, length: int) -> list[float | None]:
        """Return a list of exactly `length` numbers of at least 0, or nulls."""
        values: list[Any] = self.array()
        if len(values) != length:
            self.fail(f"has {len(values)} entries where the samples number {length}")
        for index, value in enumerate(values):
            if value is not None and (type(value) is not float or value < 0):
                Node(value, self.file, _join(self.path, index)).number(lowest=0.0)
        return [None if value is None else float(value) for value in values]
