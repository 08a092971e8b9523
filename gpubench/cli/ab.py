"""`gpubench ab`: two contenders against each other, alternating in one process."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpubench.cli import output
from gpubench.cli.allowing import allow_options, brought_by
from gpubench.cli.comparing import CODES, Outputs, emit, output_options, rule_options
from gpubench.cli.options import (
    SECONDS,
    SEED,
    device_option,
    filter_options,
    quiet_option,
    result_option,
    share_option,
    suites_argument,
)
from gpubench.cli.origin import origin_options
from gpubench.cli.tuning_choice import tuning_choice, tuning_option
from gpubench.errors import ExitCode, UsageError
from gpubench.names import AUTO, NUMPY, SECOND_SUFFIX, contender_of, is_kernel, is_own, split_constants
from gpubench.results.strict import shown

if TYPE_CHECKING:
    from gpubench.engine.run import Finished
    from gpubench.model import Case, Source
    from gpubench.suite.expand import Suite


@click.command(epilog=CODES)
@suites_argument
@click.option("--a", "a", default=AUTO, show_default=True, metavar="CONTENDER", help="The one to beat.")
@click.option("--b", "b", metavar="CONTENDER", help="The other one; without it the same contender, from --b-source.")
@click.option(
    "--b-source",
    type=click.Path(path_type=Path),
    metavar="PLACE",
    help="b's kernels come from this cuda_src folder (or its checkout); own:KERNEL from this suite, or its folder.",
)
@rule_options(threshold="0.1%")
@filter_options
@device_option
@click.option(
    "--rounds",
    default=24,
    show_default=True,
    type=click.IntRange(2, 1000),
    metavar="N",
    help="Rounds, each with fresh buffers and both contenders.",
)
@click.option(
    "--samples",
    default=10,
    show_default=True,
    type=click.IntRange(1, 100_000),
    help="The fewest samples of each in a round.",
)
@click.option(
    "--time-limit",
    default=10.0,
    show_default=True,
    type=SECONDS,
    metavar="S",
    help="Seconds of sampling a contender of a case.",
)
@click.option(
    "--seed",
    type=SEED,
    metavar="N",
    help="Draw the cases of `random` entries with this seed; orders, too, are others.",
)
@result_option("SUITE-ab-TIME.json", " (- prints it, too)")
@tuning_option
@allow_options
@share_option
@origin_options
@quiet_option
@output_options
def command(
    suites: tuple[str, ...],
    a: str,
    b: str | None,
    b_source: Path | None,
    threshold: float,
    threshold_us: float,
    alpha: float,
    quiet: bool,
    outputs: Outputs,
    **given: Any,
) -> ExitCode:
    """Time two contenders of the suites SUITE... alternately (A B, B A, A B ...) in one process, and compare them.

    What disturbs both alike, such as clocks and temperature, cancels within a round, so that far smaller changes are
    seen than between two runs. `gpubench ab SUITE --b-source ../other/cuda_src` judges an edit of the kernels.
    """
    from gpubench.analysis.compare import Options, compare
    from gpubench.analysis.pairing import Selection
    from gpubench.analysis.rule import Rule
    from gpubench.results.paths import STREAM
    from gpubench.results.write import dumps
    from gpubench.suite.expand import load_suites

    printed = given["result_file"] == STREAM
    if printed and outputs.on_standard_output:
        raise UsageError(f"-o and {outputs.on_standard_output[0]} cannot both go to standard output.")
    other = _other(a, b, b_source)
    loaded = load_suites(suites, given["seed"])
    cases = _cases(loaded, (a, other), given)
    for name in (a, b or a):
        _known(name, {case.operator for case in cases}, loaded)
    told = given["origin"].command(), given["origin"].source(suites)
    finished = _measured(cases, loaded, b_source, quiet, told, {**given, "result_file": None} if printed else given)
    options = Options(
        Rule(threshold, alpha, threshold_us),
        Selection(a=a, b=other),
        old=a,
        new=other if b_source is None else f"{other} ({b_source})",
        interleaved=True,
    )
    code = emit([compare(finished.result, finished.result, options)], outputs, quiet or printed)
    if printed:
        output.write(dumps(finished.result))
    if not quiet:
        output.report(f"Result: {finished.path}")
    return code


def _cases(suite: Suite, names: tuple[str, str], given: Mapping[str, Any]) -> list[Case]:
    """Return the cases of the suite that the filters leave, with both contenders in turn."""
    from gpubench.cli.measuring import filtered, with_rounds

    cases = []
    for case in filtered(suite, replace(given["filters"], contenders=())):
        timing = with_rounds(case.timing, given["rounds"], given["samples"])
        timing = replace(timing, order="alternating", time_limit_s=given["time_limit"])
        cases.append(replace(case, contenders=names, timing=timing))
    return cases


def _measured(
    cases: Sequence[Case],
    suite: Suite,
    b_source: Path | None,
    quiet: bool,
    told: tuple[tuple[str, ...], Source],
    given: Mapping[str, Any],
) -> Finished:
    """Time both contenders of the cases; b's kernels come from `b_source`. `told`: the command line and the sources."""
    from gpubench.cli.measuring import measure

    device, allow = given["device"], given["allow"]
    last = _last_version(suite, b_source) if any(is_own(case.contenders[1]) for case in cases) else None
    with (
        tuning_choice(given["tuning"]),
        _second_source(None if last else b_source),
        brought_by(suite, cases, device, allow) as first,
        brought_by(last or suite, cases if last else (), device, allow) as second,
    ):
        return measure(
            cases,
            replace(suite, name=f"{suite.name}-ab"),
            device,
            given["seed"] or 0,
            quiet,
            given["result_file"],
            given["share_device"],
            told,
            (*first, *(replace(brought, second=True) for brought in second)),
        )


