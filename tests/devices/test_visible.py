"""Which GPUs a measuring process sees."""

from __future__ import annotations

import pytest

from gpubench.devices import nvml
from gpubench.devices.visible import VISIBLE, show_only
from gpubench.errors import NoDeviceError


@pytest.fixture(autouse=True)
def _three_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml, "bus_ids", lambda: ["a", "b", "c"])


@pytest.mark.parametrize(
    ("spec", "before", "after", "opened"),
    [
        ("cuda:2", None, "2", "cuda"),
        ("cuda", None, "0", "cuda"),
        ("auto", None, "0", "auto"),
        ("cuda:1", "5, 3", "3", "cuda"),
        ("auto", "GPU-1,GPU-2", "GPU-1", "auto"),
        ("cuda:0", "", "", "cuda:0"),
        ("host", None, None, "host"),
        ("cuda:x", "1,2", "1,2", "cuda:x"),
        ("fake:a.json", None, None, "fake:a.json"),
    ],
)
def test_only_the_gpu_that_is_measured_is_left(spec: str, before: str | None, after: str | None, opened: str) -> None:
    """The number counts within what was visible before, and the GPU that is left is the first one."""
    environment = {} if before is None else {VISIBLE: before}
    assert show_only(spec, environment) == opened
    assert environment.get(VISIBLE) == after


@pytest.mark.parametrize("before", [None, "0,1,2"])
def test_a_number_beyond_the_last_gpu_is_told(before: str | None) -> None:
    """Not hidden into a machine without any GPU: the message says how many there are."""
    environment = {} if before is None else {VISIBLE: before}
    with pytest.raises(NoDeviceError, match=r"no cuda:3: CUDA shows 3 devices\."):
        show_only("cuda:3", environment)


def test_the_first_gpu_may_be_one_that_nvml_does_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without NVML nothing is counted, and CUDA says what is there."""
    monkeypatch.setattr(nvml, "bus_ids", list)
    environment: dict[str, str] = {}
    assert (show_only("cuda:0", environment), environment) == ("cuda", {VISIBLE: "0"})
    assert show_only("cuda:1", {}) == "cuda:1"
