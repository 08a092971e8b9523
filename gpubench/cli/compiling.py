"""What one sees of a long compilation."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gpubench.cli import output

if TYPE_CHECKING:
    from gpubench.kernels.estimate import Progress

Watch = Callable[["Progress"], None]

LINE_S = 5.0
"""Seconds from one line to the next where there is no terminal."""


@contextmanager
def watched(kernels: int, clock: Callable[[], float] = time.monotonic) -> Iterator[Watch]:
    """Show how far it is: a bar on a terminal, a plain line now and then elsewhere, on standard error both."""
    if not output.is_terminal(sys.stderr):
        output.report(f"Compiling {kernels} kernel{'s' * (kernels != 1)} ...")
        yield _lines(clock)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("Compiling"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Bar(*columns, console=output.console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=kernels, left="")

        def update(progress: Progress) -> None:
            bar.update(task, completed=progress.done, left=left(progress))

        yield update


def _lines(clock: Callable[[], float]) -> Watch:
    """Return what writes a line when the last one is long enough ago."""
    last = clock()

    def write(progress: Progress) -> None:
        nonlocal last
        if clock() - last >= LINE_S and progress.done < progress.total:
            last = clock()
            output.report(f"[{progress.done}/{progress.total}] {left(progress)}")

    return write


def left(progress: Progress) -> str:
    """Say what is left: `about 40 s left`, `about 3 min left`; nothing at the end."""
    if progress.done >= progress.total:
        return ""
    seconds = progress.seconds_left
    return f"about {seconds:.0f} s left" if seconds < 90 else f"about {seconds / 60:.0f} min left"
