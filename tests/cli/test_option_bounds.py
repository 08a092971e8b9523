"""No number on a command line may reach what cannot hold it: a worker that hangs, a deadline that never comes."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator

import click
import pytest

from gpubench.cli import COMMANDS, main, root
from gpubench.devices.host_options import parse_options, parse_schedule
from gpubench.engine.process import WorkerEndedError, WorkerProcess
from gpubench.errors import UsageError

EXTREMES = ("nan", "-nan", "inf", "-inf", "1e400", "-1", "1e999999", "9" * 5000, str(2**200), "0x10", "", "1_0_0" * 900)


def options() -> Iterator[tuple[str, click.Option]]:
    """Yield every option that takes a value, of every command and its own commands."""
    context = click.Context(root)
    waiting = [(name, root.get_command(context, name)) for name in COMMANDS]
    while waiting:
        name, command = waiting.pop()
        assert command is not None
        if isinstance(command, click.Group):
            waiting += [(f"{name} {below}", command.commands[below]) for below in command.commands]
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.is_flag:
                yield name, parameter


NUMERIC = [
    pytest.param(option, id=f"{name} {option.opts[-1]}")
    for name, option in options()
    if isinstance(option.type, click.types.IntParamType | click.types.FloatParamType)
]


@pytest.mark.parametrize("option", NUMERIC)
def test_every_number_is_bounded_on_both_sides(option: click.Option) -> None:
    """An option that is a number has a range, and no text gets past it as anything else."""
    assert isinstance(option.type, click.IntRange | click.FloatRange)
    assert option.type.min is not None
    assert option.type.max is not None
    for text in EXTREMES:
        try:
            value = option.type(text, option, None)
        except click.BadParameter:
            continue
        assert math.isfinite(value)
        assert option.type.min <= value <= option.type.max


@pytest.mark.parametrize("text", EXTREMES)
@pytest.mark.parametrize(
    "option", ["--memory-limit", "--max-noise", "--time-limit", "--timeout", "--seed", "--stop-after", "--rounds"]
)
def test_run_refuses_what_is_no_sensible_number(option: str, text: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Exit code 2 with the option's name, at once."""
    if (option, text) in {("--memory-limit", "9" * 5000)}:
        text += "T"
    assert main(["run", "smoke", "--device", "fake:/nonexistent", f"{option}={text}"]) == 2
    assert option in capfd.readouterr().err


@pytest.mark.parametrize("text", ["1e18T", "2e18", "1e300G", f"{2**61}"])
def test_a_memory_limit_beyond_any_machine_is_refused(text: str, capfd: pytest.CaptureFixture[str]) -> None:
    """A size that no message to a worker can hold is the user's matter."""
    assert main(["run", "smoke", "--device", "fake:/nonexistent", "--memory-limit", text]) == 2
    assert "is no size" in capfd.readouterr().err


def test_too_many_samples_of_ab_are_refused(capfd: pytest.CaptureFixture[str]) -> None:
    """Rounds times samples are bounded as a suite's samples are."""
    arguments = ["--a", "gpubench:naive", "--b", "gpubench:auto", "--rounds", "1000", "--samples", "1000"]
    assert main(["ab", "smoke", "--device", "fake:/nonexistent", *arguments]) == 2
    assert "over 100,000 samples" in capfd.readouterr().err


@pytest.mark.parametrize(
    "text", ["workers=" + "9" * 5000, f"workers={2**32}", f"largest={2**64}", "schedule=random:" + "9" * 5000]
)
def test_a_device_takes_no_number_that_it_cannot_hold(text: str) -> None:
    """Figures in a device's spec are bounded as options are."""
    with pytest.raises(UsageError):
        parse_options(text)
    assert parse_schedule(f"random:{2**64 - 1}").seed == 2**64 - 1


@pytest.mark.parametrize("sent", [b"garbage\n", b'{"type": "Start", "device": "host", "memory_limit": 1e30}\n'])
def test_a_worker_that_cannot_read_its_orders_ends(sent: bytes) -> None:
    """The thread that reads commands takes the process with it, so that nobody waits for an answer."""
    worker = WorkerProcess()
    os.write(worker._commands, sent)
    with pytest.raises(WorkerEndedError, match=r"exit code 1(.|\n)*the thread 'commands' died: ProtocolError"):
        worker.receive(60.0)
    worker.kill()
