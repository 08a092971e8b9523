"""A folder of thousands of results, and how long the index and the commands take on it."""

from __future__ import annotations

import gzip
import json
import os
import resource
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from gpubench.results.compact import compacted
from gpubench.results.index import NAME, Index
from gpubench.results.read import reads

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
    """Return the table of times on `count` results in a folder that is made for it and one damaged file among them."""
    write(folder, count)
    (folder / "damaged.json").write_text("{")
    rows = []

    def timed(what: str, work: Callable[[], object]) -> None:
        """Add a row."""
        began, used = time.perf_counter(), _processor_s()
        work()
        rows.append(f"| {what} | {time.perf_counter() - began:.2f} s | {_processor_s() - used:.2f} s |")

    timed(f"index of {count:,} results of 60 records, made", lambda: _refresh(folder))
    timed("the same, nothing new", lambda: _refresh(folder))
    before = _dump(folder)
    with Index(folder) as index:
        (group,) = index.groups()
        key = index.series(group)[7]
        timed("one series of 200 runs, out of the index", lambda: index.one_series(group, key, 200))
        damaged = [problem.path for problem in index.problems()]
    command = [sys.executable, "-m", "gpubench", "history"]
    timed("`history show` (a whole process)", lambda: _run([*command, "show", key[0], "--in", str(folder)]))
    timed("`history steps`, 200 runs", lambda: _run([*command, "steps", "--in", str(folder)]))
    (folder / NAME).unlink()
    timed("index deleted and made again", lambda: _refresh(folder))
    same = "the same, byte for byte as SQL" if _dump(folder) == before else "NOT THE SAME"
    size = (folder / NAME).stat().st_size / 1e6
    where = f"On {os.cpu_count()} processors that others used as well."
    note = f"{where} The index takes {size:.0f} MB. The one made again is {same}. Skipped: {', '.join(damaged)}."
    head = ["| what | time | processor's time |", "|---|---:|---:|"]
    return "\n".join([*head, *rows, "", note])


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
