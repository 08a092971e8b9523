"""A worker on a device of numbers, with a planted landscape: constants in a contender's name decide what it takes.

Every contender takes 20 us with noise of rounds and samples; LANES_ROW=256 10 % less, LANES_ROW=64 0.2 % less (a tie).
STAGED_THREADS=128 is wrong, LANES_THREADS=256 does not compile, STAGED_ROWS=512 loses the device.
"""

from __future__ import annotations

import os
import random
from typing import Any

from tests.planted import say, serve

DEVICE = {
    "compute_capability": "9.0",
    "sm_count": 132,
    "l2_bytes": 62914560,
    "memory_bytes": 1 << 37,
    "simulated": True,
}
FACTORS = {"LANES_ROW=256": 0.9, "LANES_ROW=64": 0.998, "LANES_ROW=32": 1.5}
FAILURES = {
    "STAGED_THREADS=128": ("wrong", "2 of 10 elements are wrong"),
    "LANES_THREADS=256": ("compile_error", "no such thing"),
}


def job(command: dict[str, Any]) -> None:
    """Give every contender its times."""
    case = command["case"]
    for name in command["contenders"]:
        say("Begin", job=command["number"], contender=name, stage="time")
        parts = name.partition("@")[2].split("+")
        if "STAGED_ROWS=512" in parts:
            say("Fault", job=command["number"], contender=name, status="device_error", message="lost")
            os._exit(1)
        say("Finished", job=command["number"], record=record(case, name, parts))


def record(case: dict[str, Any], name: str, parts: list[str]) -> dict[str, Any]:
    """Return a record: the same case and contender always have the same times."""
    timing = case["timing"]
    failure = next((FAILURES[part] for part in parts if part in FAILURES), None)
    chance = random.Random(f"{case['id']} {name}")
    us = 20.0
    for part in parts:
        us *= FACTORS.get(part, 1.0)
    rounds = []
    for _ in range(timing["rounds"]):
        luck = us * (1 + chance.gauss(0, 0.002))
        rounds.append([luck * (1 + chance.gauss(0, 0.003)) for _ in range(timing["min_samples"] // timing["rounds"])])
    status, message = failure or ("ok", None)
    times = [] if failure else rounds
    found = {"case": case, "contender": name, "status": status, "message": message, "rounds_us": times}
    return {**found, "summary": None if failure else {"median_us": us, "n": sum(map(len, rounds))}}


if __name__ == "__main__":
    serve(DEVICE, job)
