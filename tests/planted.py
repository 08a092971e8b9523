"""What the tests' planted workers share: a worker's messages and commands, answered without any device."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

COMMANDS, MESSAGES = int(sys.argv[1]), int(sys.argv[2])


def say(kind: str, **fields: Any) -> None:
    """Write a message."""
    data = json.dumps({"type": kind, **fields}).encode() + b"\n"
    while data:
        data = data[os.write(MESSAGES, data) :]


def serve(device: dict[str, Any], job: Callable[[dict[str, Any]], None]) -> None:
    """Answer commands on a device of this description; `job` tells of every contender of a case."""
    with os.fdopen(COMMANDS, "rb") as commands:
        for line in commands:
            command = json.loads(line)
            if command["type"] == "Start":
                say("Ready", environment={"device": {"kind": "fake", "name": "Planted", **device}})
            elif command["type"] == "Measure":
                say("Measured", ceiling={})
            elif command["type"] != "Job":
                return
            else:
                job(command)
                say("JobDone", job=command["number"], seconds={"time": 0.0})
