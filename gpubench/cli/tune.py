"""`gpubench tune`: find the best constants for this GPU, and keep them for `auto`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpubench.cli import output
from gpubench.cli.allowing import allow_options, brought_by
from gpubench.cli.options import (
    SEED,
    Filters,
    OutputFile,
    device_option,
    filter_options,
    quiet_option,
    result_option,
    share_option,
    suites_argument,
)
from gpubench.cli.origin import Origin, origin_options
from gpubench.cli.tuning_choice import tuning_choice
from gpubench.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from gpubench.engine.run import Finished
    from gpubench.engine.tune import Session
    from gpubench.model import Case, Json
    from gpubench.own.registry import Staged
    from gpubench.own.trust import Permission
    from gpubench.suite.expand import Suite
    from gpubench.tuned import Row

EPILOG = """\b
Exit codes (the first that applies):
  130  interrupted; what was decided is kept, and --resume goes on
  2    bad usage or input, no device, or a file that cannot be written
  5    the device or the machine failed so often that the tuning stopped
  3    nothing was measured: no case of the suites lies in a regime
  0    everything else: configurations may fail, that is what is being found out
"""

_BUDGET = re.compile(r"(\d+(?:\.\d+)?)(s|m|h)?")
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def budget(context: click.Context, parameter: click.Parameter, value: str) -> float:
    """Read a span of time: `90s`, `10m`, `1h`, or seconds."""
    del context, parameter
    found = _BUDGET.fullmatch(value)
    seconds = 0.0 if found is None else float(found[1]) * _UNITS[found[2] or "s"]
    if not 0 < seconds <= 7 * 86400:
        raise click.BadParameter(f"{value!r} is no time such as 90s, 10m or 2h, up to a week")
    return seconds


@click.command(epilog=EPILOG)
@suites_argument
@filter_options
@device_option
@click.option(
    "--budget",
    "seconds",
    callback=budget,
    default="10m",
    show_default=True,
    metavar="TIME",
    help="Stop after TIME; --resume gives more.",
)
@click.option(
    "--into",
    type=OutputFile(),
    metavar="FILE",
    help="The tuning file to bring up to date; without it, this GPU's in the user's data folder.",
)
@click.option(
    "--cases", type=click.IntRange(1, 100), default=4, show_default=True, metavar="N", help="Race on N cases a regime."
)
@click.option(
    "--rounds",
    type=click.IntRange(4, 1000),
    default=12,
    show_default=True,
    metavar="N",
    help="Rounds of the finals; up to 16 times as many in doubt.",
)
@click.option(
    "--from",
    "start",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The constants to beat are those of this tuning file, in place of the shipped ones.",
)
@click.option("--seed", type=SEED, metavar="N", help="Draw random cases with this seed; orders, too, are others.")
@result_option("SUITE-tuned-TIME.json")
@click.option(
    "--resume", type=click.Path(path_type=Path), metavar="FILE", help="Go on with an unfinished tuning, told the same."
)
@allow_options
@share_option
@origin_options
@quiet_option
def command(
    suites: tuple[str, ...],
    filters: Filters,
    device: str,
    allow: Permission,
    origin: Origin,
    quiet: bool,
    **given: Any,
) -> int:
    """Find the best constants of our kernels, and of those that SUITE... bring, for this GPU: regime by regime.

    Configurations race on rounds of samples, taken as `run` takes them, with answers checked; who is behind for certain
    is out. The last ones are timed side by side with the shipped constants, as `ab` does; a tie goes to these. What is
    decided goes into the GPU's tuning file, which `auto` reads from then on.
    """
    from gpubench.cli.measuring import request_of
    from gpubench.cli.watching import View, stopping
    from gpubench.engine.run import execute
    from gpubench.engine.supervisor import RunOptions, Supervisor
    from gpubench.engine.tune import Session
    from gpubench.engine.workers import WorkerOptions
    from gpubench.results.paths import STREAM
    from gpubench.suite.expand import load_suites
    from gpubench.tuning.contest import Effort
    from gpubench.tuning.file import read_tuning

    loaded = load_suites(suites, given["seed"])
    cases = _cases(loaded, filters)
    effort = Effort(cases=given["cases"], rounds=given["rounds"])
    plan: Json = ["tune", [case.id for case in cases], given["cases"], given["rounds"], str(given["start"])]
    request = request_of(given, origin, suites, loaded, ending="tuned", plan=plan)
    if given["into"] == STREAM:
        raise UsageError("--into names a file that `auto` can read later; - is none.")
    start = None if given["start"] is None else read_tuning(given["start"]).tuning
    view = View(quiet, device)
    with tuning_choice("none"), brought_by(loaded, cases, device, allow) as staged:
        options = RunOptions(WorkerOptions(device, staged=staged), given["seed"] or 0, stop_after=20)
        with Supervisor(options, view.handle) as supervisor, stopping(supervisor), view:
            session = Session(supervisor, cases, staged, effort, given["seconds"], view.handle, start)
            finished = execute(request, supervisor, view.handle, session.work)
        path = _keep(session, finished, given["into"], given["seed"] or 0, staged)
    simulated = session.device is not None and session.device.simulated
    _show(session.rows(), finished, path, quiet, simulated)
    if finished.error is not None:
        raise finished.error
    return _exit_code(session, finished)


def _cases(suite: Suite, filters: Filters) -> tuple[Case, ...]:
    """Return the suite's cases that the filters keep. UsageError when that is none."""
    from gpubench.cli.measuring import filtered

    return filtered(suite, filters)


