"""`gpubench check`: are the kernels' answers right? No timing; on the host device under several schedules."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from gpubench.cli import output
from gpubench.cli.allowing import allow_options, brought_by
from gpubench.cli.options import Filters, filter_options, seed_option, suites_argument
from gpubench.errors import ExitCode, UsageError
from gpubench.names import FINE, MEASURED, REFUTED, contender_of

if TYPE_CHECKING:
    from gpubench.engine.events import Event
    from gpubench.engine.process import WorkerProcess
    from gpubench.engine.supervisor import Supervisor
    from gpubench.model import Case, Record
    from gpubench.own.registry import Staged
    from gpubench.own.trust import Permission
    from gpubench.suite.expand import Suite

EPILOG = """\b
Exit codes (the first that applies):
  130  interrupted
  2    bad usage or input, no device, no compiler
  4    a kernel's answer is wrong
  5    a kernel crashed, hung, broke a rule of the platform, ran out of memory or did not compile
  0    everything else: unsupported and skipped are no failures
"""

SCHEDULES = ("forward", "reverse", "random:1")
"""What `--schedule all` stands for."""

LONGEST_MESSAGE = 24
"""Lines of one failure that are shown."""


@click.command("check", epilog=EPILOG)
@suites_argument
@click.option("--device", default="host", show_default=True, metavar="DEVICE", help="host, or cuda:0 ...")
@click.option(
    "--schedule",
    "schedules",
    multiple=True,
    metavar="ORDER",
    help="Order of threads on the host: forward, reverse, random:SEED or all (the default: "
    + ", ".join(SCHEDULES)
    + "). Repeat for several.",
)
@click.option("--sanitize", is_flag=True, help="Build for AddressSanitizer in place of the simulator's own checks.")
@click.option("--fast", is_flag=True, help="Check answers only, not each access to memory: about twice as fast.")
@click.option(
    "--max-elements",
    type=click.IntRange(1, 2**40),
    metavar="N",
    help="Skip cases with a larger operand on the host (default 1048576).",
)
@click.option("-x", "--exitfirst", is_flag=True, help="Stop at the first failure.")
@seed_option
@allow_options
@filter_options
def command(
    suites: tuple[str, ...],
    seed: int | None,
    filters: Filters,
    device: str,
    schedules: tuple[str, ...],
    sanitize: bool,
    fast: bool,
    max_elements: int | None,
    exitfirst: bool,
    allow: Permission,
) -> int:
    """Check the answers of every kernel that takes the cases of SUITE..., without timing them.

    On the host device every variant runs under each schedule, and the simulator reports barriers that diverge, reads of
    shared memory that nobody wrote, races, accesses out of bounds, and more, with the line at fault. Variants come from
    the operators, or are the kernels that the suite brings; --contender chooses among them.
    """
    if sanitize and fast:
        raise UsageError("--sanitize and --fast exclude each other.")
    from gpubench.suite.expand import load_suites

    specs = _specs(device, schedules, "sanitize" if sanitize else "fast" if fast else "checked", max_elements)
    loaded = load_suites(suites, seed)
    cases = _cases(loaded, filters)
    tally = _Tally(exitfirst)
    with brought_by(loaded, cases, device, allow) as staged:
        for label, spec in specs:
            tally.run(label, spec, cases, sanitize, staged)
            if tally.ended:
                break
    return tally.finish(len(specs))


def _specs(device: str, schedules: Sequence[str], build: str, max_elements: int | None) -> list[tuple[str, str]]:
    """Return (label, device spec) of every pass. UsageError for options that only the host device has."""
    if device.partition(":")[0] != "host":
        if schedules or build != "checked" or max_elements:
            raise UsageError("--schedule, --sanitize, --fast and --max-elements belong to --device host.")
        return [(device, device)]
    from gpubench.devices.host_options import parse_schedule

    wanted = [schedule for given in schedules or ("all",) for schedule in (SCHEDULES if given == "all" else (given,))]
    limit = f",largest={max_elements}" if max_elements else ""
    own = device.partition(":")[2]
    specs = []
    for schedule in dict.fromkeys(str(parse_schedule(name)) for name in wanted):
        options = ",".join(filter(None, [own, f"schedule={schedule},build={build},workers=1{limit}"]))
        specs.append((schedule, f"host:{options}"))
    return specs


def _cases(suite: Suite, filters: Filters) -> tuple[Case, ...]:
    """Return the cases, to be run just once: with the kernels that the suite brings for the operator as contenders, and
    with all variants where it brings none (or --contender chooses among both).
    """
    from gpubench.operators import operator
    from gpubench.suite.filters import select

    kernels = [kernel for file in suite.brings for kernel in file.brought.kernels]
    cases = []
    for case in suite.cases:
        own = tuple(kernel.contender for kernel in kernels if kernel.operator == case.operator)
        variants = tuple(contender_of(variant.name) for variant in operator(case.operator).variants)
        variants = (*own, *variants) if filters.contenders or not own else own
        timing = replace(case.timing, method="cold", rounds=1, min_samples=1, max_samples=1, max_noise=1e9)
        cases.append(replace(case, contenders=variants, timing=timing))
    return select(
        cases,
        expression=filters.expression,
        operators=filters.operators,
        dtypes=filters.dtypes,
        contenders=filters.contenders,
    )


@dataclass
class _Tally:
    """What came out, over all passes."""

    exitfirst: bool
    statuses: Counter[str] | None = None
    ended: bool = False
    interrupted: bool = False
    failures: int = 0

    def run(
        self, label: str, spec: str, cases: Sequence[Case], sanitize: bool, staged: tuple[Staged, ...] = ()
    ) -> None:
        """Run one pass and print its failures as they come, then its line."""
        from gpubench.cli.watching import stopping
        from gpubench.engine.process import WorkerProcess
        from gpubench.engine.supervisor import RunOptions, Supervisor
        from gpubench.engine.workers import WorkerOptions
        from gpubench.model import Ceiling

        began = time.monotonic()
        seen: Counter[str] = Counter()
        spawn = _sanitized_worker if sanitize else WorkerProcess

        def watch(event: Event) -> None:
            self._watch(event, label, seen, supervisor)

        supervisor = Supervisor(RunOptions(WorkerOptions(spec, staged=staged), stop_after=0), watch, spawn)
        with supervisor, stopping(supervisor):
            supervisor.open(Ceiling())
            outcome = supervisor.run(cases)
        self.statuses = (self.statuses or Counter()) + seen
        self.interrupted = outcome.interrupted and not (self.exitfirst and self.failures)
        self.ended = outcome.stopped is not None
        if outcome.stopped is not None and not outcome.interrupted:
            output.report(f"stopped: {outcome.stopped}")
        counts = ", ".join(f"{count} {status}" for status, count in seen.most_common())
        output.write(f"{label}: {counts or 'nothing'} in {time.monotonic() - began:.1f} s")

    def _watch(self, event: Event, label: str, seen: Counter[str], supervisor: Supervisor) -> None:
        from gpubench.engine.events import RecordFinished

        if not isinstance(event, RecordFinished):
            return
        record = event.record
        status = "ok" if record.status in MEASURED else record.status
        seen[status] += 1
        if status in FINE:
            return
        self.failures += 1
        output.write(describe(record, label))
        if self.exitfirst:
            supervisor.interrupt()

    def finish(self, passes: int) -> int:
        """Print the last line and return the exit code."""
        statuses = self.statuses or Counter()
        bad = Counter({status: count for status, count in statuses.items() if status not in FINE})
        if self.interrupted:
            return ExitCode.INTERRUPTED
        if bad:
            output.write(f"FAILED: {', '.join(f'{count} {status}' for status, count in bad.most_common())}")
            return ExitCode.WRONG_ANSWER if any(status in bad for status in REFUTED) else ExitCode.FAILED_CASE
        if not statuses["ok"]:
            raise UsageError("Nothing was checked: no variant takes any of these cases, or all of them are too large.")
        output.write(f"All answers are right: {statuses['ok']} checks in {passes} pass{'es' * (passes != 1)}.")
        return ExitCode.FINE


def describe(record: Record, label: str) -> str:
    """Return what is to be said of a failure: its first line names case, contender and schedule."""
    lines = [f"{record.status.upper()}  {record.case.id}  {record.contender}  [{label}]"]
    message = record.message or ""
    if "AddressSanitizer" in message:
        message = "\n".join(_sanitizer_lines(message))
    lines += [f"  {line}" for line in message.splitlines()[:LONGEST_MESSAGE]]
    from gpubench.views import mismatches
    from gpubench.views.text import printable

    if record.check is not None and record.check.mismatches is not None:
        lines += [f"  {line}" for line in mismatches.lines(record.check.mismatches)]

    return "\n".join(printable(line) for line in lines)


def _sanitizer_lines(message: str) -> list[str]:
    """Return the lines of AddressSanitizer's report that a kernel's author needs."""
    keep = ("ERROR: AddressSanitizer", "READ of size", "WRITE of size", "is located", "gpubench: ", "SUMMARY")
    lines = message.splitlines()
    frames = [line for line in lines if line.lstrip().startswith("#") and (".cu:" in line or ".cuh:" in line)]
    return [line.strip() for line in lines if any(word in line for word in keep)] + [
        frame.strip() for frame in frames[:4]
    ]


# --- AddressSanitizer ------------------------------------------------------------------------------------------------


def _sanitized_worker() -> WorkerProcess:
    """Start a worker with AddressSanitizer in it from the first instruction on: it must come before everything else."""
    from gpubench.devices.host_compiler import sanitizer_environment
    from gpubench.engine.process import WorkerProcess

    with _environment(**sanitizer_environment()):
        return WorkerProcess()


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    """Change the environment that a process started meanwhile inherits."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
