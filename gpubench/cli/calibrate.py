"""`gpubench calibrate`: how much the same thing differs from run to run."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpubench.cli import output
from gpubench.cli.allowing import allow_options, brought_by
from gpubench.cli.comparing import rule_options
from gpubench.cli.options import (
    device_option,
    filter_options,
    quiet_option,
    result_option,
    seed_option,
    share_option,
    suites_argument,
)
from gpubench.cli.origin import origin_options
from gpubench.errors import ComparisonError, ExitCode, UsageError

if TYPE_CHECKING:
    from gpubench.engine.run import Finished
    from gpubench.model import Json, Record, Source
    from gpubench.suite.expand import Suite


@click.command()
@suites_argument
@click.option("--runs", default=5, show_default=True, type=click.IntRange(2, 100), help="How often to run the suite.")
@rule_options(threshold="1%")
@filter_options
@device_option
@click.option(
    "--rounds", type=click.IntRange(2, 1000), metavar="N", help="Rounds of each run, in place of the suite's."
)
@result_option("SUITE-TIME.json", " (- prints it)")
@seed_option
@allow_options
@share_option
@origin_options
@quiet_option
def command(
    suites: tuple[str, ...],
    runs: int,
    threshold: float,
    threshold_us: float,
    alpha: float,
    seed: int | None,
    result_file: Path | None,
    quiet: bool,
    **given: Any,
) -> ExitCode:
    """Run the suites SUITE... several times and learn how much each case differs when nothing has changed.

    The result holds the rounds of all runs, from which `gpubench compare` learns how much each case differs from run to
    run, whichever of the two results it is; and the noise floor of each case, the least change that one more run would
    show in 4 of 5 repetitions. The runs are also compared with each other: how often would the gate fail falsely?
    """
    from gpubench.analysis.calibration import KEY, calibrate
    from gpubench.analysis.compare import each_other
    from gpubench.analysis.rule import Rule
    from gpubench.engine.run import exit_code
    from gpubench.results.paths import STREAM, default_path
    from gpubench.results.write import dumps, write
    from gpubench.suite.expand import load_suites
    from gpubench.views.comparison import calibration_text

    loaded = load_suites(suites, seed)
    told = given["origin"].command(), given["origin"].source(suites)
    finished = _measured(loaded, runs, quiet, told, given)
    codes = {exit_code(run) for run in finished}
    code = next((bad for bad in (ExitCode.WRONG_ANSWER, ExitCode.FAILED_CASE) if bad in codes), ExitCode.FINE)
    try:
        rule, results = Rule(threshold, alpha, threshold_us), [run.result for run in finished]
        comparisons = each_other(results, rule)
        result = calibrate(results, comparisons, rule, _summary)
    except ComparisonError as error:
        if code == ExitCode.FINE:
            raise
        output.report(f"gpubench: {error}")
        return code
    name = result.environment["device"]["name"]
    place = result_file or default_path(str(result.suite.get("name")), name, result.created, Path.cwd())
    if place == STREAM:
        output.write(dumps(result))
        return code
    write(result, place)
    if not quiet:
        output.write(calibration_text(result.extra[KEY], comparisons, output.look()))
        output.report(f"Result: {place}")
    return code


def _measured(
    suite: Suite, runs: int, quiet: bool, told: tuple[tuple[str, ...], Source], given: Mapping[str, Any]
) -> list[Finished]:
    """Return so many runs of the suite. `told`: the command line and the sources. UsageError for too many."""
    from gpubench.cli.measuring import filtered, measure, with_rounds
    from gpubench.results.room import times

    cases = [
        replace(case, timing=with_rounds(case.timing, given["rounds"])) for case in filtered(suite, given["filters"])
    ]
    device, finished = given["device"], []
    with (
        tempfile.TemporaryDirectory(prefix="gpubench-calibrate-") as folder,
        brought_by(suite, cases, device, given["allow"]) as staged,
    ):
        for number in range(runs):
            if not quiet:
                output.report(f"run {number + 1} of {runs}")
            path = Path(folder) / f"run-{number}.json"
            finished.append(measure(cases, suite, device, number, quiet, path, given["share_device"], told, staged))
            if not times(finished[0].result, runs):
                raise UsageError(f"{runs} runs like the first are more than one result can hold: fewer --runs, or -k.")
    return finished


def _summary(record: Record) -> Mapping[str, Json] | None:
    """Return the summary of a record's samples; the rates of the ceiling are those of its last run."""
    from gpubench.measure.summary import summarise
    from gpubench.model import Ceiling

    if record.timing is None:
        return record.summary
    before = record.summary or {}
    fraction, rate = before.get("fraction_of_copy") or before.get("fraction_of_ceiling"), before.get("GBps")
    ceiling = Ceiling(copy_GBps=rate / fraction) if rate and fraction else Ceiling()
    summary = summarise(record.timing, (record.bytes or 0, 0), ceiling, record.simulated)
    least, median = before.get("ceiling_us"), summary["median_us"]
    return summary | {"ceiling_us": least, "fraction_of_ceiling": least / median} if least and median else summary
