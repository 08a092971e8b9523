"""A little suite, and `gpubench run` of it as a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.engine.bed import own_sources

SUITE = """
name: little
defaults: {contenders: ["gpubench:naive", numpy], timing: {min_samples: 6, max_samples: 9, rounds: 2}}
cases:
  - {operator: sum, shape: [[4, 5], [7]], dim: [0]}
  - {operator: cumsum, shape: [6], dim: 0, dtype: [float32, int32]}
"""


def start(folder: Path, *arguments: str, **options: Any) -> subprocess.Popen[str]:
    """Start `gpubench run little.yaml` there."""
    return subprocess.Popen(
        [sys.executable, "-m", "gpubench", "run", "little.yaml", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=own_sources(folder),
        **options,
    )


def finish(process: subprocess.Popen[str], seconds: float = 60) -> tuple[int, str, str]:
    """Wait for a command; no command ever shows a traceback."""
    output, error = process.communicate(timeout=seconds)
    assert "Traceback" not in output + error
    return process.returncode, output, error
