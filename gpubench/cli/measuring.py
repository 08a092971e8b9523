"""Measuring on behalf of commands that compare: as `gpubench run` does, without its table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpubench.cli.options import Filters
from gpubench.cli.watching import View, stopping
from gpubench.errors import DeviceError, UsageError

if TYPE_CHECKING:
    from gpubench.cli.origin import Origin
    from gpubench.engine.run import Finished, Request
    from gpubench.model import Case, Json, Source, TimingOptions
    from gpubench.own.registry import Staged
    from gpubench.suite.expand import Suite

MOST_SAMPLES = 100_000


def filtered(suite: Suite, filters: Filters) -> tuple[Case, ...]:
    """Return the suite's cases that the filters keep. UsageError when that is none."""
    from gpubench.suite.filters import select

    return select(
        suite.cases,
        expression=filters.expression,
        operators=filters.operators,
        dtypes=filters.dtypes,
        contenders=filters.contenders,
    )


def with_rounds(timing: TimingOptions, rounds: int | None, samples: int | None = None) -> TimingOptions:
    """Return the options with so many rounds, and at least so many samples in each. UsageError for too many samples."""
    rounds = rounds or timing.rounds
    least = max(timing.min_samples, (samples or 1) * rounds)
    if least > MOST_SAMPLES:
        raise UsageError(f"{rounds} rounds of {samples} samples are over {MOST_SAMPLES:,} samples of a contender.")
    return replace(timing, rounds=rounds, min_samples=least, max_samples=max(timing.max_samples, least))


def request_of(
    given: Mapping[str, Any],
    origin: Origin,
    suites: Sequence[str],
    loaded: Suite,
    cases: Sequence[Case] = (),
    ending: str = "",
    plan: Json = None,
) -> Request:
    """Return what a command's options, `given`, ask for. suites: as they were named.

    ending: of the suite's name in the result. plan: see `Request`.
    """
    from gpubench.engine.run import Request

    identity = {**loaded.identity, "name": f"{loaded.name}-{ending}"} if ending else loaded.identity
    return Request(
        cases,
        identity,
        command=origin.command(),
        seed=given["seed"] or 0,
        output=given["result_file"],
        resume=given["resume"],
        root=Path.cwd(),
        share_device=given["share_device"],
        source=origin.source(suites),
        plan=plan,
    )


def measure(
    cases: Sequence[Case],
    suite: Suite,
    device: str,
    seed: int,
    quiet: bool,
    path: Path | None,
    share_device: bool,
    told: tuple[tuple[str, ...], Source],
    staged: tuple[Staged, ...] = (),
) -> Finished:
    """Run the cases in a worker of their own and return the run. KeyboardInterrupt when the user ended it.

    told: the command line that the result keeps, and where its suite and kernels come from. staged: what suites bring.
    DeviceError when it stopped before its end; what was measured until then lies at `path`.
    """
    from gpubench.engine.run import Request, execute
    from gpubench.engine.supervisor import RunOptions, Supervisor
    from gpubench.engine.workers import WorkerOptions

    command, source = told
    request = Request(
        cases,
        suite.identity,
        command,
        seed=seed,
        output=path,
        root=Path.cwd(),
        share_device=share_device,
        source=source,
    )
    view = View(quiet, device)
    options = RunOptions(WorkerOptions(device, staged=staged), seed)
    with Supervisor(options, view.handle) as supervisor, stopping(supervisor), view:
        finished = execute(request, supervisor, view.handle)
    if finished.error is not None:
        raise finished.error
    if finished.interrupted:
        raise KeyboardInterrupt
    if finished.journal is not None:
        raise DeviceError(f"The run stopped before its end: {finished.result.extra.get('stopped')}")
    return finished
