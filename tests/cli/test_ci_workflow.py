"""The workflow in docs/ci.md is sound YAML, and its commands exist with the options that it gives them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from gpubench.cli import root

TEXT = (Path(__file__).parents[2] / "docs" / "ci.md").read_text(encoding="utf-8")
WORKFLOW: dict[str, Any] = yaml.safe_load(re.search(r"```yaml\n(.*?)```", TEXT, re.DOTALL)[1])  # type: ignore[index]
STEPS: list[dict[str, Any]] = WORKFLOW["jobs"]["measure"]["steps"]


def commands() -> list[list[str]]:
    """Return the words of every gpubench command in the workflow, expressions and substitutions as one word."""
    found = []
    for step in STEPS:
        script = re.sub(r"\\\n", " ", step.get("run", ""))
        script = re.sub(r"\$\{\{.*?\}\}|\$\([^)]*\)", "2026-01-01", script)
        found += [shlex.split(line)[1:] for line in script.splitlines() if line.strip().startswith("gpubench ")]
    return found


@pytest.mark.parametrize("words", commands(), ids=lambda words: " ".join(words[:2]))
def test_every_command_takes_its_options(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No option is misspelt, and none lacks its value: the command line parses as far as to its command."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "history").mkdir()
    with root.make_context("gpubench", [*words]) as context:
        name, command, rest = root.resolve_command(context, words)
        while isinstance(command, click.Group):
            name, command, rest = command.resolve_command(context, rest)
        assert command is not None
        with command.make_context(str(name), rest, parent=context) as parsed:
            assert parsed.args == []


def test_one_step_gates_and_the_others_follow_whatever_it_says() -> None:
    """The gate comes right after the measurement; what shows, keeps and publishes runs always."""
    assert len(commands()) >= 6
    gate = next(number for number, step in enumerate(STEPS) if "history gate" in step.get("run", ""))
    assert "gpubench run" in STEPS[gate - 1]["run"]
    assert "if" not in STEPS[gate]
    assert all("always()" in step["if"] for step in STEPS[gate + 1 :])
    assert "continue-on-error" not in str(WORKFLOW)
