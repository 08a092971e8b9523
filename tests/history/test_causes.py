"""What changed between two runs is named: code, commits, card, driver, compiler, clocks, and no more than that."""

from __future__ import annotations

from dataclasses import replace

from gpubench.analysis.differences import differences
from gpubench.history.causes import causes
from gpubench.model import Json, Revision, Sample, Source
from tests.results.histories import History, Planted, name, run

OURS = "gpubench:auto"


def test_each_kind_of_change_is_named() -> None:
    """Machine code, the range of commits, card, driver, compiler, power limit and clock, each in one line."""
    of = History(planted={0: Planted(1, 1.0)}, drivers={1: "585.1"})
    old, new = run(of, 0), run(of, 1)
    device: dict[str, Json] = {**new.environment["device"], "uuid": "GPU-2", "power_limit_w": 500.0}
    slow = [
        record
        if record.timing is None
        else replace(
            record,
            timing=replace(
                record.timing, rounds=tuple(tuple(Sample(s.us, 1755.0) for s in each) for each in record.timing.rounds)
            ),
        )
        for record in new.records
    ]
    environment = {**new.environment, "device": device, "nvrtc": "13.1"}
    revision = Revision("f" * 40, True, "main")
    new = replace(new, environment=environment, records=tuple(slow), source=Source(revision, revision, {}))
    found = causes(old, new, name(0), OURS)
    assert found[0].startswith("machine code")
    assert set(found) == {
        f"machine code {'a' * 10} -> {'b' * 10}",
        "commits 0000000000..ffffffffff+",
        "card GPU-1 -> GPU-2",
        "driver 580.1 -> 585.1",
        "compiler 13.0 -> 13.1",
        "power limit 700.0 -> 500.0",
        "SM clock 1980 -> 1755 MHz",
    }


def test_the_same_code_is_told_first_and_other_libraries_versions_not() -> None:
    """Unchanged machine code points around the kernel; another library's new version concerns its own series alone."""
    old, new = run(History(), 3), run(History(), 4)
    new = replace(new, environment={**new.environment, "libraries": {"torch": {"torch": "2.12"}}})
    assert causes(old, new, name(0), OURS) == ("same machine code", "commits 0303030303..0404040404")
    assert "libraries.torch.torch 2.11 -> 2.12" in causes(old, new, name(0), "torch")
    same = replace(old, source=Source())
    assert causes(same, same, name(0), "torch") == ("nothing that the results record",)


def test_another_tuning_is_named() -> None:
    """Where `auto` got other constants a comparison says so, with what it means, and a step names it as a cause."""
    old, new = run(History(), 3), run(History(), 4)
    tuning: dict[str, Json] = {"sha256": "c" * 64, "from": "user", "entries": 3, "ignored": []}
    new = replace(new, environment={**new.environment, "tuning": tuning})
    [found] = [difference for difference in differences(old, new) if difference.name.startswith("tuning")]
    assert (found.old, found.new, found.matters) == ("none", "c" * 64, True)
    assert "`auto` has other constants" in found.meaning
    assert f"tuning none -> {'c' * 40}" in causes(old, new, name(0), OURS)
    assert not [difference for difference in differences(new, new) if difference.name.startswith("tuning")]
