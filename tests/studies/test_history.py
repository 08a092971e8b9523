"""The study of steps: with the noise of recorded runs healthy series have no steps, and planted ones are found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from studies.history.folder import measured
from studies.history.noise import Recorded, history, recorded
from studies.history.tables import AFTER, BEFORE, agreement, otava, ours, recorded_panel, same

pytest.importorskip("ruptures", reason="needs the extra history")


@pytest.fixture(scope="module")
def of() -> Recorded:
    """Return the noise of the recorded runs."""
    return recorded(recorded_panel("clean*.json"))


def test_healthy_series_have_no_steps(of: Recorded) -> None:
    """Of 220 series of 60 runs at most one in a hundred has a step: docs/history.md has the figures of a thousand."""
    random = np.random.default_rng(11)
    found = [len(ours(history(of, random, 60, {}))) for _ in range(5)]
    assert sum(found) <= 2
    assert len(of.usual) == 44


def test_two_percent_are_found_within_four_runs_in_long_kernels(of: Recorded) -> None:
    """Planted in eight series over 25 us at once: at least 95 % are found at their run, and no other series."""
    random = np.random.default_rng(12)
    long = [number for number, log_us in enumerate(of.usual) if log_us > np.log(25.0)]
    hit = 0
    for _ in range(5):
        planted = random.choice(long, 8, replace=False).tolist()
        places = ours(history(of, random, BEFORE + AFTER, {n: (BEFORE, float(np.log1p(0.02))) for n in planted}))
        hit += sum(places.get(n) == [BEFORE] for n in planted)
        assert len(places.keys() - set(planted)) <= 1
    assert hit >= 38


def test_otava_agrees(of: Recorded) -> None:
    """Where Otava is installed it finds the same steps in at least 95 % of simulated series."""
    pytest.importorskip("otava.analysis", reason="needs apache-otava: pip install --no-deps apache-otava")
    table = agreement(of, {"gpubench": ours, "Otava": otava(corrected=True)}, 1)
    shares = [float(line.split("|")[2].split("%")[0]) for line in table.splitlines() if "simulated" in line]
    assert len(shares) == 2
    assert min(shares) >= 95


def test_steps_are_the_same_within_a_run() -> None:
    """As many, each at most a run beside."""
    assert same([], [])
    assert same([10, 20], [21, 10])
    assert not same([10], [12])
    assert not same([10], [])


def test_the_times_of_a_folder_are_told_whole(tmp_path: Path) -> None:
    """What the document says of the index is what the script writes: five times, a ratio, a size."""
    told = measured(tmp_path, 3)
    assert told.startswith("3 compact results of 60 records and one damaged file, on ")
    assert [line.split("|")[1].strip() for line in told.splitlines() if line.endswith(" s |")] == [
        "index made",
        "index up to date, nothing new",
        "one series of 3 runs, out of the index",
        "`history show`, a whole process",
        "`history steps`, 3 runs of 60 series",
    ]
    assert " ".join(told.split()).endswith("The damaged file was named and skipped.")