def _other(a: str, b: str | None, b_source: Path | None) -> str:
    """Return the name of the second contender. UsageError when there is nothing to compare."""
    other = b or a
    if b_source is not None and not is_kernel(other):
        raise UsageError(f"--b-source holds kernels, and {other} is another library.")
    name = other if b_source is None else other + SECOND_SUFFIX
    if name == a:
        raise UsageError("Name two contenders (--a, --b), or another cuda_src folder (--b-source).")
    if NUMPY in (a, name):
        raise UsageError("numpy runs on the host and cannot take turns on the device: use compare --a --b.")
    return name


def _last_version(suite: Suite, place: Path | None) -> Suite | None:
    """Return the suite that holds b's kernels: the file --b-source names, or the one of the same name in that folder.

    UsageError when it brings none of this suite's kernels.
    """
    if place is None:
        return None
    from gpubench.suite.expand import load_suite

    names = [Path(file.path).name for file in suite.brings]
    files = [place] if place.is_file() else [place / name for name in names if (place / name).is_file()]
    if not files:
        raise UsageError(f"{place}: is no suite, and holds none called {' or '.join(names)}.")
    return load_suite(files[0])


def _known(name: str, operators: Iterable[str], suite: Suite) -> None:
    """UsageError, with the nearest names, for a contender that none of these operators can have."""
    from gpubench.operators import operator
    from gpubench.peers import PEERS

    own = [kernel.contender for file in suite.brings for kernel in file.brought.kernels]
    ours = [contender_of(variant.name) for known in operators for variant in operator(known).variants]
    names = [AUTO, *own, *ours, *PEERS]
    if split_constants(name)[0] not in names:
        near = difflib.get_close_matches(name, names, n=3) or names[:12]
        raise UsageError(f"There is no contender {shown(name)!r} for these cases. The nearest: {', '.join(near)}.")


@contextmanager
def _second_source(folder: Path | None) -> Iterator[None]:
    """Let the workers find the second cuda_src folder. UsageError when it is none."""
    from gpubench.kernels.sources import SECOND

    before = os.environ.get(SECOND)
    if folder is not None:
        os.environ[SECOND] = str(_cuda_src(folder))
    try:
        yield
    finally:
        if folder is not None:
            os.environ.pop(SECOND)
            if before is not None:
                os.environ[SECOND] = before


def _cuda_src(folder: Path) -> Path:
    for candidate in (folder, folder / "cuda_src"):
        if (candidate / "include" / "gpubench" / "platform.cuh").is_file():
            return candidate.resolve()
    raise UsageError(f"{folder}: is no cuda_src folder and holds none (include/gpubench/platform.cuh is missing).")
