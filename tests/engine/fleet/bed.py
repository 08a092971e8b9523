"""What the tests of fleets share: scripted GPUs, and a run over them in this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gpubench.cli.fleet_run import local_supervisors
from gpubench.engine.events import Event
from gpubench.engine.fleet.book import Book
from gpubench.engine.fleet.members import local_members
from gpubench.engine.fleet.run import FleetRun
from gpubench.engine.run import Request
from gpubench.engine.supervisor import RunOptions
from gpubench.engine.workers import WorkerOptions
from gpubench.fleet import Fleet
from gpubench.model import Case

CREATED = "2026-01-31T10:00:00Z"


def gpu(folder: Path, number: int, us: float = 20.0, **content: Any) -> str:
    """Write the script of a scripted GPU with a uuid and return its spec."""
    info = {"name": "Fake", "simulated": False, "properties": {"uuid": f"GPU-{number:08x}"}}
    path = folder / f"gpu{number}.json"
    times = [{"us": us, "spread": 0.0005}]
    path.write_text(json.dumps({"seed": number, "info": info, "times": times, **content}))
    return f"fake:{path}"


def new_fleet(specs: Sequence[str], at_once: bool = False, soak_s: float = 0.0) -> Fleet:
    """Return the manifest of a fleet of these devices that has not begun."""
    suite = {"name": "little", "sha256": "0" * 64}
    return Fleet("f1ee7", "0.1.0", CREATED, ("gpubench", "run"), suite, 0, at_once, soak_s, local_members(specs))


def fleet_run(
    cases: Sequence[Case],
    fleet: Fleet,
    folder: Path,
    on_event: Callable[[str, Event], None] = lambda key, event: None,  # noqa: ARG005 - nobody listens
) -> FleetRun:
    """Return a run of the cases over the fleet, its files in `folder`."""
    request = Request(cases, fleet.suite, fleet.command)
    return FleetRun(
        request, Book(fleet, folder), local_supervisors(RunOptions(WorkerOptions(soak_s=fleet.soak_s))), on_event
    )
