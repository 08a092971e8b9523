"""CUPTI's records, without CUPTI: which belong to which sample."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gpubench.devices.cuda_cupti import Activity, between_stamps, library
from gpubench.errors import DeviceError, MissingExtraError

STAMP = "_ZN8gpubench7harness5stampEP10ulonglong2j"


def stream(*names: str, each: int = 1000, gap: int = 500) -> list[Activity]:
    """Return activities one after the other, in nanoseconds."""
    return [Activity(name, place * (each + gap), place * (each + gap) + each) for place, name in enumerate(names)]


def test_only_what_lies_between_two_stamps_of_a_sample_counts() -> None:
    """Flush, restore and gate lie outside."""
    seen = stream("memset", STAMP, "kernel", STAMP, "memset", "blocker", STAMP, "kernel", STAMP)
    first, second = between_stamps(seen, 2, 1)
    assert first.launches == (("kernel", 1.0),)
    assert second.span_us == 1.0


def test_several_launches_have_a_sum_and_a_longer_span() -> None:
    """The gap between them is in the span alone."""
    (one,) = between_stamps(stream(STAMP, "memset", "kernel", STAMP), 1, 1)
    assert one.launches == (("memset", 1.0), ("kernel", 1.0))
    assert one.sum_us == 2.0
    assert one.span_us == 2.5


def test_repeated_runs_are_averaged_launch_by_launch() -> None:
    """A hot sample of two runs gives each launch's mean, and half the span."""
    seen = stream(STAMP, "a", "b", "a", "b", STAMP)
    (one,) = between_stamps(seen, 1, 2)
    assert one.launches == (("a", 1.0), ("b", 1.0))
    assert one.span_us == pytest.approx((seen[4].end - seen[1].start) / 2e3)


def test_work_without_launches_takes_no_time() -> None:
    """An empty case has nothing between its stamps."""
    (one,) = between_stamps(stream(STAMP, STAMP), 1, 1)
    assert one.launches == ()
    assert one.span_us == 0.0


@pytest.mark.parametrize("names", [(STAMP, "kernel"), (STAMP, STAMP, STAMP), ("kernel",)])
def test_lost_records_are_an_error_and_never_a_time(names: tuple[str, ...]) -> None:
    """CUPTI drops records when its buffers overflow."""
    with pytest.raises(DeviceError, match="lost"):
        between_stamps(stream(*names), 1, 1)


def test_a_run_that_lost_a_launch_is_an_error() -> None:
    """Three launches in two runs cannot be."""
    with pytest.raises(DeviceError, match="lost"):
        between_stamps(stream(STAMP, "a", "b", "a", STAMP), 1, 2)


def test_a_package_that_lacks_another_is_not_called_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there and does not load is told with its own words, not as something to be installed."""
    package = tmp_path / "cupti"
    package.mkdir()
    (package / "__init__.py").write_text("import a_parser_of_elf_files")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("cupti", "cupti.cupti"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    library.cache_clear()
    with pytest.raises(MissingExtraError, match=r"cannot be loaded \(No module named 'a_parser_of_elf_files'\)"):
        library()
    library.cache_clear()
