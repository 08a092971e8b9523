"""Read one suite file as plain data, with the place of every key and value, from text that nobody has vouched for.

The YAML parser only delivers events here: the tree is built by this module, so that size, depth and node limits hold
while the file is read, and nothing in it can name a Python object. Aliases, anchors, tags, merge keys, duplicate keys
and further documents are refused. Reading goes on after a mistake wherever the text can still be understood.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpubench.errors import Mistake, SuiteError, UsageError
from gpubench.files import read_bounded
from gpubench.suite.scalars import resolve

if TYPE_CHECKING:
    import yaml

MAX_BYTES = 1 << 20
MAX_DEPTH = 20
MAX_NODES = 50_000
MAX_MISTAKES = 50

Path_ = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """A line and a column, both counted from 1."""

    line: int
    column: int


@dataclass(slots=True)
class Document:
    """A suite as plain data (None, bool, int, float, str, list, dict), the place of everything in it, and the mistakes
    found. Paths are tuples of keys and list positions, `("cases", 0, "shape")`.
    """

    file: str
    data: Any = None
    keys: dict[Path_, Place] = field(default_factory=dict)
    values: dict[Path_, Place] = field(default_factory=dict)
    refused: set[Path_] = field(default_factory=set)
    mistakes: list[Mistake] = field(default_factory=list)
    noted: set[Mistake] = field(default_factory=set)

    @property
    def is_readable(self) -> bool:
        """False when reading had to stop, so that the data is no more than a part."""
        return () not in self.refused

    def place(self, path: Path_, *, key: bool = False) -> Place:
        """Return where `path` stands, or its nearest ancestor in the file. `key` asks for the place of the key."""
        for end in range(len(path), -1, -1):
            found = (self.keys.get(path[:end]) if key else None) or self.values.get(path[:end])
            if found is not None:
                return found
        return Place(1, 1)

    def add(self, path: Path_, message: str, *, key: bool = False) -> None:
        """Note a mistake at `path`, unless that place or one above it was refused already."""
        if not any(path[:end] in self.refused for end in range(len(path) + 1)):
            self._note(self.place(path, key=key), dotted(path), message)

    def refuse(self, path: Path_, place: Place, message: str) -> None:
        """Note a mistake at `path` and silence all further ones at or below it."""
        self._note(place, dotted(path), message)
        self.refused.add(path)

    def _note(self, place: Place, path: str, message: str) -> None:
        mistake = Mistake(self.file, place.line, place.column, path, message)
        if mistake not in self.noted:
            self.noted.add(mistake)
            self.mistakes.append(mistake)

    def check(self) -> None:
        """Raise SuiteError when there are mistakes: the first MAX_MISTAKES in the order of the file."""
        if not self.mistakes:
            return
        ordered = sorted(self.mistakes, key=lambda mistake: (mistake.line, mistake.column))
        if len(ordered) > MAX_MISTAKES:
            last = ordered[MAX_MISTAKES]
            rest = f"and {len(ordered) - MAX_MISTAKES} more mistakes from here on"
            ordered = [*ordered[:MAX_MISTAKES], Mistake(last.file, last.line, last.column, "", rest)]
        raise SuiteError(ordered)


def dotted(path: Path_) -> str:
    """Render a path as `cases[0].shape`, without control characters and not too long."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += ("." if text else "") + printable(part, 40)
    return text


