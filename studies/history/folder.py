"""A folder of thousands of results, and how long the index and the commands take on it."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import resource
import sqlite3
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from gpubench.results.compact import compacted
from gpubench.results.index import NAME, Index
from gpubench.results.read import document, reads

QUIET = 0.3
"""The load of a machine that does nothing else."""

SOURCE = Path(__file__).resolve().parents[2] / "results" / "nvidia-h200" / "repeated"


def write(folder: Path, count: int) -> None:
    """Write so many compact runs of 60 records, made of a recorded one: each with a time and noise of its own."""
    (path,) = SOURCE.glob("smoke-*.json")
    data = path.read_bytes()
    document = json.loads(gzip.decompress(compacted(reads(data), data)))
    random = np.random.default_rng(1)
    first = datetime(2025, 1, 1, tzinfo=UTC)
    folder.mkdir(parents=True, exist_ok=True)
    rounds = [record["rounds_us"] for record in document["records"]]
    for number in range(count):
        document["created"] = (first + timedelta(hours=number)).strftime("%Y-%m-%dT%H:%M:%SZ")
        document["compact"]["of_sha256"] = f"{number:064x}"
        factors = np.exp(0.001 * random.normal(size=len(rounds)))
        for record, own, factor in zip(document["records"], rounds, factors.tolist(), strict=True):
            record["rounds_us"] = [[round(us * factor, 4) for us in samples] for samples in own]
        text = json.dumps(document, separators=(",", ":")).encode()
        (folder / f"smoke-{number:05d}.json.gz").write_bytes(gzip.compress(text, 6, mtime=0))


def measured(folder: Path, count: int) -> str:
    """Return what is said of the times on `count` results in a folder that is made for it, a damaged file among them.

    RuntimeError where the index made again is another one, or the damaged file alone is not named.
    """
    busy = os.getloadavg()[0] > QUIET  # before the folder is written, which is a load itself
    write(folder, count)
    (folder / "damaged.json").write_text("{")
    reading = _reading_s(folder)
    rows, used = [], []

    def timed(what: str, work: Callable[[], object]) -> None:
        """Add a row."""
        began, before = time.perf_counter(), _processor_s()
        work()
        used.append(_processor_s() - before)
        rows.append(f"| {what} | {time.perf_counter() - began:.2f} s | {used[-1]:.2f} s |")

    timed("index made", lambda: _refresh(folder))
    timed("index up to date, nothing new", lambda: _refresh(folder))
    before = _dump(folder)
    with Index(folder) as index:
        (group,) = index.groups()
        series = index.series(group)
        runs = min(group.runs, 200)
        timed(f"one series of {runs} runs, out of the index", lambda: index.one_series(group, series[7], runs))
        damaged = [problem.path for problem in index.problems()]
    command = [sys.executable, "-m", "gpubench", "history"]
    timed("`history show`, a whole process", lambda: _run([*command, "show", series[7][0], "--in", str(folder)]))
    timed(
        f"`history steps`, {runs} runs of {len(series)} series", lambda: _run([*command, "steps", "--in", str(folder)])
    )
    (folder / NAME).unlink()
    _refresh(folder)
    if _dump(folder) != before or damaged != ["damaged.json"]:
        raise RuntimeError(f"The index made again is not the same, or other files than the damaged one: {damaged}.")
    said = (
        f"{count:,} compact results of {len(series)} records and one damaged file, on {_machine(busy)}:",
        f"Making the index takes {used[0] / reading:.1f} times the processor's time that it takes to read, unpack and "
        "parse the files alone; new files alone are read from then on. It takes "
        f"{(folder / NAME).stat().st_size / 1e6:.0f} MB, and made again after it was deleted it was the same, byte for "
        "byte as SQL. The damaged file was named and skipped.",
    )
    above, below = (textwrap.fill(paragraph, 128, break_on_hyphens=False) for paragraph in said)
    return "\n".join([above, "", "| what | time | processor's time |", "|---|---:|---:|", *rows, "", below])


def _machine(busy: bool) -> str:
    """Return the processors in words, and whether others used them when the measurement began."""
    count = len(os.sched_getaffinity(0))
    others = "other programs kept busy meanwhile (so that the processor's time tells more than the clock)"
    return f"{count} processors that {others if busy else 'did nothing else'}"


def _reading_s(folder: Path) -> float:
    """Return the processor's time of reading, unpacking and parsing all files, by the parser that the index has."""
    loads: Callable[[bytes], Any] = json.loads
    with contextlib.suppress(ImportError):
        import orjson

        loads = orjson.loads
    began = time.process_time()
    for path in folder.glob("*.json.gz"):
        loads(document(path))
    return time.process_time() - began


def _processor_s() -> float:
    """Return the seconds of processors that this process and those that it waited for have used."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def _refresh(folder: Path) -> None:
    with Index(folder) as index:
        index.refresh()


def _dump(folder: Path) -> list[str]:
    database = sqlite3.connect(folder / NAME)
    lines = list(database.iterdump())
    database.close()
    return lines


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, capture_output=True)
