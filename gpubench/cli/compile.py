"""`gpubench compile`: compile every kernel for every architecture, on a machine that needs no GPU."""

from __future__ import annotations

import difflib
import os
import resource
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from gpubench.cli import output
from gpubench.cli.allowing import allow_options, brought_by
from gpubench.cli.compile_items import Item, devices_of, left_to_run, of_cases, of_variants
from gpubench.cli.compiling import watched
from gpubench.cli.list_ import first_gpu
from gpubench.cli.options import json_flag, split_commas
from gpubench.errors import CompileError, ExitCode, UsageError

if TYPE_CHECKING:
    from gpubench.kernels import CompiledKernel
    from gpubench.model import Json
    from gpubench.own.trust import Permission

    Outcome = CompiledKernel | CompileError

ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")


@click.command()
@click.argument("suites", nargs=-1, metavar="[SUITE]...")
@click.option(
    "--arch",
    "architectures",
    multiple=True,
    callback=split_commas,
    metavar="SM",
    help="Only this architecture, sm_90 for example (repeat, or separate by commas). "
    f"Without it: {', '.join(ARCHITECTURES)}; with SUITE that of the GPU here.",
)
@click.option(
    "-k",
    "expression",
    metavar="EXPR",
    help="Only kernels whose row matches (operator:variant, dtype, kernel, architecture): words joined by and, or, not "
    "and parentheses.",
)
@click.option(
    "--operator", "operators", multiple=True, callback=split_commas, metavar="NAME", help="Only this operator."
)
@click.option("--variant", "variants", multiple=True, callback=split_commas, metavar="NAME", help="Only this variant.")
@click.option("--dtype", "dtypes", multiple=True, callback=split_commas, metavar="NAME", help="Only this dtype.")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Other libraries' designs, too; without it only ours, unless --variant, --dtype or -k asks for them.",
)
@click.option(
    "--jobs", type=click.IntRange(1, 1024), metavar="N", help="Processes at the same time; all cores without it."
)
@json_flag
@allow_options
def command(
    suites: tuple[str, ...],
    architectures: tuple[str, ...],
    expression: str | None,
    operators: tuple[str, ...],
    variants: tuple[str, ...],
    dtypes: tuple[str, ...],
    everything: bool,
    jobs: int | None,
    as_json: bool,
    allow: Permission,
) -> ExitCode:
    """Compile the variants for their dtypes, and show what each kernel takes: registers, spills, stack, shared memory.

    With SUITE..., compile just what its cases launch, so that `gpubench run` finds it: our kernels and those that the
    suite brings, whose arguments are held against their parameters.

    Spills are bytes stored and loaded; stack is bytes a thread, shared memory bytes a block (dynamic not counted). The
    last column begins the hash of the machine code: equal hashes are equal kernels. The exit code is 2 when a kernel
    does not compile.
    """
    from gpubench.kernels.nvrtc import check_architecture

    for arch in architectures:
        check_architecture(arch)
    chosen = {"operator": operators, "variant": variants, "dtype": dtypes}
    started, used = time.monotonic(), _processor_seconds()
    if suites:
        items, outcomes = _of_suites(suites, architectures, expression, chosen, jobs or _cores(), allow)
    else:
        items = _matching(list(of_variants(architectures or ARCHITECTURES)), expression, chosen)
        if not (everything or variants or dtypes or expression is not None):
            items = [item for item in items if not _is_spared(item)]
        outcomes = _outcomes(items, jobs or _cores())
    seconds, used = time.monotonic() - started, _processor_seconds() - used
    if as_json:
        output.write_json(_document(items, outcomes, seconds, used))
    else:
        _print_table(items, outcomes)
        output.report(_closing(outcomes, seconds, used))
    failures = [outcome for outcome in outcomes if isinstance(outcome, CompileError)]
    for failure in dict.fromkeys(map(str, failures)):
        output.report(failure)
    return ExitCode.USAGE if failures else ExitCode.FINE


def _of_suites(
    suites: Sequence[str],
    architectures: Sequence[str],
    expression: str | None,
    chosen: Mapping[str, Sequence[str]],
    processes: int,
    allow: Permission,
) -> tuple[list[Item], list[Outcome]]:
    """Compile what the cases of suites launch. UsageError where what a suite brings may not be compiled."""
    from gpubench.suite.expand import load_suites

    loaded, here = load_suites(suites), first_gpu()
    devices = devices_of(architectures, here)
    assumed = [f"{device.name} ({device.sm_count} SMs)" for device in devices if device is not here]
    with brought_by(loaded, loaded.cases, "cuda", allow) as staged:
        if assumed:
            output.report(f"Plans are made for an assumed GPU: {', '.join(assumed)}.")
        if functions := left_to_run(loaded.cases, staged):
            output.report(f"Functions are not compiled ahead: {', '.join(functions)}.")
        items = _matching(of_cases(loaded.cases, staged, devices), expression, chosen)
        return items, _outcomes(items, processes)


