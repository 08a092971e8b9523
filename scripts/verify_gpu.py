#!/usr/bin/env python3
"""Verify the answers of all kernels on this machine's GPUs within a budget of time. Several short runs add up.

    scripts/verify_gpu.py --minutes 30
    scripts/verify_gpu.py --minutes 5 --gpus 2 --out FOLDER
    scripts/verify_gpu.py --minutes 5 --device host          # the simulator in place of a GPU

For each operator: 20,000 random cases against numpy (fresh seeds), every variant on the hard cases, plainly and under
memcheck, racecheck, initcheck and synccheck, the edges of the rules, repeatability, and the DRAM bytes of its largest
cases. On the host device: random cases, plainly, under the simulator's checks with UBSan (`undefined`), and under
AddressSanitizer (`address`).

What is least done comes next: in a minute random cases of each operator, then variants on the hard cases. Kernels are
compiled as they are met. Pieces share a GPU, but for DRAM bytes, which a budget under two minutes leaves out.
What was done is kept in FOLDER/verified-DEVICE-KERNELS.json, which the next run with the same kernels goes on with; it
is whole at any time. Prints a table. Exit code 4: something was found; 5: a tool failed; 130: interrupted. What there
was no time for is in the table and no failure. Needs gpubench with pytest (or PYTHONPATH), compute-sanitizer and ncu.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import random
import re
import shutil
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from verify_tools import GPU_TOOLS, LONGEST_S, SHORTEST_S, START_S, Piece, Row, Tool, Turn, environment, tools_of

from gpubench.children import Done, Limits, run
from gpubench.devices import list_devices
from gpubench.engine.identity import kernels_sha256
from gpubench.files import replace

RESERVED = 0.15
"""The share of the budget that tools which want a GPU to themselves get, after all others."""

LEAST_SHARE = 0.25
"""The share of a short budget that the random cases of each operator get at once, before anything else begins."""

Run = Callable[[Piece, str], Done]


class Ledger:
    """What was done so far for these kernels on this device, in a file that is whole at any time."""

    def __init__(self, path: Path, about: dict[str, Any], rows: Sequence[Row]) -> None:
        """Take up what the file holds of these rows. ValueError for a file that is none of ours."""
        self.path = path
        self.about = about
        self.rows = list(rows)
        self.lock = threading.Lock()
        if path.exists():
            self._take_up(json.loads(path.read_text(encoding="utf-8")))

    def _take_up(self, before: dict[str, Any]) -> None:
        if any(before.get(key) != self.about[key] for key in ("device", "kernels_sha256")):
            raise ValueError(f"{self.path} is of another device or other kernels: name another --out")
        known = {(row["tool"], row["operator"]): row for row in before["rows"]}
        for row in self.rows:
            old = known.get((row.tool, row.operator), {})
            for name in {field.name for field in dataclasses.fields(row)} & old.keys() - {"wanted"}:
                setattr(row, name, old[name])

    def save(self) -> None:
        """Write it, as one step."""
        rows = [{**dataclasses.asdict(row), "left": row.left} for row in self.rows]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        replace(self.path, (json.dumps({**self.about, "rows": rows}, indent=1) + "\n").encode())

    def seed(self) -> int:
        """Return a seed that no piece had; the first one is drawn."""
        used = [seed for row in self.rows for seed in row.seeds]
        return max(used) + 1 if used else random.SystemRandom().randrange(10**8)


class Lanes:
    """Runs pieces side by side until the time is over: what is least done first."""

    def __init__(self, ledger: Ledger, tools: Sequence[Tool], run_piece: Run) -> None:
        self._ledger = ledger
        self._tools = {tool.name: tool for tool in tools}
        self._run = run_piece
        self._busy: Counter[tuple[str, str]] = Counter()
        self._failed: set[tuple[str, str]] = set()
        self._turn_s = LONGEST_S
        self.stopped = False

    def go(self, gpus: Sequence[str], share: int, seconds: float) -> None:
        """Work for so long: on each GPU `share` pieces at once, then those that want it to themselves."""
        began = time.monotonic()
        lanes = [gpu for gpu in gpus for _ in range(share)]
        turns = len([row for row in self._ledger.rows if row.left]) or 1
        least = max(SHORTEST_S, seconds * LEAST_SHARE)
        self._turn_s = min(max(seconds * len(lanes) / turns - START_S, least), LONGEST_S)
        alone = seconds * RESERVED > START_S and any(
            row.left and row.tool in self._tools and self._tools[row.tool].is_alone for row in self._ledger.rows
        )
        self._phase(lanes, began + seconds * (1 - RESERVED * alone), False)
        self._phase(gpus, began + seconds, True)

    def _phase(self, lanes: Sequence[str], deadline: float, is_alone: bool) -> None:
        threads = [threading.Thread(target=self._lane, args=(gpu, deadline, is_alone), daemon=True) for gpu in lanes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _lane(self, gpu: str, deadline: float, is_alone: bool) -> None:
        while not self.stopped and (left := deadline - time.monotonic()) > START_S:
            with self._ledger.lock:
                row = self._next(is_alone)
                if row is None:
                    return
                piece = self._tools[row.tool].piece(row, Turn(left, self._turn_s, self._ledger.seed()))
            self._do(row, piece, gpu)

    def _next(self, is_alone: bool) -> Row | None:
        open_ = [
            row
            for row in self._ledger.rows
            if row.left and row.tool in self._tools and self._may_begin(row, self._tools[row.tool], is_alone)
        ]
        row = min(open_, key=lambda row: (self._busy[row.key], row.ran / row.wanted, row.seconds), default=None)
        if row is not None:
            self._busy[row.key] += 1
        return row

    def _may_begin(self, row: Row, tool: Tool, is_alone: bool) -> bool:
        is_free = tool.is_split or not self._busy[row.key]
        return tool.is_alone == is_alone and is_free and row.key not in self._failed

    def _do(self, row: Row, piece: Piece, gpu: str) -> None:
        began = time.monotonic()
        done = self._run(piece, gpu)
        with self._ledger.lock:
            before = row.ran
            row.seconds = round(row.seconds + time.monotonic() - began, 1)
            is_explained = piece.read(done.output, done.broken == "time")
            if done.code and not is_explained:
                last = next((line for line in reversed(done.output.splitlines()) if line.strip()), "it said nothing")
                row.note = f"failed (exit code {done.code}): {last.strip()[:200]}"
            if row.ran == before or (done.code and not is_explained):  # again would be no better
                self._failed.add(row.key)
            self._busy[row.key] -= 1
            self._ledger.save()


def run_here(piece: Piece, gpu: str) -> Done:
    """Run a piece; it ends with this process, or at its limit, with all that it started."""
    return run(piece.command, Limits(seconds=piece.limit_s), env=environment(gpu, piece.env))


def table(rows: Sequence[Row], tools: Sequence[Tool]) -> str:
    """Return what ran and what did not, a line a tool and operator."""
    counts = {tool.name: tool.counts for tool in tools}
    lines = [f"{'tool':11} {'operator':12} {'ran':>7} {'of':>7} {'':9} {'findings':>8} {'minutes':>8}  note"]
    for row in rows:
        note = row.note or ("" if not row.left else "no time yet" if not row.ran else "more to do")
        lines.append(
            f"{row.tool:11} {row.operator:12} {row.ran:7} {row.wanted:7} {counts[row.tool]:9} {len(row.findings):8} "
            f"{row.seconds / 60:8.1f}  {note}"
        )
    found = [f"{row.tool} {row.operator}: {finding}" for row in rows for finding in row.findings]
    return "\n".join([*lines, *found[:20], *([f"... and {len(found) - 20} more"] if len(found) > 20 else [])])


def exit_code(rows: Sequence[Row]) -> int:
    """Return 4 for a finding (bytes moved aside, which are no answer), 5 for a tool that failed, else 0."""
    if any(row.findings for row in rows if row.tool != "dram"):
        return 4
    return 5 if any(row.note.startswith("failed") for row in rows) else 0


def found_gpus(most: int | None) -> tuple[list[str], str]:
    """Return the GPUs to use, by CUDA's numbers, and their name. ValueError where there is none."""
    devices = [listed for listed in list_devices()[0] if listed.spec.startswith("cuda")]
    if not devices:
        raise ValueError("no GPU was found (gpubench devices says why); --device host checks on the simulator")
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    numbers = visible.split(",") if visible else [str(number) for number in range(len(devices))]
    return numbers[: most or len(devices)], devices[0].info.name