def printable(text: str, longest: int = 60) -> str:
    """Return `text` cut to `longest` characters, with everything that a terminal might obey shown as an escape."""
    cut = text if len(text) <= longest else text[:longest] + "..."
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in cut)


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a suite file. UsageError when it cannot be read or holds more than MAX_BYTES."""
    try:
        return read_bounded(path, MAX_BYTES, pipes=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"Cannot read the suite {printable(str(path), 200)}: {reason}.") from error


def parse(data: bytes, file: str) -> Document:
    """Parse the bytes of a suite called `file`. Mistakes are kept in the result; `Document.check` raises them."""
    document = Document(file)
    if len(data) > MAX_BYTES:
        document.refuse((), Place(1, 1), f"the file is larger than {MAX_BYTES:,} bytes, the limit for a suite")
        return document
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        document.refuse((), Place(line, column), f"byte 0x{data[error.start]:02x} is not UTF-8 text")
        return document
    _Builder(document).build(text)
    return document


class _StopError(Exception):
    """Reading cannot go on; the reason is noted already."""


class _Builder:
    """Builds a document from parser events, with a stack of open lists and mappings instead of recursion."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.nodes = 0
        self.stack: list[_Open] = []

    def build(self, text: str) -> None:
        """Read the whole text."""
        try:
            for event in self._events(text):
                self._take(event)
        except _StopError:
            self.document.refused.add(())

    def _events(self, text: str) -> Iterator[yaml.Event]:
        import yaml

        try:
            yield from yaml.parse(text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            place = Place(mark.line + 1, mark.column + 1) if mark else Place(1, 1)
            parts = [part for part in (error.context, error.problem) if part]
            self._stop((), place, "not valid YAML: " + printable(", ".join(parts), 300))
        except yaml.reader.ReaderError as error:
            before = text[: error.position]
            place = Place(before.count("\n") + 1, error.position - before.rfind("\n"))
            self._stop((), place, f"not valid YAML: the character {text[error.position]!a} is not allowed")
        except (ValueError, OverflowError):  # the parser's own slips, such as an escape beyond the last code point
            place = self._last_place()
            self._stop((), place, "not valid YAML: a number or an escape after this place is out of range")

    def _last_place(self) -> Place:
        return next(reversed(self.document.values.values()), Place(1, 1))

    def _stop(self, path: Path_, place: Place, message: str) -> None:
        self.document.refuse(path, place, message)
        raise _StopError

    def _take(self, event: yaml.Event) -> None:
        import yaml

        mark = event.start_mark
        assert mark is not None  # the parser marks every event; only its type hints doubt it
        place = Place(mark.line + 1, mark.column + 1)
        if isinstance(event, yaml.DocumentStartEvent) and self.document.values:
            self._stop((), place, "a second document starts here; a suite is one document")
        elif isinstance(event, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
            self.stack.pop()
        elif isinstance(event, yaml.NodeEvent):
            self._count(place)
            path = self._next_path(event, place)
            if path is not None:
                self._node(event, place, path)

    def _count(self, place: Place) -> None:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            self._stop((), place, f"more than {MAX_NODES:,} values; a suite of that size should use ranges and lists")

    def _next_path(self, event: yaml.NodeEvent, place: Place) -> Path_ | None:
        """Return the path of this node, or None when it was a key (or belongs to a key that is no text)."""
        if not self.stack:
            return ()
        top = self.stack[-1]
        if isinstance(top.data, list):
            return (*top.path, len(top.data))
        if top.key is None:
            top.key = self._key(event, place, top)
            return None
        path = (*top.path, top.key)
        top.key = None
        return path

    def _key(self, event: yaml.NodeEvent, place: Place, top: _Open) -> str:
        import yaml

        self._properties(event, place, top.path)
        if not isinstance(event, yaml.ScalarEvent):
            self._stop(top.path, place, "a key must be text, not a list, a mapping or an alias")
            raise _StopError
        key = self._scalar(event, place, (*top.path, event.value))
        if not isinstance(key, str):
            self.document.add(top.path, f"the key {printable(event.value)} must be text; put it in quotes")
            key = str(event.value)
        path = (*top.path, key)
        if key == "<<":
            self.document.refuse(path, place, "merge keys (<<) are not allowed; use `defaults`")
        elif path in self.document.keys:
            first = self.document.keys[path]
            self.document.refuse(path, place, f"the key is there twice; the first is on line {first.line}")
        self.document.keys.setdefault(path, place)
        return key

    def _node(self, event: yaml.NodeEvent, place: Place, path: Path_) -> None:
        import yaml

        self._properties(event, place, path)
        value: Any = None
        if isinstance(event, yaml.AliasEvent):
            self.document.refuse(
                path, place, f"the alias *{printable(str(event.anchor))} is not allowed: write its value"
            )
        elif isinstance(event, yaml.ScalarEvent):
            value = self._scalar(event, place, path)
        else:
            value = [] if isinstance(event, yaml.SequenceStartEvent) else {}
        self._attach(value, path, place)
        if isinstance(event, yaml.CollectionStartEvent):
            if len(self.stack) >= MAX_DEPTH:
                self._stop(path, place, f"nested deeper than {MAX_DEPTH} levels")
            self.stack.append(_Open(value, path))

    def _properties(self, event: yaml.NodeEvent, place: Place, path: Path_) -> None:
        import yaml

        if not isinstance(event, yaml.AliasEvent) and event.anchor is not None:
            self.document.refuse(path, place, f"the anchor &{printable(event.anchor)} is not allowed")
        if getattr(event, "tag", None) is not None:
            self.document.refuse(path, place, f"the tag {printable(str(event.tag))} is not allowed")  # type: ignore[attr-defined] # aliases have no tag

    def _scalar(self, event: yaml.ScalarEvent, place: Place, path: Path_) -> Any:
        text: str = event.value
        if any("\ud800" <= char <= "\udfff" for char in text):
            try:  # an escaped pair, as JSON writes what lies beyond 16 bits, is one character
                text = text.encode("utf-16", "surrogatepass").decode("utf-16")
            except UnicodeDecodeError:
                self.document.refuse(path, place, "half of a surrogate pair is not text")
                return None
        if event.style is not None:
            return text
        try:
            return resolve(text)
        except ValueError as error:
            self.document.refuse(path, place, str(error))
            return None

    def _attach(self, value: Any, path: Path_, place: Place) -> None:
        self.document.values[path] = place
        if not self.stack:
            self.document.data = value
            return
        parent = self.stack[-1].data
        if isinstance(parent, list):
            parent.append(value)
        else:
            parent[str(path[-1])] = value


@dataclass(slots=True)
class _Open:
    """A list or mapping that is still being read; `key` is a mapping's key whose value comes next."""

    data: list[Any] | dict[str, Any]
    path: Path_
    key: str | None = None
