"""`gpubench run`: measure suites on a device and record every sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpubench.cli import output
from gpubench.cli.allowing import allow_options, brought_by
from gpubench.cli.fleet_options import ResultPlace, fleet_options, require_one_way
from gpubench.cli.options import (
    SECONDS,
    SEED,
    Filters,
    device_option,
    filter_options,
    json_file_option,
    quiet_option,
    share_option,
    split_commas,
    suites_argument,
)
from gpubench.cli.origin import Origin, origin_options
from gpubench.cli.planned import planned_rounds, with_planned
from gpubench.cli.quantities import share, size
from gpubench.cli.tuning_choice import tuning_choice, tuning_option
from gpubench.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from gpubench.engine.run import Finished, Request
    from gpubench.engine.supervisor import RunOptions
    from gpubench.model import Case
    from gpubench.own.registry import Staged
    from gpubench.own.trust import Permission
    from gpubench.suite.expand import Suite

EPILOG = """\b
Exit codes (the first that applies):
  130  interrupted; what was measured is written, and --resume goes on
  2    bad usage or input, no device, or a file that cannot be written
  4    a kernel's answer is wrong, or its time cannot be (implausible)
  5    some case crashed, hung, ran out of memory, did not compile, or met a device error
  3    nothing was measured: every contender of every case is unsupported or skipped
  1    a kernel misses a limit of its suite
  0    everything else: something was measured, and nothing went wrong
