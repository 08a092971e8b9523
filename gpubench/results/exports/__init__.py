"""Results in the formats of other programs: a module and a row of `FORMATS` each. `docs/exports.md` tells the readers.

A module has `export(result, options) -> Exported`. Names and messages of a result are foreign text: each module escapes
them as its format asks, after `facts.harmless` has taken out what acts on a terminal.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, cast

from gpubench.model import ResultSet


@dataclass(frozen=True, slots=True)
class Exported:
    """What is written: the file itself, and others beside it by the end of their names (`-bin/0.bin`)."""

    data: bytes
    beside: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Options:
    """What a command line asks of an export. `name`: that of the file to be written. `timestamps`: of OpenMetrics."""

    name: str
    timestamps: bool = True


class Format(NamedTuple):
    """The module of a format, who reads it, and whether it is one text that standard output can take."""

    module: str
    readers: str
    is_text: bool = True


FORMATS: dict[str, Format] = {
    "nvbench": Format("nvbench", "cuda-bench, nvbench-compare", is_text=False),
    "google-benchmark": Format("google_benchmark", "compare.py of Google Benchmark"),
    "benchfmt": Format("benchfmt", "benchstat"),
    "github-action": Format("github_action", "github-action-benchmark"),
    "openmetrics": Format("openmetrics", "Prometheus, the textfile collector"),
    "parquet": Format("parquet", "pandas, DuckDB", is_text=False),
    "t4": Format("t4", "tuners: T4, Kernel Tuner's cache"),
    "junit": Format("junit", "the test views of CI systems"),
}


class _Module(Protocol):
    def export(self, result: ResultSet, options: Options) -> Exported: ...


def export(result: ResultSet, name: str, options: Options) -> Exported:
    """Return the result in the format called `name`; KeyError for no format. MissingExtraError."""
    module = importlib.import_module(f"{__name__}.{FORMATS[name].module}")
    return cast("_Module", module).export(result, options)
