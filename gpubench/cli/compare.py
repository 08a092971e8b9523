"""`gpubench compare`: is the new result faster, slower or the same?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpubench.cli.comparing import CODES, Outputs, emit, output_options, rule_options
from gpubench.cli.options import Filters, filter_options
from gpubench.errors import ExitCode, UsageError
from gpubench.names import NUMPY

if TYPE_CHECKING:
    from gpubench.analysis.compare import Options
    from gpubench.model import Case, ResultSet


@click.command(epilog=CODES)
@click.argument("baseline", metavar="BASELINE")
@click.argument("new", metavar="[NEW...]", nargs=-1, type=click.Path(path_type=Path))
@rule_options(threshold="1%")
@filter_options
@click.option("--a", "a", metavar="CONTENDER", help="With --b: compare this contender of BASELINE ...")
@click.option("--b", "b", metavar="CONTENDER", help="... with this one of NEW (of BASELINE, when there is no NEW).")
@click.option("--calibration", type=click.Path(path_type=Path), help="Learn from this result of calibrate as well.")
@click.option("--adjust-machine", is_flag=True, help="Judge what is left when the machine itself has changed.")
@click.option("--allow-different-device", is_flag=True, help="Compare what should not be compared, and say so.")
@output_options
def command(
    baseline: str,
    new: tuple[Path, ...],
    threshold: float,
    threshold_us: float,
    alpha: float,
    filters: Filters,
    a: str | None,
    b: str | None,
    calibration: Path | None,
    adjust_machine: bool,
    allow_different_device: bool,
    outputs: Outputs,
) -> ExitCode:
    """Compare one or more results with BASELINE: a result file, a folder, or the name of a saved baseline.

    From a folder the newest result of the same suite and device is taken. Several NEW results stand beside each other
    in one matrix. Pairs have the same case and contender; --a and --b pair two contenders by case. numpy, whose times
    are the host's, is compared when --contender names it.

    What did not change (identical machine code, libraries of the same version, the sweep of ceilings) tells how the
    machine changed; that is taken off, and what did change is judged. SLOWER, FASTER: certainly by more than the
    threshold, corrected for the number of pairs. SAME: the 95 % interval lies within the threshold. UNDECIDED: neither;
    the row says which change it sees and how many rounds would decide. DRIFTED: unchanged work whose time changed.
    BROKEN, FIXED: it failed in one of the two. ADDED, REMOVED: it is in one only.
    """
    from gpubench.analysis.compare import Options, compare
    from gpubench.analysis.pairing import Selection
    from gpubench.analysis.rule import Rule
    from gpubench.results.read import read

    if (a is None) != (b is None):
        raise UsageError("--a and --b belong together: name both contenders.")
    if not new and a is None:
        raise UsageError("Name at least one result to compare with the baseline (or two contenders: --a, --b).")
    options = Options(
        rule=Rule(threshold, alpha, threshold_us, adjust_machine),
        selection=Selection(a=a, b=b),
        allow_different=allow_different_device,
        host=NUMPY in filters.contenders,
        calibrations=() if calibration is None else (read(calibration),),
    )
    comparisons = []
    for old_name, old, new_name, comparison in _results(baseline, new):
        named = replace(options, old=_label(old_name, a), new=_label(new_name, b))
        comparisons.append(compare(old, comparison, _filtered(named, (old, comparison), filters)))
    return emit(comparisons, outputs)


def _results(baseline: str, new: Sequence[Path]) -> list[tuple[str, ResultSet, str, ResultSet]]:
    """Return name and content of both sides of each comparison."""
    from gpubench.results.baselines import alone, find
    from gpubench.results.read import read

    if not new:
        place = alone(baseline, Path())
        only = read(place)
        return [(str(place), only, str(place), only)]
    found = []
    for path in new:
        one = read(path)
        place = find(baseline, one, Path(), besides=path)
        found.append((str(place), read(place), str(path), one))
    return found


def _label(name: str, contender: str | None) -> str:
    return name if contender is None else f"{name} {contender}"


def _filtered(options: Options, results: Sequence[ResultSet], filters: Filters) -> Options:
    """Return the options with what the filters keep. UsageError, with the nearest names, when that is nothing."""
    if filters.is_empty:
        return options
    return replace(options, selection=replace(options.selection, keep=_keep(results, filters)))


def _keep(results: Sequence[ResultSet], filters: Filters) -> Callable[[Case, str], bool]:
    from gpubench.suite.filters import select

    contenders: dict[str, dict[str, None]] = {}
    cases = {}
    for result in results:
        for record in result.records:
            cases[record.case.id] = record.case
            contenders.setdefault(record.case.id, {})[record.contender] = None
    all_cases = [replace(case, contenders=tuple(contenders[name])) for name, case in cases.items()]
    kept = select(
        all_cases,
        expression=filters.expression,
        operators=filters.operators,
        dtypes=filters.dtypes,
        contenders=filters.contenders,
    )
    wanted = {(case.id, contender) for case in kept for contender in case.contenders}
    return lambda case, contender: (case.id, contender) in wanted
