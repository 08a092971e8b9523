"""`gpubench explore`: draw case after case, and look for the regions in which a contender loses."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpubench.cli import output
from gpubench.cli.allowing import allow_options, brought_by
from gpubench.cli.options import (
    SECONDS,
    OutputFile,
    device_option,
    quiet_option,
    result_option,
    seed_option,
    share_option,
    split_commas,
    suites_argument,
)
from gpubench.cli.origin import Origin, origin_options
from gpubench.cli.quantities import share
from gpubench.errors import UsageError
from gpubench.names import AUTO, HOST_CONTENDERS, contender_of, is_ours, split_constants

if TYPE_CHECKING:
    from gpubench.engine.run import Finished
    from gpubench.engine.supervisor import Supervisor
    from gpubench.explore.search import Search
    from gpubench.model import Case, Json
    from gpubench.own.registry import Staged
    from gpubench.own.trust import Permission
    from gpubench.suite.expand import Suite

TIME_LIMIT = 0.5
"""Seconds of sampling a contender of a case: many cases a little are worth more here than a few for long."""

EPILOG = """\b
Exit codes (the first that applies):
  130  interrupted; what was measured is written, and --resume goes on
  2    bad usage or input, no device, or a file that cannot be written
  4    a kernel's answer is wrong
  5    some case crashed, hung, ran out of memory, did not compile, or met a device error
  3    nothing was measured
  0    everything else, whether regions were found or not
