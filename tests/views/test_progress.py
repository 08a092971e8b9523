"""Progress: a bar on terminals, lines in logs, silence when quiet, and no foreign string gets through."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from gpubench.views.progress import Bar, Lines, Silent, progress_view
from tests.views.samples import record


def drive(console: Console, quiet: bool = False) -> None:
    """Let a view see a short run with a hostile case id."""
    view = progress_view(console, quiet)
    view.start(2)
    view.working("cumsum/\x1b[2J[red]", "gpubench:auto")
    view.finished(record("cumsum/\x1b]0;x\x07[red]"))
    view.note("worker started again [bold]")
    view.finished(record(status="wrong", message="line\nbreak"))
    view.stop()
    view.stop()


def test_logs_get_one_line_a_record() -> None:
    """Without a terminal each record is one plain line with its place in the run."""
    stream = io.StringIO()
    drive(Console(file=stream, markup=False))
    assert stream.getvalue().splitlines() == [
        "[1/2] cumsum/\\x1b]0;x\\x07[red] gpubench:auto: 40.00 us, ok",
        "worker started again [bold]",
        "[2/2] cumsum/4096x4096/dim=1/float32 gpubench:auto: 40.00 us, wrong (line\\nbreak)",
    ]


def test_quiet_says_nothing() -> None:
    """Quiet is silent on a terminal and off it."""
    for terminal in (False, True):
        stream = io.StringIO()
        drive(Console(file=stream, force_terminal=terminal), quiet=True)
        assert stream.getvalue() == ""


@pytest.mark.parametrize("width", [20, 80, 200])
def test_the_bar_shows_trouble_and_leaves_no_foreign_escape(width: int) -> None:
    """On a terminal a bad record leaves its line; escapes of the record's strings are shown, not sent."""
    stream = io.StringIO()
    drive(Console(file=stream, force_terminal=True, width=width, color_system=None, _environ={}))
    written = stream.getvalue()
    assert "wrong (line\\nbreak)" in written.replace("\n", "")
    assert "worker started again [bold]" in written.replace("\n", "")
    assert "\x1b[2J" not in written
    assert "\x1b]0;" not in written
    assert "[red]" in written.replace("\n", "") or width < 200


def test_the_view_fits_the_console() -> None:
    """A dumb terminal gets lines, since it cannot move its cursor."""
    assert isinstance(progress_view(Console(file=io.StringIO(), force_terminal=True, _environ={"TERM": "dumb"})), Lines)
    assert isinstance(progress_view(Console(file=io.StringIO(), force_terminal=True, _environ={"TERM": "xterm"})), Bar)
    assert isinstance(progress_view(Console(file=io.StringIO()), quiet=True), Silent)
