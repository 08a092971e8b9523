from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpubench.errors import ResultFileError
from gpubench.fleet import Repeat
from gpubench.results.fleets import read_fleet, write_fleet
from tests.engine.fleet.bed import new_fleet


def test_a_manifest_comes_back_as_it_was_written(tmp_path: Path) -> None:
    """Every field of a fleet, its members and repeats survives the way through the file."""
    from dataclasses import replace

    fleet = new_fleet(["cuda:0", "cuda:1"], at_once=True, soak_s=2.5)
    first = replace(
        fleet.members[0], status="measured", uuid="GPU-1", name="H", pci_bus_id="0000:01:00.0", numa_node=1,
        worker="tcp://10.0.0.1:4", started_s=1.5, message="m",
    )  # fmt: skip
    repeats = (Repeat(first.key, "suspect", "a-again.json", "measured"), Repeat(first.key, "control", "b.json"))
    fleet = replace(fleet, members=(first, fleet.members[1]), repeats=repeats, cluster="tcp://s:1")
    write_fleet(fleet, tmp_path)
    assert read_fleet(tmp_path) == fleet == read_fleet(tmp_path / "fleet.json")


def _changed(path: Path, change: dict[str, Any]) -> None:
    document = json.loads(path.read_text())
    for key, value in change.items():
        if key.startswith("member."):
            document["members"][0][key.removeprefix("member.")] = value
        else:
            document[key] = value
    path.write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"member.result": "../../etc/passwd.json"}, "same folder"),
        ({"member.result": "fleet.json"}, "same folder"),
        ({"member.result": "VM-gpu1.json"}, "same folder"),
        ({"member.status": "fine"}, "expected one of"),
        ({"member.position": -1}, "at least 0"),
        ({"member.surprise": 1}, "does not know"),
        ({"members": []}, "1 to 4096 members"),
        ({"fleet_version": 99}, "reads up to"),
        ({"at_once": "yes"}, "true or false"),
        ({"soak_s": None}, "expected a number"),
        ({"repeats": [{"member": "nobody", "role": "control", "result": "x.json", "status": "waiting"}]}, "expected"),
    ],
)
def test_a_manifest_from_anybody_is_read_strictly(tmp_path: Path, change: dict[str, Any], complaint: str) -> None:
    """No path out of the folder, no unknown key or word, and one sentence that names the place."""
    write_fleet(new_fleet(["cuda:0", "cuda:1"]), tmp_path)
    _changed(tmp_path / "fleet.json", change)
    with pytest.raises(ResultFileError, match=complaint):
        read_fleet(tmp_path)


def test_what_is_no_fleet_is_said_to_be_none(tmp_path: Path) -> None:
    """An empty folder and a missing file name what a fleet is."""
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(ResultFileError, match="gpubench run --devices"):
            read_fleet(path)