def _outcomes(items: Sequence[Item], processes: int) -> list[Outcome]:
    """Compile everything: ours together, then each of the kernels that a suite brings."""
    from gpubench.kernels import compile_many
    from gpubench.kernels.foreign import compile_launches

    ours = [item.request for item in items if item.launch is None and not item.failed]
    theirs = [(item.launch, item.request.arch) for item in items if item.launch is not None]
    mine: Iterator[Outcome] = iter(())
    other: Iterator[Outcome] = iter(())
    if ours:
        with watched(len(set(ours))) as watch:
            mine = iter(compile_many(ours, processes, watch=watch))
    if theirs:
        with watched(len(theirs)) as watch:
            other = iter(compile_launches(theirs, processes, watch=watch))
    return [
        CompileError(f"{item.variant}: {item.failed}") if item.failed else next(mine if item.launch is None else other)
        for item in items
    ]


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _processor_seconds() -> float:
    """Return what this process and those that it has waited for took of the processors, user and system."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def _is_spared(item: Item) -> bool:
    """Say whether an instance is left out when nobody asks for it: another library's design, here to be compared with.

    `auto` never takes one, and a run compiles what it needs.
    """
    return "/seeds/" in item.request.source


def _matching(items: Sequence[Item], expression: str | None, chosen: Mapping[str, Sequence[str]]) -> list[Item]:
    """Return the instances that the filters leave. UsageError for an unknown name, or when nothing is left."""
    from gpubench.dtypes import NAMES, canonical
    from gpubench.operators import known
    from gpubench.suite.filters import compile_expression

    wanted = {**chosen, "dtype": [canonical(name) for name in chosen["dtype"]]}
    _require_known("operator", wanted["operator"], known())
    _require_known("dtype", wanted["dtype"], NAMES)
    _require_known("variant", wanted["variant"], {item.variant for item in items})
    kept = [item for item in items if all(_passes(getattr(item, what), names) for what, names in wanted.items())]
    if expression is not None:
        matches = compile_expression(expression)
        kept = [item for item in kept if matches(" ".join(_place(item)))]
    if not kept:
        raise UsageError(
            "No kernel is left: what was asked for (suites, operators, variants, dtypes, -k) has none in common."
        )
    return kept


def _passes(name: str, wanted: Sequence[str]) -> bool:
    return not wanted or name in wanted


def _require_known(kind: str, given: Sequence[str], known: Collection[str]) -> None:
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise UsageError(f"There is no {kind} {name!r}; there are {', '.join(sorted(known))}.{hint}")


_HEADINGS = ("variant", "dtype", "kernel", "arch", "registers", "spills", "stack", "shared", "code")


def _place(item: Item) -> tuple[str, str, str, str]:
    kernel = item.request.kernel.replace("gpubench::", "")
    return f"{item.operator}:{item.variant}", item.dtype, kernel, item.request.arch


def _cells(item: Item, outcome: Outcome) -> tuple[str, ...]:
    place = _place(item)
    if isinstance(outcome, CompileError):
        return (*place, "", "", "", "", "compile_error")
    used = outcome.resources
    figures = (used.registers, used.spill_bytes, used.stack_bytes, used.shared_bytes)
    return (*place, *("?" if figure is None else str(figure) for figure in figures), used.cubin_sha256[:12])


def _print_table(items: Sequence[Item], outcomes: Sequence[Outcome]) -> None:
    """Print the table: drawn on a terminal; piped, one line a kernel with tabs between the columns."""
    rows = [_cells(item, outcome) for item, outcome in zip(items, outcomes, strict=True)]
    if not output.is_terminal():
        output.write("\n".join("\t".join(row) for row in (_HEADINGS, *rows)))
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in _HEADINGS:
        is_figure = heading in ("registers", "spills", "stack", "shared")
        table.add_column(heading, justify="right" if is_figure else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    output.console().print(table)


def _closing(outcomes: Sequence[Outcome], seconds: float, used: float) -> str:
    failed = sum(isinstance(outcome, CompileError) for outcome in outcomes)
    cached = sum(not isinstance(outcome, CompileError) and outcome.cached for outcome in outcomes)
    done = len(outcomes) - failed
    text = f"{done} kernel{'s' * (done != 1)} compiled in {seconds:.1f} s ({cached} from the cache)"
    text = f"{text}, {used:.1f} s of processor time"
    return f"{text}, {failed} failed" if failed else text


def _document(items: Sequence[Item], outcomes: Sequence[Outcome], seconds: float, used: float) -> Json:
    from gpubench.kernels import nvrtc

    return {
        "nvrtc": "{}.{}".format(*nvrtc.version()),
        "options": list(nvrtc.OPTIONS),
        "seconds": round(seconds, 3),
        "processor_seconds": round(used, 3),
        "kernels": [_entry(item, outcome) for item, outcome in zip(items, outcomes, strict=True)],
    }


def _entry(item: Item, outcome: Outcome) -> Json:
    entry: dict[str, Json] = {
        "operator": item.operator,
        "variant": item.variant,
        "dtype": item.dtype,
        "source": item.request.source,
        "kernel": item.request.kernel,
        "arch": item.request.arch,
    }
    if isinstance(outcome, CompileError):
        return {**entry, "status": "compile_error", "message": str(outcome)}
    used = outcome.resources
    return {
        **entry,
        "status": "ok",
        "registers": used.registers,
        "spill_bytes": used.spill_bytes,
        "stack_bytes": used.stack_bytes,
        "shared_bytes": used.shared_bytes,
        "cubin_sha256": used.cubin_sha256,
        "cached": outcome.cached,
    }
