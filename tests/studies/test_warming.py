"""Compiling ahead of a run: the cases that the run will have, and nothing that only the run has options for."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from gpubench.cli.compile_items import of_cases
from gpubench.devices import Listed
from gpubench.suite.expand import load_suites
from gpubench.suite.explain import ASSUMED
from studies import warming

SCRIPT = str(Path(__file__).parents[2] / "scripts" / "warm")


def test_the_cases_of_every_seed_are_compiled_with_a_runs_options_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """What scripts/record gives to the run stands beside what is meant for the compilers."""
    asked: list[tuple[Any, ...]] = []
    monkeypatch.setattr(warming, "warm", lambda *given: asked.append(given))
    words = "warm random --peer torch,jax --rounds 3 --timeout 300 --processes 5 --seed 3 --seed 4"
    monkeypatch.setattr(sys, "argv", words.split())
    assert runpy.run_path(SCRIPT)["main"]() == 0
    ((device, inductor, cases, processes),) = asked
    assert (device, inductor, processes) == ("cuda:0", False, 5)
    wanted = [case.id for seed in (3, 4) for case in load_suites(["random"], seed).cases]
    assert [case.id for case in cases] == wanted


def test_a_suite_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """One line and exit code 2, as everywhere."""
    monkeypatch.setattr(sys, "argv", ["warm", "nowhere"])
    assert runpy.run_path(SCRIPT)["main"]() == 2
    assert "nowhere" in capsys.readouterr().err


def test_our_kernels_are_compiled_as_the_command_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `gpubench compile` finds for the cases goes to its compilers, and nothing is started for Inductor."""
    asked: list[tuple[Any, ...]] = []
    monkeypatch.setattr(warming, "list_devices", lambda: ([Listed("cuda:0", ASSUMED)], []))
    monkeypatch.setattr(warming, "compile_many", lambda *given: asked.append(given))
    cases = load_suites(["smoke"]).cases[:6]
    warming.warm("cuda:0", False, cases, 7)
    ((requests, processes),) = asked
    assert processes == 7
    assert requests == [item.request for item in of_cases(cases, (), (ASSUMED,))]
    assert {request.arch for request in requests} == {"sm_90"}
