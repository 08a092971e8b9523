from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gpubench.cli import main
from gpubench.results.fleets import read_fleet
from tests.engine.fleet.bed import gpu

SUITE = """
name: little
defaults: {contenders: ["gpubench:naive"], timing: {min_samples: 6, max_samples: 9, rounds: 2}}
cases:
  - {operator: cumsum, shape: [[6], [7], [8]], dim: 0, dtype: [float32, int32]}
"""


def test_a_slow_gpu_is_found_measured_again_and_reported(tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    """From the run to the page: five GPUs, one 3 % slow; it is repeated beside a control, and check exits with 1."""
    monkeypatch.chdir(tmp_path)
    Path("little.yaml").write_text(SUITE)
    specs = [gpu(tmp_path, n, us=20.6 if n == 3 else 20.0) for n in range(5)]
    assert main(["run", "little.yaml", "--devices", ",".join(specs), "--parallel", "-q", "-o", "out"]) == 0
    fleet = read_fleet(Path("out"))
    assert [(repeat.role, repeat.status) for repeat in fleet.repeats] == [
        ("suspect", "measured"),
        ("control", "measured"),
    ]
    assert fleet.repeats[0].member == fleet.members[3].key != fleet.repeats[1].member
    capsys.readouterr()
    assert main(["fleet", "check", "out"]) == 1
    assert f"SLOW     {fleet.members[3].key}" in capsys.readouterr().out
    assert main(["fleet", "report", "out", "-o", "page.html"]) == 0
    assert "SLOW" in Path("page.html").read_text()
    assert main(["fleet", "profile", "out", "-o", "p.json"]) == 0
    assert json.loads(Path("p.json").read_text())["gpus"] == 4
    assert main(["fleet", "check", "out/fleet.json", "--profile", "p.json", "--json"]) == 1
    capsys.readouterr()
    assert main(["fleet", "repeat", "out"]) == 0
    Path("out", fleet.members[1].result).unlink()
    assert main(["fleet", "check", "out", "--min-effect", "10%"]) == 3
    assert "MISSING" in capsys.readouterr().out
    assert main(["fleet", "check", "nowhere"]) == 2
    assert main(["fleet", "check", "out", "--profile", "out/fleet.json"]) == 2
