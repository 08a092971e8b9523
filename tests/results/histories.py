"""Folders of results that are a history: runs of random cases with a machine of their own, and what was planted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from gpubench.model import Json, Record, ResultSet, Revision, Source
from gpubench.results.write import dumps
from tests.analysis.synthetic import ceiling, record, result

CASES = 8
FIRST = datetime(2026, 3, 1, 4, tzinfo=UTC)


@dataclass(frozen=True)
class Planted:
    """From run `at` on a case's times go by `factor`, with other machine code if `code`."""

    at: int
    factor: float
    code: bool = True


@dataclass(frozen=True)
class History:
    """What to make. `planted`: by case; `machine`: by run, a factor on all times from there on; `us`: a usual time."""

    runs: int = 24
    planted: Mapping[int, Planted] = field(default_factory=dict)
    machine: Mapping[int, float] = field(default_factory=dict)
    drivers: Mapping[int, str] = field(default_factory=dict)
    us: float = 100.0
    noise: float = 0.002
    seed: int = 1


def name(case: int) -> str:
    """Return a case's id."""
    return f"sum/{1024 + case}/dim=0/float32"


def run(of: History, number: int) -> ResultSet:
    """Return one run: four rounds of seven samples of each case, ours and a library's."""
    random = np.random.default_rng([of.seed, number])
    factor = float(np.prod([by for at, by in of.machine.items() if number >= at]))
    driver = [name for at, name in sorted({0: "580.1", **of.drivers}.items()) if number >= at][-1]
    records = [record for case in range(CASES) for record in _records(of, number, case, factor, random)]
    commit = f"{number:02x}" * 20
    revision = Revision(commit, False, "main")
    made = result(
        *records,
        device={"driver": driver, "uuid": "GPU-1"},
        environment={"nvrtc": "13.0", "libraries": {"torch": {"torch": "2.11"}}},
        machine=ceiling(factor * float(np.exp(0.0005 * random.normal()))),
    )
    created = (FIRST + timedelta(days=number)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return replace(made, created=created, source=Source(revision, revision, {}))


def _records(of: History, number: int, case: int, factor: float, random: np.random.Generator) -> list[Record]:
    planted = of.planted.get(case)
    found = []
    for contender in ("gpubench:auto", "torch"):
        us, code = of.us * (1 + 0.3 * case) * factor, "a" * 64
        if planted is not None and contender == "gpubench:auto" and number >= planted.at:
            us *= planted.factor
            code = "b" * 64 if planted.code else code
        level = us * np.exp(of.noise * random.normal() + 0.002 * random.normal(size=(4, 1)))
        samples = level * np.exp(0.001 * random.normal(size=(4, 7)))
        kernel: dict[str, Json] | None = None
        if contender != "torch":
            kernel = {"cubin_sha256": code, "launches": [{"grid": [1, 1, 1]}], "variant": "rows", "registers": 32}
        median = float(np.median(samples))
        summary: dict[str, Json] = {"median_us": median, "ci95_us": [median * 0.997, median * 1.003], "n": 28}
        made = record(name(case), samples, contender=contender, kernel=kernel, sm_mhz=1980.0)
        found.append(replace(made, summary=summary))
    return found


def file_of(number: int) -> str:
    """Return the name of a run's file."""
    return f"smoke-{FIRST + timedelta(days=number):%Y%m%dT%H%M%SZ}.json"


def make(folder: Path, of: History) -> Path:
    """Write the runs of a history into a folder and return it."""
    for number in range(of.runs):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / file_of(number)).write_text(dumps(run(of, number)))
    return folder
