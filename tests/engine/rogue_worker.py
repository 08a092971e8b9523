"""A worker that does wrong what the word on its command line says, and everything else as a worker should."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

from gpubench.results.format import SCHEMA_VERSION

COMMANDS, MESSAGES = int(sys.argv[1]), int(sys.argv[2])
WORD = sys.argv[3]
ENVIRONMENT = {"device": {"kind": "fake", "name": "Rogue"}}


def say(kind: str, **fields: Any) -> None:
    """Write a message."""
    write(json.dumps({"type": kind, **fields}).encode() + b"\n")


def write(data: bytes) -> None:
    """Write bytes to the supervisor."""
    while data:
        data = data[os.write(MESSAGES, data) :]


def record(job: dict[str, Any], contender: str, **changes: Any) -> dict[str, Any]:
    """Return a record that is right in every way."""
    one = {"case": job["case"], "contender": contender, "status": "ok", "rounds_us": [[1.0]], **changes}
    return {"message": None, **one}


def finish(job: dict[str, Any]) -> None:
    """Do a job as it should be done."""
    for contender in job["contenders"]:
        say("Begin", job=job["number"], contender=contender, stage="time")
        say("Finished", job=job["number"], record=record(job, contender))
    say("JobDone", job=job["number"], seconds={"time": 0.0})


def misbehave(job: dict[str, Any]) -> None:  # noqa: C901 - a table of behaviours, a case each
    """Do what the word says with a job."""
    number, first = job["number"], job["contenders"][0]
    say("Begin", job=number, contender=first, stage="time")
    right = {"type": "Finished", "job": number, "record": record(job, first)}
    match WORD:
        case "garbage":
            write(b"\x00\xff garbage \n")
        case "partial line":
            write(json.dumps(right).encode()[:-30])
            os._exit(0)
        case "endless line":
            while True:
                write(b"x" * 65536)
        case "exit 0":
            os._exit(0)
        case "exit 3":
            print("I have had enough", flush=True)
            os._exit(3)
        case "record then garbage":
            write(json.dumps(right).encode() + b"\n{{{\n")
        case "forged on stdout":
            forged = json.dumps(right)
            print(forged, flush=True)
            print(forged, file=sys.stderr, flush=True)
            os._exit(0)
        case "another's record":
            say("Finished", job=number, record=record(job, "gpubench:other"))
        case "another case":
            say("Finished", job=number, record=record({**job, "case": {**job["case"], "id": "other"}}, first))
        case "twice":
            say("Finished", job=number, record=record(job, first))
            say("Finished", job=number, record=record(job, first, rounds_us=[[0.5]]))
        case "bad record":
            say("Finished", job=number, record=record(job, first, rounds_us=[[0.0]]))
        case "changed case":
            changed = {**job["case"], "seed": 999, "params": {"shape": [1]}}
            say("Finished", job=number, record=record(job, first, case=changed))
            say("JobDone", job=number, seconds={})
        case "old job":
            say("Finished", job=number - 1, record=record(job, first))
        case "nothing":
            say("JobDone", job=number, seconds={})
        case "claims fine":
            say("Fault", job=number, contender=first, status="ok", message="nothing happened")
        case "closes the line":
            os.close(MESSAGES)
            time.sleep(600)
        case "chatter":
            for _ in range(200):
                print("x" * 10_000, flush=True)
            finish(job)
        case "leaves a child":
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], pass_fds=(MESSAGES,))
            print("child", child.pid, flush=True)
            os._exit(0)
        case "greedy":
            held = b"x" * (400 << 20)
            time.sleep(600 + len(held) % 2)
        case "hang":
            time.sleep(600)
        case _:
            finish(job)


def main() -> None:
    """Answer commands."""
    if WORD == "slow start":
        time.sleep(600)
    if WORD == "dead start":
        print("no driver here", flush=True)
        os._exit(7)
    with os.fdopen(COMMANDS, "rb") as commands:
        for line in commands:
            command = json.loads(line)
            if command["type"] == "Start":
                say("Ready", environment=ENVIRONMENT)
            elif command["type"] == "Measure":
                say("Measured", ceiling={})
            elif command["type"] == "Job":
                misbehave(command)
            else:
                return


if __name__ == "__main__":
    assert SCHEMA_VERSION == 2
    main()
