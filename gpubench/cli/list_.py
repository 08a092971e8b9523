"""`gpubench list`: the expanded cases of suites, the variants of every operator, or the elementwise functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from gpubench.cli import output
from gpubench.cli.allowing import needs_lines
from gpubench.cli.options import Filters, filter_options, json_flag, seed_option
from gpubench.errors import UsageError

if TYPE_CHECKING:
    from gpubench.model import DeviceInfo, Json
    from gpubench.suite.listing import Listing

Row = tuple[str, ...]


@click.command()
@click.argument("suites", metavar="[SUITE]...", nargs=-1, type=str)
@click.option("--variants", is_flag=True, help="List every operator's kernels in place of cases.")
@click.option("--functions", is_flag=True, help="List the elementwise functions that a suite may name.")
@click.option(
    "--explain",
    "explained",
    metavar="CASE",
    help="Show what each variant launches for the case of this id, and the configuration that its rule chose.",
)
@seed_option
@filter_options
@json_flag
def command(
    suites: tuple[str, ...],
    variants: bool,
    functions: bool,
    explained: str | None,
    seed: int | None,
    filters: Filters,
    as_json: bool,
) -> None:
    """Show the cases of suites: bytes moved, device memory needed, contenders.

    SUITE is a file, or the name of a suite that comes with gpubench, such as smoke. "Bytes" is the fewest that any
    implementation must read and write; "memory" what the operands take on the device.
    """
    if variants + functions + (explained is not None) > 1:
        raise UsageError("--variants, --functions and --explain exclude each other.")
    if functions:
        _list_functions(suites, filters, as_json)
    elif variants:
        _list_variants(suites, filters, as_json)
    elif explained is not None:
        _explain(explained, suites, seed, filters, as_json)
    elif suites:
        _list_cases(suites, seed, filters, as_json)
    else:
        from gpubench.suite.locate import shipped_suites

        names = ", ".join(shipped_suites()) or "none"
        raise UsageError(f"Name a suite file or a shipped suite ({names}), or use --variants or --functions.")


def _list_cases(suites: Sequence[str], seed: int | None, filters: Filters, as_json: bool) -> None:
    from gpubench.suite.expand import load_suites
    from gpubench.suite.filters import select
    from gpubench.suite.listing import describe

    loaded = load_suites(suites, seed)
    cases = select(
        loaded.cases,
        expression=filters.expression,
        operators=filters.operators,
        dtypes=filters.dtypes,
        contenders=filters.contenders,
    )
    rows = [describe(case) for case in cases]
    if as_json:
        output.write_json([row.to_json() for row in rows])
        return
    from gpubench.views.text import printable, size

    def cells(row: Listing) -> Row:
        if row.bytes is None or row.memory_bytes is None:
            return (row.case.id, row.case.dtype, "unsupported", "-", printable(row.unsupported or ""))
        return (row.case.id, row.case.dtype, size(row.bytes), size(row.memory_bytes), " ".join(row.case.contenders))

    _print(("case", "dtype", "bytes", "memory", "contenders"), [cells(row) for row in rows], right=(2, 3))
    for line in needs_lines(loaded, cases):
        output.report(line)
    if output.is_terminal():
        largest = max((row.memory_bytes or 0 for row in rows), default=0)
        output.write(f"{len(rows)} case{'s' * (len(rows) != 1)}; the largest takes {size(largest)} on the device")


def _list_variants(suites: Sequence[str], filters: Filters, as_json: bool) -> None:
    from gpubench.suite.listing import variants

    if suites:
        raise UsageError("--variants lists the kernels of every operator; it takes no suite.")
    if filters.expression is not None or filters.dtypes:
        raise UsageError("--variants goes with --operator and --contender only.")
    rows: list[dict[str, Json]] = variants(filters.operators, filters.contenders)
    if as_json:
        output.write_json(rows)
        return
    keys = ("operator", "contender", "summary", "origin")
    _print(keys, [tuple(str(row[key]) for key in keys) for row in rows])


def _list_functions(suites: Sequence[str], filters: Filters, as_json: bool) -> None:
    from gpubench.operators.elementwise.functions import FUNCTIONS

    if suites or not filters.is_empty:
        raise UsageError("--functions lists all of them; it takes no suite and no filter.")
    rows = [{"function": name, **function.to_json()} for name, function in FUNCTIONS.items()]
    if as_json:
        output.write_json(rows)
        return
    keys = ("operands", "dtypes", "scalars", "libraries")

    def cell(value: Json) -> str:
        pairs = [f"{name}={number:g}" for name, number in value.items()] if isinstance(value, dict) else value
        return " ".join(pairs) or "-" if isinstance(pairs, list) else str(pairs)

    _print(("function", *keys), [(row["function"], *(cell(row[key]) for key in keys)) for row in rows])


def _explain(case_id: str, suites: Sequence[str], seed: int | None, filters: Filters, as_json: bool) -> None:
    import json

    from gpubench.suite.explain import ASSUMED, explain, find
    from gpubench.views.text import size

    if filters.expression is not None or filters.dtypes or filters.operators:
        raise UsageError("--explain takes one case id; only --contender goes with it.")
    case, here = find(case_id, suites, seed), first_gpu()
    device = here or ASSUMED
    plans = explain(case, device, filters.contenders)
    if as_json:
        output.write_json({"case": case.id, "device": device.name, "plans": [plan.to_json() for plan in plans]})
        return
    assumed = "" if here else "; assumed, for there is no GPU here"
    output.write(f"{case.id} on {device.name} ({device.sm_count} SMs{assumed})")
    for plan in plans:
        output.write(f"{plan.contender}{' (gpubench:auto)' if plan.auto else ''}")
        if plan.refused is not None:
            output.write(f"  does not take it: {plan.refused}")
            continue
        for step in plan.steps or ({"nothing to do": True},):
            output.write("  " + "  ".join(f"{key} {value}" for key, value in step.items()))
        if plan.workspace_bytes:
            output.write(f"  workspace {size(plan.workspace_bytes)}")
        for key, value in plan.notes.items():
            output.write(f"  {key}: {json.dumps(value)}")


def first_gpu() -> DeviceInfo | None:
    """Return the first GPU here, None where there is none."""
    from gpubench.devices import list_devices

    found, _ = list_devices()
    return next((listed.info for listed in found if listed.info.kind == "cuda" and listed.problem is None), None)


def _print(heading: Row, rows: Sequence[Row], right: Sequence[int] = ()) -> None:
    """Print a rich table on a terminal; into a pipe one line a row, columns two spaces apart, nothing cut."""
    if not output.is_terminal():
        table = [heading, *rows]
        widths = [max(len(row[column]) for row in table) for column in range(len(heading))]
        for row in table:
            cells = [
                cell.rjust(width) if column in right else cell.ljust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            output.write("  ".join(cells).rstrip())
        return
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    view = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column, name in enumerate(heading):
        view.add_column(name, justify="right" if column in right else "left", no_wrap=column in right, overflow="fold")
    for row in rows:
        view.add_row(*(Text(cell) for cell in row))
    output.console().print(view)
