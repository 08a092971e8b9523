"""The tools of `verify_gpu.py`: what each runs next for an operator, and what it reads from the output."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpubench.operators import OPERATORS

ROOT = Path(__file__).parents[1]
ALL = "all"
"""The operator of a tool that has none of its own."""

GPU_TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
HOST_TOOLS = {"undefined": "build=checked,schedule=random:{seed}", "address": "build=sanitize"}
HOST_CASES = 500
"""Random cases of an operator under each sanitizer of the host device: its checks cost a factor of two to ten."""

SHORTEST_S = 5.0
LONGEST_S = 60.0
"""A piece of random cases stops drawing after so long, or less, so that every tool gets its turn."""

START_S = 15.0
"""What a piece needs to start and to end; with less time left none begins."""

VARIANTS = 2
"""Variants that one process of a sanitizer takes."""

CLOSE = 1.05
"""Bytes moved over the fewest, beyond which the count of DRAM bytes is a finding."""


@dataclass
class Row:
    """What one tool has done for one operator, over all runs. `wanted` and `ran` are in the tool's own units."""

    tool: str
    operator: str
    wanted: int
    ran: int = 0
    seconds: float = 0.0
    findings: list[str] = field(default_factory=list)
    seeds: list[int] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    note: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from other rows."""
        return self.tool, self.operator

    @property
    def left(self) -> int:
        """Units that are still to be run."""
        return max(self.wanted - self.ran, 0)


@dataclass(frozen=True)
class Turn:
    """What a piece is given: the seconds until all must be over, for how long it should work, and a fresh seed."""

    left_s: float
    work_s: float
    seed: int


@dataclass(frozen=True)
class Piece:
    """A command that does a part of a row's work, ended after `limit_s`."""

    command: Sequence[str]
    env: Mapping[str, str]
    limit_s: float
    read: Callable[[str, bool], bool]
    """Adds what the output (and whether it was cut off) tells to the row; tells whether that explains the exit code."""


@dataclass(frozen=True)
class Tool:
    """One tool. `counts`: what its rows count. `rows(cases)`: what to do, with so many random cases.

    piece(row, turn): what to do next. is_alone: it wants a GPU to itself. is_split: several pieces of one row may run
    at once.
    """

    name: str
    counts: str
    rows: Callable[[int], list[Row]]
    piece: Callable[[Row, Turn], Piece]
    is_alone: bool = False
    is_split: bool = False


def python() -> list[str]:
    """Return the words that start this Python."""
    return [sys.executable]


# --- random cases ----------------------------------------------------------------------------------------------------


def random_tool(name: str, spec: str, cases: int | None, processes: int) -> Tool:
    """Return the tool that holds random cases against numpy; `cases`: for each operator, None for as many as asked."""

    def rows(wanted: int) -> list[Row]:
        return [Row(name, operator, cases or wanted) for operator in OPERATORS]

    def piece(row: Row, turn: Turn) -> Piece:
        seed = turn.seed
        row.seeds.append(seed)
        words = ["--operator", row.operator, "--cases", str(row.left), "--seed", str(seed)]
        words += ["--processes", str(processes), "--seconds", f"{max(min(turn.left_s - START_S, turn.work_s), 1):.0f}"]
        command = [*python(), str(ROOT / "scripts/random_check.py"), *words, "--json", spec.format(seed=seed)]
        return Piece(command, {}, turn.left_s, lambda said, cut: _count_cases(row, said, cut, seed))

    return Tool(name, "cases", rows, piece, is_split=True)


def _count_cases(row: Row, said: str, was_cut: bool, seed: int) -> bool:
    found = next((line for line in reversed(said.splitlines()) if line.startswith('{"cases"')), None)
    if found is None and (report := re.search(r"ERROR: AddressSanitizer: .*", said)):
        row.findings += [f"seed {seed}: {report[0]}"]
        return True
    if found is None and not was_cut:
        return False
    if found is None:
        row.note = f"seed {seed} was cut off"
    parts = [json.loads(found)] if found is not None else _so_far(said)
    row.ran += sum(part["cases"] for part in parts)
    row.findings += [wrong for part in parts for wrong in part["wrong"]]
    return True


def _so_far(said: str) -> list[dict[str, Any]]:
    """Return what each process of a script that was cut off had told last."""
    lines = [line for line in said.splitlines() if line.startswith('{"part"') and line.endswith("}")]
    return list({told["part"]: told for told in map(json.loads, lines)}.values())


# --- tests -----------------------------------------------------------------------------------------------------------

_ANSWERED = re.compile(r"(\w+) (\w+): (\d+) cases, (\d+) wrong")
_ENDED = re.compile(r"(\d+ (?:passed|failed|skipped|error).*) in [\d.]+s")


