"""`gpubench profile`: one contender of one case, once, under a profiler or a debugger."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import click

from gpubench.cli import output
from gpubench.cli.allowing import allow_options, brought_by
from gpubench.errors import ExitCode, UsageError
from gpubench.names import AUTO

if TYPE_CHECKING:
    from gpubench.own.trust import Permission
    from gpubench.suite.expand import Suite

TOOLS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "ncu": ("ncu", "--clock-control", "none", "--set", "full", "--target-processes", "all"),
        "compute-sanitizer": ("compute-sanitizer", "--error-exitcode", "5"),
        "nsys": ("nsys", "profile", "--trace", "cuda,nvtx", "--stats", "true"),
        "cuda-gdb": ("cuda-gdb", "--args"),
    }
)
"""Each tool's command line before the program. `--clock-control none`: the card's clocks are nobody's to set."""


COLLECTED = frozenset({"--section", "--metrics"})
"""Options of ncu that choose what is collected, as `--set` does."""


@click.command(
    epilog="""\b
Exit codes: those of the tool; without one
  0    the answer is right
  2    bad usage or input, no device, or the tool is not installed
  4    the answer is wrong
"""
)
@click.argument("case_id", metavar="CASE")
@click.option("--suite", "suites", multiple=True, metavar="SUITE", help="Where CASE is from; else the shipped suites.")
@click.option("--contender", default=AUTO, show_default=True, metavar="NAME", help="Who runs.")
@click.option("--tool", type=click.Choice(tuple(TOOLS)), default="ncu", show_default=True, help="What watches.")
@click.option("--device", default="auto", show_default=True, metavar="DEVICE", help="cuda:0 ...")
@click.option("--print", "only_print", is_flag=True, help="Print the command in place of running it.")
@click.option("--keep", type=click.Path(path_type=Path), metavar="FILE", help="Keep the job's file there.")
@click.argument("options", metavar="[-- OPTIONS]", nargs=-1, type=click.UNPROCESSED)
@allow_options
def command(
    case_id: str,
    suites: tuple[str, ...],
    contender: str,
    tool: str,
    device: str,
    only_print: bool,
    keep: Path | None,
    options: tuple[str, ...],
    allow: Permission = "nothing",
) -> int:
    """Run one contender of the case CASE exactly once under a tool, and nothing else beside it.

    CASE is an id that `gpubench list SUITE` shows. No ceiling is measured, no cache is flushed, the stream is not held,
    so that what the tool sees is the contender's own (a library may run once more while it prepares). OPTIONS behind --
    go to the tool: `gpubench profile cumsum/4096x4096/dim=1/float32 -- --kernel-name regex:rows`.
    """
    suite = _suite_of(case_id, suites)
    job = keep if keep is not None else Path("gpubench-profile.json") if only_print else None
    with brought_by(suite, suite.cases, device, allow) as staged, tempfile.TemporaryDirectory() as folder:
        place = job or Path(folder) / "job.json"
        _write(place, suite, contender, device, [brought.to_json() for brought in staged])
        line = _command(tool, options)
        line += [sys.executable, "-m", "gpubench.engine.once", str(place)]
        if only_print:
            if staged:
                raise UsageError("--print: the suite's kernels are staged for this command alone; run it without.")
            output.report(f"The job lies in {place}.")
            output.write(shlex.join(line))
            return ExitCode.FINE
        if shutil.which(line[0]) is None:
            raise UsageError(
                f"{line[0]} is not on the PATH. It comes with the CUDA toolkit; the command would be\n"
                f"{shlex.join(line[:-1])} JOB (see --print)"
            )
        return subprocess.run(line, check=False).returncode


def _command(tool: str, given: Sequence[str]) -> list[str]:
    """Return a tool's command line with the options given. Ours give way where they say the same, or choose what is
    collected: ncu refuses an option that is there twice.
    """
    name, *ours = TOOLS[tool]
    if tool == "cuda-gdb":
        return [name, *given, *ours]  # --args comes last
    said = {option.partition("=")[0] for option in given}
    kept, gives_way = [], False
    for word in ours:
        if word.startswith("-"):
            gives_way = word in said or (word == "--set" and bool(COLLECTED & said))
        if not gives_way:
            kept.append(word)
    return [name, *kept, *given]


def _suite_of(case_id: str, suites: Sequence[str]) -> Suite:
    """Return a suite with this one case. UsageError, with near ids, for none."""
    from dataclasses import replace

    from gpubench.suite.expand import load_suite
    from gpubench.suite.explain import find
    from gpubench.suite.locate import shipped_suites

    case = find(case_id, suites)
    whole = next(
        suite for suite in map(load_suite, suites or shipped_suites()) if case_id in {known.id for known in suite.cases}
    )
    return replace(whole, cases=(case,))


def _write(place: Path, suite: Suite, contender: str, device: str, staged: Sequence[object]) -> None:
    from gpubench.results.format import case_to_json
    from gpubench.results.write import replace_file

    (case,) = suite.cases
    job = {"case": case_to_json(case), "contender": contender, "device": device, "staged": list(staged)}
    replace_file(place, json.dumps(job).encode())
