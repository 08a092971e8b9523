from __future__ import annotations

import os
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest

from gpubench.engine.events import Event, Note, RunStopped, WorkerRestarted
from gpubench.engine.messages import FROM_WORKER, Begin, Lines, ProtocolError, decode, encode
from gpubench.errors import DeviceError, NoDeviceError, ResultFileError
from gpubench.model import Record
from tests.engine.bed import QUICK, case, rogue, run, script, statuses

TWO = (case(contenders=("gpubench:naive", "gpubench:fast")), case("sum"))

BEHAVIOURS = {
    "garbage": "wrote what is no message",
    "partial line": r"ended with exit code 0, in the middle of a message \(\d+ bytes\)",
    "endless line": "a line of more than 8388608 bytes",
    "exit 0": "time: the worker ended with exit code 0",
    "exit 3": "exit code 3. Its last output:\nI have had enough",
    "forged on stdout": "exit code 0",
    "another's record": "gpubench:other, which was not asked for",
    "another case": "a record of other gpubench:naive, which was not asked for",
    "bad record": "rounds_us.* expected a number above 0",
    "old job": "unexpected Finished",
    "claims fine": "nothing happened",
    "closes the line": "closed its line but goes on running",
    "leaves a child": "exit code 0",
}


@pytest.mark.parametrize("word", BEHAVIOURS)
def test_a_worker_that_breaks_the_rules_costs_one_contender(word: str) -> None:
    """The contender at work gets `crashed` with the reason; the others of its case and the next case are done."""
    outcome = run(TWO, spawn=rogue(word, "good"))
    assert statuses(outcome) == ["crashed", "ok", "ok"]
    message = outcome.records[0].message
    assert message is not None
    assert re.search(BEHAVIOURS[word], message, re.DOTALL)
    assert outcome.workers == 2


def test_a_record_before_the_garbage_counts() -> None:
    """What a worker said properly before it broke the rules is kept, once."""
    outcome = run(TWO, spawn=rogue("record then garbage", "good"))
    assert statuses(outcome) == ["ok", "ok", "ok"]
    assert outcome.workers == 2


def test_a_second_record_changes_nothing() -> None:
    """A worker that sends a contender's record twice is replaced, and the first record stays."""
    outcome = run(TWO, spawn=rogue("twice", "good"))
    assert outcome.records[0].timing is not None
    assert [sample.us for sample in outcome.records[0].timing.samples] == [1.0]
    assert outcome.workers == 2


def test_a_worker_cannot_change_the_case() -> None:
    """The case of a record is the supervisor's own, whatever the worker sent back."""
    outcome = run((case("sum"),), spawn=rogue("changed case"))
    assert outcome.records[0].case == case("sum")


def test_a_job_without_a_record_is_noticed() -> None:
    """A worker that says it is done without a record of some contender leaves it `crashed`, not missing."""
    outcome = run((case("sum"),), spawn=rogue("nothing"))
    assert statuses(outcome) == ["crashed"]
    assert "gave no record of gpubench:naive" in str(outcome.records[0].message)


def test_a_talkative_worker_does_not_block() -> None:
    """Two megabytes on stdout fill no pipe, stop nothing, and are not kept."""
    assert statuses(run(TWO, spawn=rogue("chatter"))) == ["ok", "ok", "ok"]


def test_a_hanging_worker_is_killed_at_its_deadline() -> None:
    """At the case's timeout the worker is killed; the contender at work gets `timeout`, the others their time."""
    cases = [replace(case, timing=replace(QUICK, timeout_s=1.5)) for case in TWO]
    began = time.monotonic()
    outcome = run(cases, spawn=rogue("hang", "good"))
    assert statuses(outcome) == ["timeout", "ok", "ok"]
    assert outcome.records[0].message == "time: the case was not done within 1.5 s: killed"
    assert time.monotonic() - began < 100


def test_a_worker_that_eats_the_memory_is_ended() -> None:
    """Beyond what the machine can give the worker goes, not the machine; its contender is `out_of_memory`."""
    outcome = run(TWO, spawn=rogue("greedy", "good", memory_bytes=200 << 20))
    assert statuses(outcome) == ["out_of_memory", "ok", "ok"]
    assert "took more than 0.21 GB of the host's memory" in str(outcome.records[0].message)


