"""Where another variant is ahead: which cases are said, and in which order."""

from __future__ import annotations

from typing import Any

from studies.losses import losses


def result(name: str, **us: float) -> dict[str, Any]:
    """Return a result of a case as the script writes it."""
    return {"id": name, "variant": "walked_lines", "us": us}


def test_the_worst_comes_first_and_what_is_near_is_left_out() -> None:
    """The fastest other variant is named; cases without any other count for nothing."""
    lines = losses(
        [
            result("near", gpubench=10.0, columns=9.8),
            result("behind", gpubench=10.0, columns=9.0, block_rows=20.0),
            result("far behind", gpubench=20.0, columns=15.0, block_rows=10.0),
            result("ahead", gpubench=5.0, columns=9.0),
            result("alone", gpubench=5.0),
        ]
    )
    assert lines == [
        "another variant is ahead in 2 of 4 cases",
        "0.500 far behind walked_lines 20.00 -> block_rows 10.00",
        "0.900 behind walked_lines 10.00 -> columns 9.00",
    ]


def test_nothing_timed_is_no_case() -> None:
    """An empty run says so."""
    assert losses([]) == ["another variant is ahead in 0 of 0 cases"]
