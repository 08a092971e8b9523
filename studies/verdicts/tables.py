"""The tables of docs/statistics.md, as Markdown, each from a seed."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from studies.verdicts.gates import false_alarms, null, power
from studies.verdicts.noise import CASES, SAMPLES, SCENARIOS, Scenario
from studies.verdicts.rivals import RIVALS

CHANGES = (0.01, 0.02, 0.03, 0.05, 0.1)
ROUNDS = (3, 6, 12, 24)

POWERED = ("round noise 0.3 %", "round noise 1 %", "host +1.6 us, GPU -2 %", "the same, ceilings only")
"""Scenarios whose power is told."""


def _said(text: str) -> None:
    sys.stderr.write(text + "\n")


def alarms(gates: int, rivals: int) -> list[str]:
    """Return the table of gates without a change: ours, and beside it the rules of other tools on fewer gates."""
    lines = [
        f"{gates} gates of {CASES} changed pairs without a change, 3 rounds of {SAMPLES} samples a side, threshold and "
        f"alpha 1 %, two GPUs (the other tools: {rivals} gates of the same kind):",
        "",
        "| scenario | a false SLOWER | a false FASTER | pairs SAME | intervals hold | means hold | "
        + " | ".join(RIVALS)
        + " |",
        "|---|" + "---:|" * (5 + len(RIVALS)),
    ]
    for number, scenario in enumerate(SCENARIOS):
        outcome = null(scenario, gates, seed=number)
        others = [false_alarms(scenario, rivals, 100 + number, rule) for rule in RIVALS.values()]
        cells = [f"{100 * outcome.slower:.1f} %", f"{100 * outcome.faster:.1f} %"]
        cells += [f"{100 * value:.0f} %" for value in (outcome.same, outcome.covered, outcome.mean, *others)]
        lines.append(f"| {scenario.name} | {' | '.join(cells)} |")
        _said(lines[-1])
    return lines


def powers(gates: int) -> list[str]:
    """Return the tables of planted changes that are found, by the change, the rounds, and the time of a case."""
    lines = [
        f"Share of planted slow-downs called SLOWER, in % (under 10 us / 10 to 50 us / over 50 us), {gates} gates of "
        f"{CASES} pairs of which three are slower:",
        "",
        "| scenario | GPU | rounds | " + " | ".join(f"+{100 * change:.0f} %" for change in CHANGES) + " |",
        "|---|---|---:|" + "---:|" * len(CHANGES),
    ]
    for name in POWERED:
        scenario = next(scenario for scenario in SCENARIOS if scenario.name == name)
        for same in (True, False):
            for rounds in ROUNDS if scenario.factor == 1.0 else ROUNDS[:1]:
                lines.append(_power_line(scenario, gates, same, rounds))
                _said(lines[-1])
    return lines


def _power_line(scenario: Scenario, gates: int, same: bool, rounds: int) -> str:
    found = [power(scenario, gates, 1000 + rounds, change, rounds, same) for change in CHANGES]
    cells = [" / ".join(f"{100 * part:.0f}" for part in shares) for shares in found]
    return f"| {scenario.name} | {'same' if same else 'another'} | {rounds} | {' | '.join(cells)} |"


def tables(gates: int) -> str:
    """Return all tables. `gates`: of each scenario."""
    parts: Sequence[list[str]] = (alarms(gates, max(gates // 8, 2)), powers(max(gates // 8, 2)))
    return "\n\n".join("\n".join(part) for part in parts)
