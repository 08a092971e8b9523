"""A worker on a device of numbers: every contender takes 10 us, but cumsum's `gpubench:auto` has holes.

Twice as slow over dim 0 of columns that are an odd number and at most 63 wide; wrong nowhere. `cub` takes nothing,
and the times of `sum` are simulated.
"""

from __future__ import annotations

from typing import Any

from tests.planted import say, serve


def has_hole(case: dict[str, Any]) -> bool:
    """Tell whether the planted hole has this case."""
    shape = case["params"].get("shape") or []
    return (
        case["operator"] == "cumsum"
        and len(shape) == 2
        and case["params"]["dim"] == 0
        and shape[1] % 2 == 1
        and shape[1] <= 63
    )


def job(command: dict[str, Any]) -> None:
    """Give every contender its time."""
    case = command["case"]
    for name in command["contenders"]:
        us = 20.0 if name == "gpubench:auto" and has_hole(case) else 10.0
        record = {"case": case, "contender": name, "status": "ok", "message": None, "rounds_us": [[us] * 3, [us] * 3]}
        record["simulated"] = case["operator"] == "sum"
        if name == "cub":
            record |= {"status": "unsupported", "message": "takes nothing", "rounds_us": []}
        say("Begin", job=command["number"], contender=name, stage="time")
        say(
            "Finished",
            job=command["number"],
            record={**record, "summary": None if name == "cub" else {"median_us": us, "n": 6}},
        )


if __name__ == "__main__":
    serve({}, job)