def _keep(session: Session, finished: Finished, into: Path | None, seed: int, staged: Sequence[Staged]) -> Path | None:
    """Bring the tuning file up to date with what was decided; None where nothing was, or no GPU's times are known."""
    from gpubench.tuning.active import user_folder
    from gpubench.tuning.entries import entry_of, merged
    from gpubench.tuning.file import file_name, read_tuning, write_tuning

    device = session.device
    if device is None or (into is None and (device.kind != "cuda" or device.simulated)):
        return None
    records = finished.path.name
    entries = [one for contest in session.contests if (one := entry_of(contest, device, seed, records, staged))]
    if not entries:
        return None
    path = into or user_folder() / file_name(device)
    before = read_tuning(path).tuning if path.is_file() else None
    nvrtc = finished.result.environment.get("nvrtc")
    write_tuning(merged(before, entries, device, None if nvrtc is None else str(nvrtc)), path)
    return path


def _show(rows: Sequence[Row], finished: Finished, path: Path | None, quiet: bool, simulated: bool) -> None:
    """Print the table, what was not decided, and where everything lies."""
    from gpubench.views.tuning import HEADINGS, summary, table

    if not quiet:
        _print_table(HEADINGS, table(rows))
        output.write(summary(rows, simulated))
    if path is not None:
        output.report(f"Tuning: {output.near(path)}")
    output.report(f"Result: {output.near(finished.path)}")
    if finished.journal is not None:
        output.report(f"The tuning is not complete. Go on with the same command and --resume {finished.journal}")


def _print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print the table: drawn on a terminal; piped, one line a regime with tabs between the columns."""
    if not output.is_terminal():
        output.write("\n".join("\t".join(row) for row in (headings, *rows)))
        return
    from rich.table import Table

    drawn = Table(box=None, pad_edge=False)
    for heading in headings:
        is_count = heading in ("cases", "configurations", "tried", "dropped", "failed")
        drawn.add_column(heading, justify="right" if is_count else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*row)
    output.console().print(drawn)


def _exit_code(session: Session, finished: Finished) -> ExitCode:
    """Return the exit code; see the epilog."""
    from gpubench.engine.tune import TIME_OVER

    if finished.interrupted:
        return ExitCode.INTERRUPTED
    if finished.result.extra.get("stopped") not in (None, TIME_OVER):
        return ExitCode.FAILED_CASE
    if not session.contests:
        output.report("No case of these suites lies in a regime whose constants can be tuned.")
        return ExitCode.NOT_COMPARABLE
    return ExitCode.FINE