"""


@click.command(epilog=EPILOG)
@suites_argument
@device_option
@allow_options
@filter_options
@click.option(
    "--rounds-from",
    type=click.Path(path_type=Path),
    metavar="PLAN",
    help="Each case with the rounds that `gpubench plan -o PLAN` found; the time limit grows with them.",
)
@click.option(
    "--peer",
    "peers",
    multiple=True,
    callback=split_commas,
    metavar="NAMES",
    help="Time these libraries too: torch,cupy ...",
)
@click.option("--rounds", type=click.IntRange(1, 1000), metavar="N", help="Rounds of samples, each in new buffers.")
@click.option(
    "--min-samples", type=click.IntRange(1, 100_000), metavar="N", help="Take at least N samples a contender."
)
@click.option("--max-noise", callback=share, metavar="SHARE", help="Stop when the median is known to 0.5%, say.")
@click.option("--time-limit", type=SECONDS, metavar="S", help="Stop sampling a contender after S seconds.")
@click.option(
    "--call-limit", type=SECONDS, metavar="S", help="Give a contender up of which one call takes S seconds (10)."
)
@click.option("--timeout", type=SECONDS, metavar="S", help="End a case that takes longer than S seconds.")
@click.option(
    "--method",
    type=click.Choice(("cold", "hot", "graph", "graph-cold")),
    help="cold: empty caches before a launch (most suites). hot: launch after launch. graph: a CUDA graph's replays; "
    "graph-cold: with empty caches before each.",
)
@click.option(
    "--clock",
    type=click.Choice(("events", "cupti", "both")),
    help="events: CUDA events (most suites). cupti: the kernels' own times. both: events, and CUPTI for some samples.",
)
@tuning_option
@click.option(
    "--isolate",
    is_flag=True,
    help="Every contender of every case in a worker of its own; they do not take turns then.",
)
@click.option(
    "--integrity",
    type=click.Choice(("plain", "strict")),
    help="strict: for kernels that may not be honest. Inputs change before each sample; what a run does is watched.",
)
@click.option(
    "-o",
    "--output",
    "result_file",
    type=ResultPlace(),
    metavar="FILE",
    help="Where the result goes (- prints it, too); without it, runs/DEVICE/SUITE-TIME.json here. A folder, with "
    "--devices.",
)
@click.option(
    "--resume",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Go on with an unfinished run: its journal or result. Give the same suites and options again.",
)
@click.option(
    "--retries",
    type=click.IntRange(0, 100),
    default=0,
    metavar="N",
    help="Try a contender whose worker died again, N times.",
)
@click.option(
    "--stop-after",
    type=click.IntRange(0, 1_000_000),
    default=5,
    show_default=True,
    metavar="N",
    help="Stop when N cases in a row kill their worker; 0 never stops.",
)
@click.option(
    "--memory-limit",
    callback=size,
    metavar="SIZE",
    help="Most address space that the worker may take, such as 8G. With a GPU it needs far more than the GPU's memory.",
)
@share_option
@fleet_options
@click.option(
    "--seed",
    type=SEED,
    metavar="N",
    help="Draw the cases of `random` entries with this seed; contenders take turns in another random order, too.",
)
@origin_options
@json_file_option
@quiet_option
def command(
    suites: tuple[str, ...],
    filters: Filters,
    device: str,
    allow: Permission,
    quiet: bool,
    json_file: Path | None,
    origin: Origin,
    **given: Any,
) -> int:
    """Measure the suites SUITE... on a device, check every answer, and record every sample.

    A suite is a YAML file, or the name of one that comes with gpubench. Records are written to a journal beside the
    result as they come, so that nothing measured is lost, whatever happens. Ctrl-C ends the run and keeps what is
    there; a second one ends it at once.
    """
    from gpubench.api.runs import measurer_of
    from gpubench.cli.cluster_run import measure_cluster
    from gpubench.cli.fleet_run import Asked, measure
    from gpubench.cli.measuring import request_of
    from gpubench.cli.watching import View, stopping
    from gpubench.engine.run import execute, exit_code
    from gpubench.results.paths import STREAM
    from gpubench.results.profiles import read_profile
    from gpubench.suite.expand import load_suites

    several = given["devices"] is not None or given["cluster"] is not None
    require_one_way(given, several and (device != "auto" or json_file is not None))
    if given["result_file"] == STREAM:
        if json_file is not None:
            raise UsageError("-o - prints the result, as --json - does: give one of the two.")
        json_file, given["result_file"] = STREAM, None
    loaded = load_suites(suites, given["seed"])
    request = request_of(given, origin, suites, loaded, _cases(loaded, filters, given))
    with tuning_choice(given["tuning"]), brought_by(loaded, request.cases, device, allow) as staged:
        request, options = _with_brought(request, staged), _options(device, staged, given)
        if several:
            profile = None if given["fleet_profile"] is None else read_profile(given["fleet_profile"])
            asked = Asked(given["devices"], given["cluster"], given["parallel"], quiet, profile)
            return (measure if asked.cluster is None else measure_cluster)(asked, request, options)
        view = View(quiet, device)
        with measurer_of(request.cases, options, view.handle) as measurer, stopping(measurer), view:
            finished = execute(request, measurer, view.handle)
    _show(finished, quiet, json_file)
    if finished.error is not None:
        raise finished.error
    code = exit_code(finished)
    if code == ExitCode.NOT_COMPARABLE:
        output.report(_nothing_measured(finished))
    return code


def _with_brought(request: Request, staged: Sequence[Staged]) -> Request:
    """Return the request whose suite tells the hashes of the files that it brings."""
    if not staged:
        return request
    brings = {name: digest for brought in staged for name, digest in brought.hashes.items()}
    return replace(request, suite={**request.suite, "brings": brings})


def _options(device: str, staged: tuple[Staged, ...], given: dict[str, Any]) -> RunOptions:
    """Return how the run goes about its work."""
    from gpubench.engine.supervisor import RunOptions
    from gpubench.engine.workers import WorkerOptions

    return RunOptions(
        WorkerOptions(device, memory_limit=given["memory_limit"], soak_s=given["soak"], staged=staged),
        given["seed"] or 0,
        given["retries"],
        given["stop_after"],
        given["isolate"],
    )


def _nothing_measured(finished: Finished) -> str:
    """Say that no contender could be timed, and the reason that most records have."""
    reasons = Counter(record.message or record.status for record in finished.result.records)
    (reason, count), *others = reasons.most_common(2)
    more = f" `gpubench show {finished.path}` has the other reasons." if others else ""
    return f"Nothing was measured. Of {len(finished.result.records)} records {count} say: {reason}{more}"


_TIMING = {"time_limit": "time_limit_s", "call_limit": "call_limit_s", "timeout": "timeout_s"}
"""The timing options that the command line calls otherwise."""


def _cases(suite: Suite, filters: Filters, given: dict[str, Any]) -> tuple[Case, ...]:
    """Return the cases with what the command line adds and overrides, filtered."""
    from gpubench.api.cases import chosen, overridden

    names = ("rounds", "min_samples", "max_noise", "method", "clock", "integrity")
    timing = {name: given[name] for name in names} | {key: given[name] for name, key in _TIMING.items()}
    planned = planned_rounds(given["rounds_from"], given["rounds"])
    cases = [
        replace(case, timing=with_planned(case.timing, planned.get(case.id)))
        for case in overridden(suite.cases, timing, given["peers"])
    ]
    return chosen(cases, filters.expression, filters.operators, filters.dtypes, filters.contenders)


def _show(finished: Finished, quiet: bool, json_file: Path | None) -> None:
    """Print what was asked for."""
    from gpubench.results.paths import STREAM
    from gpubench.results.write import dumps
    from gpubench.views.summary import is_long, summary
    from gpubench.views.tables import results_table

    if json_file is not None:
        output.put(json_file, dumps(finished.result))
    if json_file != STREAM and not quiet:
        found, path = finished.result, output.near(finished.path)
        view = summary(found, path, output.look(), output.program()) if is_long(found) else None
        output.write(view or results_table(finished.result, output.look()))
        output.report(f"Result: {output.near(finished.path)}")
    if finished.journal is not None:
        output.report(f"The run is not complete. Go on with the same command and --resume {finished.journal}")
