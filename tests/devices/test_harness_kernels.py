"""The harness's own kernels compile, without a GPU."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from gpubench.devices.ceiling_ways import EVICT_FIRST, SOURCE, WAYS, expression
from gpubench.devices.harness import NAMESPACE
from gpubench.kernels import CompiledKernel, Request, compile_many

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or importlib.util.find_spec("cupy_backends") is None, reason="NVRTC is not installed"
)
NAMES = ("blocker", "stamp", "self_timed", "one_element")
CLOCK = [("harness/clock.cu", f"gpubench::harness::{name}") for name in NAMES]
CLOCK += [("harness/digest.cu", "gpubench::harness::digest")]
WAYS_WITH_KERNELS = [way for several in WAYS.values() for way in several if not way.startswith("device")]


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_every_instance_compiles_without_spills(arch: str) -> None:
    """A spill would add memory traffic of the harness itself."""
    asked = [way for way in WAYS_WITH_KERNELS if arch != "sm_75" or EVICT_FIRST not in way]
    ceiling = [(SOURCE, NAMESPACE + expression(way)) for way in asked]
    outcomes = compile_many([Request(source, kernel, arch) for source, kernel in CLOCK + ceiling])
    for outcome in outcomes:
        assert isinstance(outcome, CompiledKernel), outcome
        assert outcome.resources.spill_bytes == 0
