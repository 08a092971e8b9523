"""C++ text cut into what a reader of sources needs to tell apart: code, comments, literals; and what it includes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_TOKEN = re.compile(
    r"""(?P<comment>//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z))
    |(?P<literal>(?:u8|[uUL])?R"(?P<mark>[^()\\\s"]{0,16})\(.*?\)(?P=mark)"
        |(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"
        |(?:u8|[uUL])?'(?:\\.|[^'\\\n])*')
    |(?P<number>\.?\d(?:'?[\w.]|(?<=[eEpP])[+-])*)
    |(?P<word>[A-Za-z_]\w*)
    |(?P<space>\s+|\\\n)
    |(?P<sign>.)""",
    re.DOTALL | re.VERBOSE,
)


class Token(NamedTuple):
    """A piece of text. `kind`: comment, literal, number, word, space or sign; `start`: where it begins."""

    kind: str
    text: str
    start: int


def tokens(text: str) -> Iterator[Token]:
    """Yield every piece of a text, in order and without gaps."""
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup if match.lastgroup != "mark" else "literal"
        yield Token(kind or "sign", match.group(), match.start())


def blanked(text: str, literals: bool = True) -> str:
    """Return the text with its comments (and literals) as blanks: of the same length, with the same lines."""
    hidden = ("comment", "literal") if literals else ("comment",)
    return "".join(re.sub(r"[^\n]", " ", token.text) if token.kind in hidden else token.text for token in tokens(text))


def line_of(text: str, position: int) -> int:
    """Return the line, counted from 1, of a position."""
    return text.count("\n", 0, position) + 1


class Include(NamedTuple):
    """An `#include`: the name, whether it stands in angle brackets, and its line. `is_code`: in no comment."""

    name: str
    angle: bool
    line: int
    is_code: bool


_SPLICE = re.compile(r"(?:\\|\?\?/)[ \t]*\r?\n")
_DIRECTIVE = re.compile(
    r"(?:\#|%:|\?\?=)(?:[ \t]|/\*.*?\*/)*(?:include_next|include|import|embed)\b(?:[ \t]|/\*.*?\*/)*"
    r"(?:\"(?P<quoted>[^\"\\\n]+)\"|<(?P<angle>[^>\\\n]+)>)?",
    re.DOTALL,
)
_PLAIN = re.compile(r"\#[ \t]*include\b")


class UnreadableIncludeError(ValueError):
    """An include whose file cannot be told by reading: built by a macro, or of an odd form. `line` says where."""

    def __init__(self, line: int, text: str) -> None:
        self.line = line
        super().__init__(f'{text}: write #include "name" or #include <name>')


def includes(text: str) -> list[Include]:
    """Return every include of a text. Those in comments count too (`is_code` tells): what a compiler takes for code
    may only look like a comment here, so that each of them must be harmless.

    UnreadableIncludeError for one that names no file plainly.
    """
    spliced = _SPLICE.sub("", text)
    code = blanked(spliced, literals=False)
    found = []
    for match in _DIRECTIVE.finditer(spliced):
        line = line_of(spliced, match.start())
        name = match["quoted"] or match["angle"]
        is_code = code[match.start()] != " "
        if name is None or not _PLAIN.match(match.group()):
            raise UnreadableIncludeError(line, match.group().splitlines()[0].strip()[:80])
        found.append(Include(name, match["quoted"] is None, line, is_code))
    return found
