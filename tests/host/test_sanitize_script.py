"""The script that runs random cases under the simulator's sanitizers."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from gpubench.devices.host_options import parse_options

ROOT = Path(__file__).parents[2]


def test_it_asks_for_builds_that_exist(tmp_path: Path) -> None:
    """Each of its tools of the simulator names the host device with options that it has, and a build of its own."""
    noted, python = tmp_path / "noted", tmp_path / "python"
    python.write_text(f'#!/bin/sh\nfor last; do :; done\necho "$last" >>"{noted}"\n')
    python.chmod(0o755)
    for tool in ("undefined", "address"):
        command = ["bash", str(ROOT / "scripts/sanitize"), tool, "--", "--operator", "sum"]
        subprocess.run(command, check=True, capture_output=True, env={**os.environ, "PYTHON": str(python)})
    specs = noted.read_text().split()
    assert [spec.partition(":")[0] for spec in specs] == ["host", "host"]
    assert [parse_options(spec.partition(":")[2]).build for spec in specs] == ["checked", "sanitize"]
