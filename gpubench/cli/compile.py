"""`gpubench compile`: compile every kernel for every architecture, on a machine that needs no GPU."""

from __future__ import annotations

import difflib
import os
import resource
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from gpubench.cli import output
from gpubench.cli.compiling import watched
from gpubench.cli.options import json_flag, split_commas
from gpubench.errors import CompileError, ExitCode, UsageError

if TYPE_CHECKING:
    from gpubench.kernels import CompiledKernel, Request
    from gpubench.model import Json

ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")

SEED_DTYPES = ("float32", "float16")
"""The dtypes for which other libraries' designs are compiled when nobody asks for more: those that the texts on them
measure. They are here to be compared with; `auto` never takes them, and a run compiles what it needs."""


@dataclass(frozen=True, slots=True)
class Item:
    """One instance of the matrix, with where it came from."""

    operator: str
    variant: str
    dtype: str
    request: Request


@click.command()
@click.option(
    "--arch",
    "architectures",
    multiple=True,
    callback=split_commas,
    metavar="SM",
    help="Only this architecture, sm_90 for example (repeat, or separate by commas). "
    f"Without it: {', '.join(ARCHITECTURES)}.",
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
    help=f"Other libraries' designs for all dtypes; without it for {' and '.join(SEED_DTYPES)}, unless --variant, "
    "--dtype or -k asks for them.",
)
@click.option(
    "--jobs", type=click.IntRange(1, 1024), metavar="N", help="Processes at the same time; all cores without it."
)
@json_flag
def command(
    architectures: tuple[str, ...],
    expression: str | None,
    operators: tuple[str, ...],
    variants: tuple[str, ...],
    dtypes: tuple[str, ...],
    everything: bool,
    jobs: int | None,
    as_json: bool,
) -> ExitCode:
    """Compile the variants for their dtypes, and show what each kernel takes: registers, spills, stack, shared memory.

    Spills are bytes stored and loaded; stack is bytes a thread, shared memory bytes a block (dynamic not counted). The
    last column begins the hash of the machine code: equal hashes are equal kernels. The exit code is 2 when a kernel
    does not compile.
    """
    from gpubench.kernels import compile_many

    items = _matrix(architectures or ARCHITECTURES, expression, operators, variants, dtypes)
    if not (everything or variants or dtypes or expression is not None):
        items = [item for item in items if not _is_spared(item)]
    requests = [item.request for item in items]
    started, used = time.monotonic(), _processor_seconds()
    with watched(len(set(requests))) as watch:
        outcomes = compile_many(requests, jobs or _cores(), watch=watch)
    seconds, used = time.monotonic() - started, _processor_seconds() - used
    if as_json:
        output.write_json(_document(items, outcomes, seconds, used))
    else:
        _print_table(items, outcomes)
        output.report(_closing(outcomes, seconds, used))
    failures = [outcome for outcome in outcomes if isinstance(outcome, CompileError)]
    for failure in failures:
        output.report(str(failure))
    return ExitCode.USAGE if failures else ExitCode.FINE


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _processor_seconds() -> float:
    """Return what this process and those that it has waited for took of the processors, user and system."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def _is_spared(item: Item) -> bool:
    """Say whether an instance of another library's design is left out when nobody asks for it."""
    return "/seeds/" in item.request.source and item.dtype not in SEED_DTYPES


def _matrix(
    architectures: Sequence[str],
    expression: str | None,
    operators: Sequence[str],
    variants: Sequence[str],
    dtypes: Sequence[str],
) -> list[Item]:
    """Return every instance that the filters leave. UsageError for an unknown name, or when nothing is left."""
    from gpubench.dtypes import NAMES, canonical
    from gpubench.operators import OPERATORS
    from gpubench.suite.filters import compile_expression

    _require_known("operator", operators, OPERATORS)
    dtypes = [canonical(name) for name in dtypes]
    _require_known("dtype", dtypes, NAMES)
    _require_known(
        "variant", variants, {variant.name for operator in OPERATORS.values() for variant in operator.variants}
    )
    items = [
        item
        for item in _instances(architectures)
        if _passes(item.operator, operators) and _passes(item.variant, variants) and _passes(item.dtype, dtypes)
    ]
    if expression is not None:
        matches = compile_expression(expression)
        items = [item for item in items if matches(" ".join(_place(item)))]
    if not items:
        raise UsageError("No kernel is left: what was asked for (operators, variants, dtypes, -k) has none in common.")
    return items


def _instances(architectures: Sequence[str]) -> Iterator[Item]:
    from gpubench.kernels import Request
    from gpubench.operators import OPERATORS
    from gpubench.operators.architectures import device_of, reachable

    for name, operator in OPERATORS.items():
        for variant in operator.variants:
            for dtype in operator.dtypes:
                for arch in dict.fromkeys(architectures):
                    for source, kernel in dict.fromkeys(reachable(variant, dtype, device_of(arch))):
                        yield Item(name, variant.name, dtype, Request(source, kernel, arch))


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


def _cells(item: Item, outcome: CompiledKernel | CompileError) -> tuple[str, ...]:
    place = _place(item)
    if isinstance(outcome, CompileError):
        return (*place, "", "", "", "", "compile_error")
    used = outcome.resources
    figures = (used.registers, used.spill_bytes, used.stack_bytes, used.shared_bytes)
    return (*place, *("?" if figure is None else str(figure) for figure in figures), used.cubin_sha256[:12])


def _print_table(items: Sequence[Item], outcomes: Sequence[CompiledKernel | CompileError]) -> None:
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


def _closing(outcomes: Sequence[CompiledKernel | CompileError], seconds: float, used: float) -> str:
    failed = sum(isinstance(outcome, CompileError) for outcome in outcomes)
    cached = sum(not isinstance(outcome, CompileError) and outcome.cached for outcome in outcomes)
    text = f"{len(outcomes) - failed} kernels compiled in {seconds:.1f} s ({cached} from the cache)"
    text = f"{text}, {used:.1f} s of processor time"
    return f"{text}, {failed} failed" if failed else text


def _document(
    items: Sequence[Item], outcomes: Sequence[CompiledKernel | CompileError], seconds: float, used: float
) -> Json:
    from gpubench.kernels import nvrtc

    return {
        "nvrtc": "{}.{}".format(*nvrtc.version()),
        "options": list(nvrtc.OPTIONS),
        "seconds": round(seconds, 3),
        "processor_seconds": round(used, 3),
        "kernels": [_entry(item, outcome) for item, outcome in zip(items, outcomes, strict=True)],
    }


def _entry(item: Item, outcome: CompiledKernel | CompileError) -> Json:
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