def test_children_of_a_worker_die_with_it() -> None:
    """What a worker has started is killed with its group, also when it holds the pipes open."""
    outcome = run((case("sum"),), spawn=rogue("leaves a child"))
    found = re.search(r"child (\d+)", str(outcome.records[0].message))
    assert found
    for _ in range(600):
        try:
            state = Path(f"/proc/{found[1]}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return
        if state == "Z":
            return
        time.sleep(0.05)
    pytest.fail("the child still runs")


@pytest.mark.parametrize(
    ("word", "message"), [("slow start", "not open after 0.5 s"), ("dead start", "no driver here")]
)
def test_a_worker_that_does_not_come_up_is_an_error(word: str, message: str) -> None:
    """At the start of a run a worker that does not come up ends it, with what it said."""
    with pytest.raises(DeviceError, match=message):
        run(TWO, spawn=rogue(word), start_timeout_s=0.5 if word == "slow start" else 20.0)


def test_a_run_stops_when_no_worker_comes_up_any_more() -> None:
    """When a lost worker cannot be replaced, what is there is kept and the rest is `skipped`."""
    events: list[Event] = []
    outcome = run(TWO, spawn=rogue("exit 0", "dead start"), events=events)
    assert statuses(outcome) == ["crashed", "skipped", "skipped"]
    assert "a new worker could not be started" in str(outcome.stopped)
    assert outcome.workers == 4
    assert any(isinstance(event, RunStopped) for event in events)


def test_a_slow_replacement_is_tried_again() -> None:
    """A worker that fails to start once does not end the run."""
    outcome = run(TWO, spawn=rogue("exit 0", "dead start", "good"))
    assert statuses(outcome) == ["crashed", "ok", "ok"]


def test_a_row_of_fatal_cases_stops_the_run() -> None:
    """After K cases in a row that cost a worker the run stops with a reason; the rest is `skipped` with it."""
    cases = [case("sum", {"shape": [n, 3], "dim": [0]}) for n in range(1, 7)]
    outcome = run(cases, spawn=rogue("exit 0"), stop_after=3)
    assert statuses(outcome) == ["crashed"] * 3 + ["skipped"] * 3
    assert "3 cases in a row" in str(outcome.stopped)
    assert "3 cases in a row" in str(outcome.records[-1].message)


def test_a_good_case_ends_the_row() -> None:
    """Only cases in a row count."""
    cases = [case("sum", {"shape": [n, 3], "dim": [0]}) for n in range(1, 7)]
    outcome = run(cases, spawn=rogue("exit 0", "garbage", "good"), stop_after=3)
    assert statuses(outcome) == ["crashed"] * 2 + ["ok"] * 4


def test_retries_repeat_and_say_so() -> None:
    """`--retries` repeats what killed its worker; the record tells what happened before."""
    events: list[Event] = []
    outcome = run((case("sum"),), spawn=rogue("exit 3", "garbage", "good"), retries=2, events=events)
    assert statuses(outcome) == ["ok"]
    assert str(outcome.records[0].message).startswith("try 3; before that crashed: time: the worker wrote what is no")
    assert sum(isinstance(event, Note) and "trying again" in event.message for event in events) == 2
    assert sum(isinstance(event, WorkerRestarted) for event in events) == 2


def test_retries_end() -> None:
    """A contender that kills every worker is given up after its retries, and the count is told."""
    outcome = run((case("sum"),), spawn=rogue("exit 0"), retries=1)
    assert statuses(outcome) == ["crashed"]
    assert str(outcome.records[0].message).endswith("(tried 2 times)")
    assert outcome.workers == 2


def test_a_device_that_does_not_exist_is_the_users_matter(tmp_path: Path) -> None:
    """A worker that reports no device gives NoDeviceError, with its words."""
    with pytest.raises(NoDeviceError, match="cannot be read"):
        run(TWO, f"fake:{tmp_path}/missing.json")


def test_a_store_that_fails_stops_the_run(tmp_path: Path) -> None:
    """When a record cannot be stored (a full disk) nothing more is measured, and the error is handed on."""
    seen: list[Record] = []

    def full(record: Record) -> None:
        if seen:
            raise ResultFileError("the disk is full")
        seen.append(record)

    outcome = run([case("sum", {"shape": [n], "dim": [0]}) for n in range(1, 5)], script(tmp_path), store=full)
    assert statuses(outcome) == ["ok", "ok", "skipped", "skipped"]
    assert isinstance(outcome.error, ResultFileError)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"null",
        b"{}",
        b'{"type": "Start", "device": "cuda", "memory_limit": null}',
        b'{"type": "Begin", "job": 1, "contender": "a"}',
        b'{"type": "Begin", "job": 1, "contender": "a", "stage": "b", "more": 1}',
        b'{"type": "Begin", "job": true, "contender": "a", "stage": "b"}',
        b'{"type": "Begin", "job": 1, "job": 2, "contender": "a", "stage": "b"}',
        b'{"type": "JobDone", "job": 1, "seconds": {"time": -1}}',
        b'{"type": "JobDone", "job": 1, "seconds": {"time": NaN}}',
        b'{"type": "os.system", "job": 1}',
    ],
)
def test_only_messages_are_messages(line: bytes) -> None:
    """A line that is not exactly a message for this side is refused."""
    with pytest.raises(ProtocolError):
        decode(line, FROM_WORKER)


def test_messages_survive_any_cut() -> None:
    """A stream of messages gives the same lines however it is cut into pieces."""
    messages = [Begin(number, "gpubench:naïve\n", "time") for number in range(20)]
    stream = b"".join(encode(message) for message in messages)
    for size in (1, 7, 64, len(stream)):
        lines = Lines()
        found = [line for start in range(0, len(stream), size) for line in lines.feed(stream[start : start + size])]
        assert [decode(line, FROM_WORKER) for line in found] == messages
        assert lines.partial == 0


def test_no_descriptor_leaks() -> None:
    """A run with many lost workers leaves no descriptor open."""
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - only a count
    run([case("sum", {"shape": [n], "dim": [0]}) for n in range(1, 5)], spawn=rogue("garbage"), stop_after=0)
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - only a count
