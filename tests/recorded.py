"""The recorded results that are committed: tests read these alone, whatever else lies beside them."""

from __future__ import annotations

import subprocess
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[1]


def recorded(pattern: str) -> list[Path]:
    """Return the committed files under results/ whose path there matches, by name: `nvidia-h200/peers-2*.json`."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "results"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    found = [ROOT / name for name in listed if fnmatch(name, f"results/{pattern}")]
    return sorted((path for path in found if path.is_file()), key=lambda path: path.name)
