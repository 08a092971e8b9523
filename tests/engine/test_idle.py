"""The share of the timed phase in which the device was idle: an upper bound that a reader can trust."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from gpubench.devices.fake import FakeDevice
from gpubench.devices.fake_script import parse_script
from gpubench.engine.idle import idle
from gpubench.engine.pipeline import Pipeline
from gpubench.model import Ceiling, Record
from gpubench.results.read import reads
from gpubench.results.write import dumps
from gpubench.views.tables import results_table
from tests.engine.bed import NAIVE, QUICK, case
from tests.views.samples import result


def test_the_device_s_work_on_samples_is_told_with_the_wall_time() -> None:
    """50 us a sample on a device that needs 1 ms of wall time for each: at work for a twentieth of it at most."""
    device = FakeDevice(parse_script({"times": [{"us": 50.0}], "seconds_per_sample": 0.001}))
    found: list[Record] = []
    one = replace(case("cumsum", contenders=(NAIVE,)), timing=QUICK)
    seconds = Pipeline(device).run(one, one.contenders, Ceiling(), 0, lambda *_: None, found.append)
    assert found[0].timing is not None
    taken = sum(len(samples) for samples in found[0].timing.rounds)
    assert seconds["time: device at work"] == pytest.approx(taken * 50e-6)
    assert {"upload", "time: prepare", "time: samples"} <= set(seconds)
    share = idle(seconds)
    assert share is not None
    assert 0.95 <= share["of_samples"] <= share["of_time"] <= 1.0


def test_what_is_not_work_on_samples_counts_as_idle() -> None:
    """Preparing (uploads, compilers of other libraries, warm-up) is in the whole and not in the part of samples."""
    seconds = {"time": 10.0, "time: prepare": 6.0, "time: samples": 4.0, "time: device at work": 3.0, "check": 99.0}
    assert idle(seconds) == {"of_time": 0.7, "of_samples": 0.25}


@pytest.mark.parametrize("seconds", [{}, {"start": 1.0}, {"time": 0.0, "time: samples": 0.0}, {"time": 3.0}])
def test_nothing_timed_has_no_share(seconds: dict[str, float]) -> None:
    """A run in which every case failed before it was timed says nothing, rather than 0 or 100 %."""
    assert idle(seconds) is None


def test_the_table_says_how_idle_the_device_was() -> None:
    """One line under the table, from the file alone."""
    extra = {"timings": {"time": 52.0, "time: samples": 30.0}, "idle": {"of_time": 0.4321, "of_samples": 0.21}}
    there_and_back = reads(dumps(replace(result(), extra=extra)).encode())
    text = results_table(there_and_back)
    assert "device idle for 43.2 % of the timed phase of 52.00 s, for 21.0 % while samples were taken" in text


@pytest.mark.parametrize("extra", [{"idle": 3}, {"idle": {"of_time": "x"}, "timings": {"time": 1.0}}, {"timings": []}])
def test_a_foreign_file_without_the_figures_shows_none(extra: dict[str, object]) -> None:
    """Keys of the top level are free: anything may stand there."""
    assert "device idle" not in results_table(replace(result(), extra=json.loads(json.dumps(extra))))
