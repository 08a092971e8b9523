"""What several processes say together: whose mean counts, and which cases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from studies.speeds import pooled, report


def written(folder: Path, name: str, *rows: dict[str, Any]) -> Path:
    """Return a file of results, a line each."""
    file = folder / name
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def test_each_time_is_the_mean_of_all_processes(tmp_path: Path) -> None:
    """A case that one of them lacks is left out, and a library that failed in one."""
    files = [
        written(
            tmp_path,
            "one",
            {"id": "a", "us": {"gpubench": 4.0, "torch": 5.0, "jax": 6.0}, "share": 0.9},
            {"id": "b", "us": {"gpubench": 1.0, "torch": 1.0}},
        ),
        written(tmp_path, "two", {"id": "a", "us": {"gpubench": 5.0, "torch": 4.0}}),
    ]
    assert pooled(files) == [{"id": "a", "us": {"gpubench": 4.5, "torch": 4.5}}]
    assert pooled(files[:1])[1]["id"] == "b"


def test_the_best_library_of_each_case_is_the_measure() -> None:
    """The mean is geometric, the share counts from 0.95 on, the worst is named; the ceiling where it was measured."""
    lines = report(
        [
            {"id": "even", "us": {"gpubench": 10.0, "torch": 20.0, "jax": 9.5}, "share": 0.5},
            {"id": "behind", "us": {"gpubench": 10.0, "torch": 9.4}},
            {"id": "alone", "us": {"gpubench": 10.0}},
        ]
    )
    assert lines == [
        "best: 0.945 x over 2 cases; 50.0% at 0.95 x or more; worst 0.940 behind",
        "jax: 0.950 x over 1 cases; 100.0% at 0.95 x or more; worst 0.950 even",
        "torch: 1.371 x over 2 cases; 50.0% at 0.95 x or more; worst 0.940 behind",
        "ceiling: 0.500 of it over 1 cases that are not launch-bound; least 0.500",
    ]


def test_nothing_timed_says_nothing() -> None:
    """No line, and no division by none."""
    assert report([]) == []