def missing(tools: Sequence[Tool]) -> dict[str, str]:
    """Return why tools cannot run here, by their names."""
    programs = {**dict.fromkeys(GPU_TOOLS, "compute-sanitizer"), "dram": "ncu"}
    return {
        tool.name: f"{programs[tool.name]} was not found"
        for tool in tools
        if tool.name in programs and shutil.which(programs[tool.name]) is None
    }


def main() -> int:
    """Verify until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--gpus", type=int, default=None, help="how many to use (all)")
    parser.add_argument("--share", type=int, default=4, help="pieces at once on each GPU (4)")
    parser.add_argument("--device", choices=("cuda", "host"), default="cuda")
    parser.add_argument("--cases", type=int, default=20_000, help="random cases of each operator in all")
    parser.add_argument("--out", type=Path, default=Path("runs/verified"))
    options = parser.parse_args()
    try:
        is_host = options.device == "host"
        gpus, name = ([""], "host") if is_host else found_gpus(options.gpus)
        tools = tools_of(options.device, max((os.cpu_count() or 1) // (len(gpus) * options.share), 1))
        lacking = missing(tools)
        rows = [row for tool in tools for row in tool.rows(options.cases)]
        about = {"device": name, "gpus": len(gpus), "kernels_sha256": kernels_sha256()}
        file = f"verified-{re.sub(r'[^a-z0-9]+', '-', name.lower())}-{about['kernels_sha256'][:12]}.json"
        ledger = Ledger(options.out.resolve() / file, about, rows)
    except ValueError as error:
        print(f"verify_gpu.py: {error}", file=sys.stderr)
        return 2
    usable = [tool for tool in tools if tool.name not in lacking]
    for row in ledger.rows:
        row.note = lacking.get(row.tool, "" if row.note.startswith("failed") else row.note)
    os.chdir(Path(__file__).parents[1])
    lanes = Lanes(ledger, usable, run_here)
    try:
        lanes.go(gpus, options.share if not is_host else os.cpu_count() or 1, 60 * options.minutes)
        code = exit_code(ledger.rows)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # what was done is written and told, however often it is pressed
        lanes.stopped, code = True, 130
    with ledger.lock:
        ledger.save()
        print(table(ledger.rows, tools), f"Kept in {ledger.path}", sep="\n", flush=True)
    os._exit(code)  # lanes may still wait for pieces, which end with this process


if __name__ == "__main__":
    sys.exit(main())
