"""What one sees while a suite runs: a bar on a terminal, a plain line a result elsewhere, nothing when quiet."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Protocol

from gpubench.model import Record
from gpubench.names import NOT_MEANT
from gpubench.views import text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID


class ProgressView(Protocol):
    """What a run tells its view, in this order: start, then working and finished and note, then stop."""

    def start(self, total: int) -> None:
        """Begin; `total` records will come, 0: nobody knows how many."""
        ...

    def working(self, case: str, contender: str) -> None:
        """Say which contender is being worked on now."""
        ...

    def finished(self, record: Record) -> None:
        """Take a record that is there."""
        ...

    def note(self, message: str) -> None:
        """Tell the user something meanwhile."""
        ...

    def stop(self) -> None:
        """End the view: the run is over, for whatever reason. May be called twice."""
        ...


def progress_view(console: Console, quiet: bool = False) -> ProgressView:
    """Return the view that fits the console: a bar on a terminal, lines elsewhere, silence when quiet."""
    if quiet:
        return Silent()
    return Bar(console) if console.is_terminal and not console.is_dumb_terminal else Lines(console)


def outcome(record: Record) -> str:
    """Return a record in one line: `cumsum/.../float32 gpubench:auto: 846.1 us, ok`."""
    median = text.quantity((record.summary or {}).get("median_us"), "us")
    figure = "" if median == text.MISSING else f"{median}{' simulated' if record.simulated else ''}, "
    reason = f" ({text.printable(record.message)})" if record.message and record.status != "ok" else ""
    name = f"{text.printable(record.case.id)} {text.printable(record.contender)}"
    return f"{name}: {figure}{text.printable(record.status)}{reason}"


class Silent:
    """Says nothing."""

    def start(self, total: int) -> None:
        """Do nothing."""

    def working(self, case: str, contender: str) -> None:
        """Do nothing."""

    def finished(self, record: Record) -> None:
        """Do nothing."""

    def note(self, message: str) -> None:
        """Do nothing."""

    def stop(self) -> None:
        """Do nothing."""


class Lines:
    """One plain line a record, for logs."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._total = 0
        self._done = 0

    def start(self, total: int) -> None:
        """Remember the total for the counter at the start of each line."""
        self._total = total

    def working(self, case: str, contender: str) -> None:
        """Do nothing: the line comes when the record is there."""

    def finished(self, record: Record) -> None:
        """Write the record's line."""
        self._done += 1
        total = f"/{self._total}" if self._total else ""
        self._write(f"[{self._done}{total}] {outcome(record)}")

    def note(self, message: str) -> None:
        """Write the note."""
        self._write(text.printable(message))

    def stop(self) -> None:
        """Do nothing."""

    def _write(self, line: str) -> None:
        self._console.file.write(line + "\n")
        self._console.file.flush()


class Bar:
    """A progress bar with the case at work, the counts of statuses so far, and the time that is left.

    Records that did not end well leave a line above the bar.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._counts: Counter[str] = Counter()

    def start(self, total: int) -> None:
        """Draw the bar."""
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._progress = Progress(
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TimeRemainingColumn(compact=True),
            TextColumn("{task.fields[counts]}", markup=False),
            TextColumn("{task.fields[work]}", markup=False),
            console=self._console,
            transient=True,
        )
        self._task = self._progress.add_task("", total=total or None, counts="", work="")
        self._progress.start()

    def working(self, case: str, contender: str) -> None:
        """Show what is being worked on, cut to what a narrow terminal leaves beside the bar."""
        room = max(self._console.width - 50, 20)
        self._update(work=text.shorten(f"{text.printable(case)} {text.printable(contender)}", room))

    def finished(self, record: Record) -> None:
        """Move the bar on."""
        self._counts[record.status] += 1
        if record.status not in ("ok", *NOT_MEANT):
            self.note(outcome(record))
        self._update(1, counts=" ".join(f"{count} {text.printable(status)}" for status, count in self._counts.items()))

    def note(self, message: str) -> None:
        """Write a line above the bar."""
        from rich.text import Text

        self._console.print(Text(text.printable(message)), soft_wrap=True)

    def stop(self) -> None:
        """Take the bar away."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def _update(self, advance: int = 0, **fields: Any) -> None:
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, advance=advance, **fields)
