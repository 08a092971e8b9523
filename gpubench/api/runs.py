"""`gpubench.suite`, `gpubench.case` and `gpubench.run`: from cases to a result, by the engine of the command line."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpubench.api.cases import chosen, overridden
from gpubench.api.contenders import name_of
from gpubench.api.operators import is_local as is_local_operator
from gpubench.api.operators import operator_name
from gpubench.api.result import Result
from gpubench.api.staging import brought_by
from gpubench.dtypes import canonical
from gpubench.engine.events import Event
from gpubench.engine.inside import InProcess
from gpubench.engine.run import Finished, Request, execute
from gpubench.engine.supervisor import RunOptions, Supervisor
from gpubench.engine.workers import WorkerOptions
from gpubench.model import Case, Json, TimingOptions
from gpubench.names import AUTO, NUMPY
from gpubench.operators import operator as find_operator
from gpubench.operators.parameters import to_json
from gpubench.own.trust import Permission
from gpubench.peers.own_function import is_local
from gpubench.suite.expand import Suite, expand, load_suite

SAID = ("python",)
"""What stands in a result for the command line, where there is none."""


def suite(given: str | Path | Mapping[str, Any]) -> Suite:
    """Return a suite: by path, by the name of a shipped one, or as the mapping that its YAML would hold.

    UsageError when there is no such file; SuiteError, with every mistake, when something in it is wrong.
    """
    if isinstance(given, Mapping):
        return expand(json.dumps(given).encode(), "suite")
    return load_suite(given)


def case(
    operator: str | Callable[..., Any],
    *,
    dtype: str = "float32",
    contenders: Sequence[str | Callable[..., Any]] = (AUTO, NUMPY),
    seed: int = 1,
    timing: TimingOptions | None = None,
    limits: Mapping[str, Json] | None = None,
    **params: Any,
) -> Case:
    """Return one case: `gb.case("cumsum", shape=[4096, 4096], dim=1)`. `params` are the operator's own keys.

    operator: a name, or the reference of an operator of one's own, which `gb.operator` decorated.

    ParameterError names a parameter that makes no sense, UsageError an operator that does not exist.
    """
    one, dtype = find_operator(operator_name(operator)), canonical(dtype)
    parsed = one.normalise(one.parse(json.loads(json.dumps(params))), dtype)
    label = one.label(parsed, dtype) + f"/seed={seed}" * (seed != 1)
    names = tuple(name_of(contender) for contender in contenders)
    return Case(
        label,
        one.name,
        dtype,
        to_json(parsed),
        seed=seed,
        contenders=names,
        timing=timing or TimingOptions(),
        limits=dict(limits or {}),
    )


def run(
    cases: Suite | Case | Sequence[Case] | str | Path,
    *,
    contenders: Sequence[str | Callable[..., Any]] | None = None,
    keep: str | None = None,
    device: str = "auto",
    seed: int = 0,
    output: str | Path | None = None,
    allow: Permission = "nothing",
    on_event: Callable[[Event], None] | None = None,
    **timing: Any,
) -> Result:
    """Measure cases, check every answer, and return the result.

    cases: a suite (or its path or name), a case, or several. contenders: these in place of each case's own: names, and
    functions that `contender` decorated. keep: a filter such as "cumsum and float32". device: auto, cuda:0, host ...
    output: where the result file goes; None: nowhere. allow: what may run of what a suite brings: "kernels" on the GPU,
    or all "code". timing: fields of `TimingOptions` to override (method, rounds,
    max_noise, integrity ...).

    Work is done in a worker process, as on the command line. Only where a contender is a function of this process, or
    an operator was made known here, it is done here: a kernel that crashes then ends the caller. UsageError for what
    makes no sense, NoDeviceError without the device; what becomes of a contender is its record's status.
    """
    whole = load_suite(cases) if isinstance(cases, str | Path) else cases
    taken, identity = _taken(whole)
    names = None if contenders is None else tuple(name_of(contender) for contender in contenders)
    if names is not None:
        taken = tuple(replace(given_case, contenders=names) for given_case in taken)
    picked = chosen(overridden(taken, timing), keep)
    with ExitStack() as stack:
        staged = stack.enter_context(brought_by(whole, picked, device, allow)) if isinstance(whole, Suite) else ()
        options = RunOptions(worker=WorkerOptions(device, staged=staged), seed=seed)
        root = Path(stack.enter_context(tempfile.TemporaryDirectory())) if output is None else Path.cwd()
        place = root / "result.json" if output is None else Path(output)
        request = Request(picked, identity, SAID, seed=seed, output=place, root=root)
        measurer = stack.enter_context(measurer_of(picked, options, on_event or _ignore))
        finished = execute(request, measurer, on_event or _ignore)
    return result_of(finished, None if output is None else place)


def measurer_of(
    cases: Sequence[Case], options: RunOptions, on_event: Callable[[Event], None]
) -> AbstractContextManager[Any]:
    """Return what measures these cases: a supervisor with a worker, or this process where a contender or an operator
    is one that only it knows.
    """
    if any(is_local_operator(case.operator) or any(map(is_local, case.contenders)) for case in cases):
        return InProcess(options.worker.device, options.seed, on_event)
    return Supervisor(options, on_event)


def result_of(finished: Finished, path: Path | None) -> Result:
    """Return the result of a run that is over. Raises what kept records from being stored, KeyboardInterrupt."""
    if finished.error is not None:
        raise finished.error
    if finished.interrupted:
        raise KeyboardInterrupt
    return Result(finished.result, path)


def _ignore(_: object) -> None:
    """Do nothing with an event."""


def _taken(given: Suite | Case | Sequence[Case]) -> tuple[tuple[Case, ...], Mapping[str, Json]]:
    """Return the cases, and what the result says of the suite."""
    if isinstance(given, Suite):
        return given.cases, given.identity
    several = (given,) if isinstance(given, Case) else tuple(given)
    ids = "\n".join(given_case.id for given_case in several)
    return several, {"name": "python", "sha256": hashlib.sha256(ids.encode()).hexdigest()}
