"""Where commands write: standard output and error, made safe for any locale, a closed pipe and a full disk."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console

    from gpubench.model import Json
    from gpubench.views.tables import Look


def prepare() -> None:
    """Make the standard streams usable: closed ones lead to nowhere, and no character fails in a narrow encoding.

    A closed descriptor 0, 1 or 2 must be filled, else the next file opened (a result!) would take its number and
    receive what is printed.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
    _buffer_standard_output()
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)  # a test's stand-in has none
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _buffer_standard_output() -> None:
    """Put a buffer where PYTHONUNBUFFERED left none: without one Python drops what a pipe does not take at once."""
    stream = sys.__stdout__
    if stream is not None and stream is sys.stdout and isinstance(stream.buffer, io.FileIO):
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(stream.buffer), encoding=stream.encoding, line_buffering=True)


def write(text: str) -> None:
    """Write lines to standard output."""
    sys.stdout.write(text if text.endswith("\n") or not text else text + "\n")


def put(path: Path, text: str) -> None:
    """Write a text to a file, or to standard output where that is what was named. ResultFileError."""
    from gpubench.results.paths import STREAM
    from gpubench.results.write import replace_file

    if path == STREAM:
        write(text)
    else:
        replace_file(path, text.encode("utf-8", "backslashreplace"))


def write_json(document: Json) -> None:
    """Write one JSON document to standard output. ValueError for NaN or infinity, which JSON does not have."""
    import json

    write(json.dumps(document, indent=1, allow_nan=False, ensure_ascii=True))


def report(message: str) -> None:
    """Write a message for the user to standard error, every line of it harmless to the terminal."""
    from gpubench.views.text import printable

    with contextlib.suppress(OSError, ValueError):  # nobody listens: the exit code still says it
        sys.stderr.write(printable(message, keep_newlines=True) + "\n")
        sys.stderr.flush()


def near(path: Path) -> str:
    """Return a path as short as it can be typed here."""
    whole, here = path.absolute(), Path.cwd()
    return str(whole.relative_to(here) if whole.is_relative_to(here) else path)


def program() -> str:
    """Return how `gpubench` is started here: by its name, or, where no shell would find that, by its place."""
    beside = Path(sys.executable).with_name("gpubench")
    return "gpubench" if shutil.which("gpubench") or not beside.exists() else near(beside)


def reader_is_gone() -> bool:
    """Tell whether whoever read standard output has closed it (a broken pipe of another kind is an error to report)."""
    import select

    poll = select.poll()
    poll.register(1, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def discard_output() -> None:
    """Forget what standard output still holds, after it failed, so that the interpreter's last flush cannot fail."""
    _lead_nowhere(1)


def leave_errors() -> None:
    """Forget what standard error still holds, if nobody listens: the last flush would make 120 of the exit code."""
    try:
        sys.stderr.flush()
    except (OSError, ValueError):
        _lead_nowhere(2)


def _lead_nowhere(descriptor: int) -> None:
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)


def is_terminal(stream: TextIO | None = None) -> bool:
    """Tell whether the stream (standard output) is a terminal."""
    try:
        return (stream or sys.stdout).isatty()
    except ValueError:
        return False


def use_color(stream: TextIO | None = None) -> bool:
    """Tell whether to colour: a terminal that can, and NO_COLOR not set (no-color.org: set and not empty)."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def use_unicode(stream: TextIO | None = None) -> bool:
    """Tell whether block characters can be printed."""
    encoding = getattr(stream or sys.stdout, "encoding", None) or "ascii"
    return encoding.lower().replace("-", "").startswith("utf")


def width() -> int | None:
    """Return the terminal's columns (COLUMNS wins), None where output is not a terminal: then nothing is cut."""
    if not is_terminal():
        return None
    return max(shutil.get_terminal_size().columns, 20)


def console(stderr: bool = False) -> Console:
    """Return a rich console on standard output or error that never interprets markup in what it is given."""
    from rich.console import Console

    class PlainConsole(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich would exit with 1 here, which is the code of a regression

    return PlainConsole(stderr=stderr, markup=False, highlight=False, emoji=False)


def look() -> Look:
    """Return what standard output can show, for the views that give text."""
    from gpubench.views.tables import Look

    return Look(width=width(), color=use_color(), unicode=use_unicode())