"""


@click.command(epilog=EPILOG)
@suites_argument
@device_option
@click.option(
    "--time", "seconds", type=SECONDS, default=600.0, show_default=True, metavar="S", help="Measure for S seconds."
)
@click.option("--of", "subject", default=AUTO, show_default=True, metavar="CONTENDER", help="Whose losses to look for.")
@click.option(
    "--below",
    callback=share,
    default="0.95",
    show_default=True,
    metavar="SHARE",
    help="It loses where the fastest other takes less than this share of its time.",
)
@click.option(
    "--peer",
    "peers",
    multiple=True,
    callback=split_commas,
    metavar="NAMES",
    help="Beside these libraries too: torch ...",
)
@seed_option
@click.option("--rounds", type=click.IntRange(1, 1000), default=2, show_default=True, metavar="N", help="Of each case.")
@click.option(
    "--min-samples", type=click.IntRange(1, 100_000), default=10, show_default=True, metavar="N", help="Of a contender."
)
@result_option("SUITE-explored-TIME.json")
@click.option("--as-suite", "suite_file", type=OutputFile(), metavar="FILE", help="Write the losing cases as a suite.")
@click.option(
    "--resume", type=click.Path(path_type=Path), metavar="FILE", help="Go on with an unfinished search, told the same."
)
@allow_options
@share_option
@origin_options
@quiet_option
def command(
    suites: tuple[str, ...],
    device: str,
    quiet: bool,
    suite_file: Path | None,
    allow: Permission,
    origin: Origin,
    **given: Any,
) -> int:
    """Draw case after case from the random entries of SUITE..., and vary what loses until its region is known.

    From the worst case on, one parameter at a time is varied: sizes by one, two, half and double, dtype, dim, layout
    and what else the operator has. Printed are the regions in which --of loses, in words. The result is like one of
    `gpubench run`, so that `show --worst` and `plot --kind profile` take it; it keeps the regions, too.
    """
    from gpubench.cli.measuring import request_of
    from gpubench.cli.watching import View, stopping
    from gpubench.engine.explore import FEW, Exploration
    from gpubench.engine.run import execute, exit_code
    from gpubench.engine.supervisor import RunOptions, Supervisor
    from gpubench.engine.workers import WorkerOptions
    from gpubench.explore.search import Search
    from gpubench.suite.expand import load_suites
    from gpubench.suite.make import draw_on

    loaded = load_suites(suites, given["seed"])
    prepare = _preparation(loaded, given)
    most_bytes = min(entry.wishes.memory for entry in loaded.entries if entry.wishes is not None)
    search = Search(draw_on(loaded.entries), given["subject"], given["below"], most_bytes)
    told = ("subject", "below", "peers", "rounds", "min_samples")
    plan: Json = ["explore", loaded.identity, {name: given[name] for name in told}]
    request = request_of(given, origin, suites, loaded, ending="explored", plan=plan)
    view = View(quiet, device)
    drawn = [replace(entry, contenders=(*entry.contenders, given["subject"])) for entry in loaded.entries]
    with brought_by(loaded, drawn, device, allow) as staged:
        options = RunOptions(WorkerOptions(device, staged=staged), given["seed"] or 0, stop_after=FEW - 1)
        with Supervisor(options, view.handle) as supervisor, stopping(supervisor), view:
            compile_for = partial(_compile, supervisor, staged)
            exploration = Exploration(search, supervisor, prepare, given["seconds"], compile_for)
            finished = execute(request, supervisor, view.handle, exploration.work)
    _show(finished, search, given["subject"], quiet, suite_file)
    if finished.error is not None:
        raise finished.error
    if search.compared == 0 and finished.result.records:
        missing = [record for record in finished.result.records if "median_us" not in (record.summary or {})]
        reasons = Counter(f"{record.contender}: {record.message or record.status}" for record in missing)
        output.report(f"No case could be compared. {' '.join(reason for reason, _ in reasons.most_common(1))}")
    elif any(record.simulated for record in finished.result.records):
        output.report("Simulated times: these regions say nothing of a GPU, and show --worst and plot leave them out.")
    return exit_code(finished)


def _compile(supervisor: Supervisor, staged: Sequence[Staged], cases: Sequence[Case]) -> None:
    """Compile our kernels for cases on a GPU by a process for each core. What fails is met again when it is run."""
    from gpubench.cli.compile_items import of_cases
    from gpubench.engine.environment import device_from
    from gpubench.errors import CompileError
    from gpubench.kernels import compile_many

    device = device_from(supervisor.environment)
    if device.kind != "cuda":
        return
    items = [item for item in of_cases(cases, staged, [device]) if item.launch is None and not item.failed]
    with contextlib.suppress(CompileError):
        compile_many([item.request for item in items], len(os.sched_getaffinity(0)))


def _preparation(suite: Suite, given: dict[str, Any]) -> Callable[[Case], Case]:
    """Return what gives a drawn case its contenders and its timing. UsageError where there would be nothing to do."""
    from gpubench.api.cases import require_known

    require_known(given["peers"])
    if not suite.entries:
        raise UsageError(
            f"{suite.name} has no random entry to draw cases from: add one (random: {{cases: 1}}), or take the "
            "suite random."
        )
    subject = given["subject"]
    _require_variant(subject, [entry.operator for entry in suite.entries])
    for entry in suite.entries:
        others = {*entry.contenders, *given["peers"]} - {subject, *HOST_CONTENDERS}
        if not others:
            raise UsageError(f"{entry.operator} has nothing beside {subject} to lose to: name a library, --peer torch.")

    def prepare(case: Case) -> Case:
        names = dict.fromkeys((subject, *case.contenders, *given["peers"]))
        rounds, least = given["rounds"], given["min_samples"]
        timing = replace(case.timing, rounds=rounds, min_samples=least, max_samples=5 * least, time_limit_s=TIME_LIMIT)
        timing = replace(timing, least_rounds=1)  # what is hopelessly slow is known to be so after one
        contenders = tuple(name for name in names if name not in HOST_CONTENDERS)
        return replace(case, contenders=contenders, timing=timing, limits={})

    return prepare


def _require_variant(subject: str, operators: Sequence[str]) -> None:
    """UsageError, with the nearest name, for a variant of ours that none of the operators has."""
    from gpubench.operators import operator as find

    known = {AUTO, *(contender_of(variant.name) for name in operators for variant in find(name).variants)}
    bare = split_constants(subject)[0]
    if is_ours(bare) and bare not in known:
        near = get_close_matches(bare, sorted(known), n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise UsageError(f"--of: {', '.join(dict.fromkeys(operators))} has no {bare}.{hint}")


def _show(finished: Finished, search: Search, subject: str, quiet: bool, suite_file: Path | None) -> None:
    """Print the regions, and write their cases where that was asked for."""
    from gpubench.suite.write import suite_text
    from gpubench.views.text import printable

    findings, compared = search.findings(), search.compared
    if suite_file is not None:
        cases: dict[str, Case] = {}
        remarks: dict[str, str] = {}
        for found in findings:
            for standing in found.cases:
                cases.setdefault(standing.case.id, standing.case)
                remarks.setdefault(standing.case.id, f"{standing.versus(subject) or 0:.2f} x; {found.words}")
        if cases:
            output.put(suite_file, suite_text("holes", list(cases.values()), remarks))
        else:
            output.report(f"{suite_file} is not written: no case lost.")
    if not quiet:
        tried = len({record.case.id for record in finished.result.records})
        lines = [printable(found.told()) for found in findings]
        if compared and not findings:
            lines = [f"{subject} loses in none of the {compared} cases that could be compared."]
        output.write("\n".join([*lines, f"{len(findings)} region{'s' * (len(findings) != 1)}, {tried} cases tried"]))
        output.report(f"Result: {output.near(finished.path)}")
    if finished.journal is not None:
        output.report(f"The search is not complete. Go on with the same command and --resume {finished.journal}")
