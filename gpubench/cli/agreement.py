"""`gpubench agreement`: how events, corrected events, CUPTI and NVBench agree, measured and shown."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from gpubench.cli import output
from gpubench.cli.options import OutputFile, device_option
from gpubench.cli.plot import FORMATS
from gpubench.errors import ResultFileError, UsageError
from gpubench.files import read_bounded

if TYPE_CHECKING:
    from gpubench.views.style import Format

MOST_BYTES = 1 << 23
"""The largest file of figures, or page, that is read."""


@click.command()
@click.argument("recorded", required=False, type=click.Path(path_type=Path), metavar="[FILE]")
@device_option
@click.option(
    "-o", "--output", "target", type=OutputFile(), metavar="FILE", help="Write the figures here; - is standard output."
)
@click.option("--into", type=OutputFile(), metavar="PAGE", help="Put the table into this Markdown page.")
@click.option("--chart", type=OutputFile(), metavar="FILE", help="Draw it: FILE.svg, .png or .pdf.")
@click.option("--nvbench/--no-nvbench", default=True, help="Compare with NVBench too (the package cuda-bench).")
def command(
    recorded: Path | None, device: str, target: Path | None, into: Path | None, chart: Path | None, nvbench: bool
) -> None:
    """Show how the clocks agree: those of FILE, or measured now on a GPU.

    A copy, a sum and a scan of 2^10 to 2^28 elements, each by CUDA events, by events corrected for what they add to a
    launch, by CUPTI (needed to measure) and by NVBench.
    """
    from gpubench.results.paths import STREAM

    if chart is not None and chart.suffix.removeprefix(".") not in FORMATS:
        raise UsageError(f"--chart {chart}: the name should end with .svg, .png or .pdf.")
    if into == STREAM:
        raise UsageError("--into takes a page that is there; without it the table is printed.")
    document = _measure(device, nvbench) if recorded is None else _read(recorded)
    if target is not None:
        output.put(target, json.dumps(document, indent=1, allow_nan=False) + "\n")
    if into is not None or target != STREAM:
        _show(document, into)
    if chart is not None:
        _draw(document, chart)


def _measure(device: str, nvbench: bool) -> dict[str, Any]:
    """Measure on the GPU. UsageError for another kind of device."""
    from gpubench.devices import open_device
    from gpubench.devices.cuda import CudaDevice
    from gpubench.engine import agreement
    from gpubench.engine.environment import environment
    from gpubench.engine.identity import device_key
    from gpubench.engine.lock import WITHOUT, device_lock
    from gpubench.engine.nvbench import run

    opened = open_device(device)
    if not isinstance(opened, CudaDevice):
        raise UsageError(f"Clocks are compared on a GPU; {device} is none.")
    name = f"cuda:{opened.index}"
    with contextlib.closing(opened), device_lock(device_key(environment(opened.info))) as missing:
        if missing is not None:
            output.report(WITHOUT.format(reason=missing))
        return agreement.measure(opened, nvbench=(lambda powers: run(name, powers)) if nvbench else None)


def _read(file: Path) -> dict[str, Any]:
    try:
        document: dict[str, Any] = json.loads(read_bounded(file, MOST_BYTES))
    except (OSError, ValueError) as error:
        raise ResultFileError(f"{file}: cannot be read: {error}") from error
    if not isinstance(document, dict) or not document.get("rows"):
        raise ResultFileError(f"{file}: this is no file of `gpubench agreement`.")
    return document


def _draw(document: dict[str, Any], chart: Path) -> None:
    """Write the chart."""
    from gpubench.results.write import replace_file
    from gpubench.views.charts import agreement as charts
    from gpubench.views.charts.files import files

    try:
        ((_, data),) = files([charts.chart(document)], [cast("Format", chart.suffix.removeprefix("."))])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ResultFileError(f"This is no file of `gpubench agreement`: {error!r}") from error
    replace_file(chart, data)


def _show(document: dict[str, Any], into: Path | None) -> None:
    """Print the table, or put it into a page."""
    from gpubench.views import agreement as view

    try:
        made = view.block(document)
    except (KeyError, TypeError, AttributeError) as error:
        raise ResultFileError(f"This is no file of `gpubench agreement`: {error!r}") from error
    if into is None:
        output.write(made)
        return
    from gpubench.results.write import replace_file

    try:
        page = view.into(read_bounded(into, MOST_BYTES).decode("utf-8"), made)
    except (OSError, ValueError) as error:
        raise UsageError(f"{into}: {error}") from error
    replace_file(into, page.encode())