def variants_tool(name: str) -> Tool:
    """Return the tool that runs every variant on the hard cases, under compute-sanitizer where that has this tool."""

    def rows(_: int) -> list[Row]:
        return [Row(name, operator.name, len(operator.variants)) for operator in OPERATORS.values()]

    def piece(row: Row, turn: Turn) -> Piece:
        waiting = [variant.name for variant in OPERATORS[row.operator].variants if variant.name not in row.done][
            :VARIANTS
        ]
        env = {"GPUBENCH_TEST_PAIRS": ",".join(f"{row.operator}-{name}" for name in waiting), "PYTHON": sys.executable}
        test = [*_pytest("tests/gpu/test_operators.py"), "-k", "answers"]
        command = [str(ROOT / "scripts/sanitize"), name] if name in GPU_TOOLS else test
        return Piece(command, env, turn.left_s, lambda said, cut: _count_variants(row, waiting, said, cut))

    return Tool(name, "variants", rows, piece)


def _count_variants(row: Row, asked: Sequence[str], said: str, was_cut: bool) -> bool:
    found = [match for match in _ANSWERED.findall(said) if match[0] == row.operator and match[1] in asked]
    names = [match[1] for match in found]
    row.done += names
    row.ran = len(row.done)
    before = len(row.findings)
    row.findings += [f"{variant}: {wrong} of {cases} cases" for _, variant, cases, wrong in found if wrong != "0"]
    reports = [line for line in said.splitlines() if "ERROR SUMMARY" in line and "ERROR SUMMARY: 0 errors" not in line]
    row.findings += [f"{', '.join(names)}: {line.strip('= ')}" for line in reports]
    return was_cut or len(row.findings) > before


def tests_tool(name: str) -> Tool:
    """Return the tool that runs one file of tests/gpu."""

    def piece(row: Row, turn: Turn) -> Piece:
        command = _pytest(f"tests/gpu/test_{name}.py")
        return Piece(command, {}, turn.left_s, lambda said, cut: _count_tests(row, said, cut))

    return Tool(name, "files", lambda _: [Row(name, ALL, 1)], piece)


def _pytest(file: str) -> list[str]:
    return [*python(), "-m", "pytest", file, "-o", "addopts=-q", "-p", "no:cacheprovider", "-s"]


def _count_tests(row: Row, said: str, was_cut: bool) -> bool:
    ends = _ENDED.findall(said)
    row.note = ends[-1] if ends else "was cut off" if was_cut else row.note
    if ends:
        row.ran = row.wanted
        row.findings += [line for line in said.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return was_cut or bool(row.findings)


# --- DRAM bytes ------------------------------------------------------------------------------------------------------

_MOVED = re.compile(r"^(\S+ \S+): read .* together ([\d.]+) of the fewest", re.MULTILINE)
LARGEST = 4
"""Cases of an operator whose DRAM bytes are counted: those of its suite that move most."""


def dram_tool() -> Tool:
    """Return the tool that counts the bytes of each operator's largest cases, one piece for all of them."""

    def piece(row: Row, turn: Turn) -> Piece:
        script = str(ROOT / "scripts/dram_bytes.py")
        command = [*python(), script, row.operator, "--largest", str(row.wanted)]
        return Piece(command, {}, turn.left_s, lambda said, cut: _count_bytes(row, said, cut))

    return Tool(
        "dram", "cases", lambda _: [Row("dram", operator, LARGEST) for operator in OPERATORS], piece, is_alone=True
    )


def _count_bytes(row: Row, said: str, was_cut: bool) -> bool:
    found = {name: float(over) for name, over in _MOVED.findall(said)}
    row.ran = len(found)
    row.findings = [f"{name}: {over} of the fewest" for name, over in found.items() if over > CLOSE]
    row.note = f"at most {max(found.values()):.3f} of the fewest" if found else "was cut off" if was_cut else row.note
    return was_cut or bool(found)


def tools_of(kind: str, processes: int) -> list[Tool]:
    """Return the tools of a kind of device, `cuda` or `host`."""
    if kind == "host":
        sanitizers = [random_tool(name, f"host:workers=1,{spec}", HOST_CASES, 1) for name, spec in HOST_TOOLS.items()]
        return [random_tool("random", "host:workers=1", None, 1), *sanitizers]
    first = [random_tool("random", "cuda:0", None, processes), variants_tool("answers")]
    tests = [tests_tool(name) for name in ("edges", "repeatable")]
    return [*first, *tests, *map(variants_tool, GPU_TOOLS), dram_tool()]


def environment(gpu: str, env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a piece on a GPU (by CUDA's number; empty: none)."""
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    seen = {"CUDA_VISIBLE_DEVICES": gpu} if gpu else {}
    return {**os.environ, "PYTHONPATH": path, **seen, **env}
