"""The tunings that come with the package: read, named after their device, and made for the sources that are there."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest

from gpubench.tuning.active import is_fresh
from gpubench.tuning.file import dumps, read_tuning

SHIPPED = sorted(Path(str(resources.files("gpubench.tuning") / "shipped")).glob("*.json"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_tuning_holds(path: Path) -> None:
    """No user meets an entry that is ignored: after a change of its kernels tune anew, or take the entry out."""
    tuning = read_tuning(path).tuning
    device = tuning.device
    words = device.name.lower().replace(" ", "-")
    assert path.name == f"{words}-sm_{device.compute_capability.replace('.', '')}.json"
    stale = [f"{entry.subject} {entry.regime}" for entry in tuning.entries if not is_fresh(entry)]
    assert not stale, f"made for other sources: {stale}"
    assert path.read_bytes() == dumps(tuning)


def test_there_is_one_for_the_h200() -> None:
    """The GPU that the shipped constants were chosen on has its evidence in the package."""
    assert "nvidia-h200-sm_90" in [path.stem for path in SHIPPED]
