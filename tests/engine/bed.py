"""What the engine's tests share: cases, a scripted device, a worker that misbehaves, and a run with all of them."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gpubench.engine.events import Event
from gpubench.engine.process import WorkerProcess
from gpubench.engine.supervisor import Outcome, RunOptions, Supervisor
from gpubench.engine.workers import WorkerOptions
from gpubench.kernels.sources import OVERRIDE, default_tree
from gpubench.model import Case, Record, TimingOptions
from gpubench.operators import operator

NAIVE = "gpubench:naive"
QUICK = TimingOptions(rounds=2, min_samples=4, max_samples=8, time_limit_s=0.5, timeout_s=60.0)


def case(
    name: str = "cumsum",
    params: Mapping[str, Any] | None = None,
    dtype: str = "float32",
    contenders: tuple[str, ...] = (NAIVE,),
    timing: TimingOptions = QUICK,
) -> Case:
    """Return a small case."""
    default: dict[str, Mapping[str, Any]] = {
        "cumsum": {"shape": [8, 9], "dim": 1},
        "sum": {"shape": [8, 9], "dim": [1]},
        "elementwise": {"function": "add", "inputs": [{"shape": [8, 9]}, {"shape": [8, 9]}]},
        "index_add": {"shape": [16, 4], "dim": 0, "indices": 40},
    }
    one = operator(name)
    written = params or default.get(name) or next(one.hard(False)).params
    label = one.label(one.normalise(one.parse(written), dtype), dtype)
    return Case(label, name, dtype, written, contenders=contenders, timing=timing)


def script(folder: Path, **content: Any) -> str:
    """Write a fake device's script and return the device's spec."""
    path = folder / "fake.json"
    path.write_text(json.dumps(content))
    return f"fake:{path}"


def own_sources(folder: Path) -> dict[str, str]:
    """Return the environment of a command that has kernel sources of its own, which nobody changes meanwhile."""
    root = folder / "cuda_src"
    if not root.exists():
        shutil.copytree(default_tree().root, root)
    return {**os.environ, OVERRIDE: str(root), "PYTHONPATH": str(Path(__file__).parents[2])}


def rogue(*behaviours: str, memory_bytes: int | None = None) -> Callable[[], WorkerProcess]:
    """Return a spawn function: the n-th worker behaves as the n-th word says, the last one for ever after."""
    left = list(behaviours)

    def spawn() -> WorkerProcess:
        word = left.pop(0) if len(left) > 1 else left[0]
        return WorkerProcess("tests.engine.rogue_worker", (word,), memory_bytes)

    return spawn


def run(
    cases: Sequence[Case],
    device: str = "",
    spawn: Callable[[], WorkerProcess] = WorkerProcess,
    store: Callable[[Record], None] | None = None,
    events: list[Event] | None = None,
    **options: Any,
) -> Outcome:
    """Run cases and check what must hold for every run: one record each, in order, each stored once at most."""
    stored: list[Record] = []

    def keep(record: Record) -> None:
        if store is not None:
            store(record)
        stored.append(record)

    worker = WorkerOptions(device, start_timeout_s=options.pop("start_timeout_s", 60.0), **options.pop("worker", {}))
    handle = events.append if events is not None else lambda event: None  # noqa: ARG005 - nobody listens
    with Supervisor(RunOptions(worker, **options), handle, spawn) as supervisor:
        supervisor.open()
        outcome = supervisor.run(cases, keep)
    wanted = [(case.id, name) for case in cases for name in case.contenders]
    assert [(record.case.id, record.contender) for record in outcome.records] == wanted
    kept = [(record.case.id, record.contender) for record in stored]
    assert len(set(kept)) == len(kept)
    assert {(record.case.id, record.contender) for record in outcome.records if record in stored} == set(kept)
    return outcome


def statuses(outcome: Outcome) -> list[str]:
    """Return the statuses in order."""
    return [record.status for record in outcome.records]
