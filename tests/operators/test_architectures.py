"""What is compiled for an architecture is what plans on its devices name: nothing is missing, and less than for all."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpubench.layout import Layout
from gpubench.model import DeviceInfo, Plan
from gpubench.operators import OPERATORS
from gpubench.operators.architectures import DependsOnDevice, device_of, reachable
from tests.operators.cases import make_case

CUMSUM = OPERATORS["cumsum"]
NARROWED = [variant.name for variant in CUMSUM.variants if isinstance(variant, DependsOnDevice)]
OWN = [variant for variant in CUMSUM.variants if "pytorch" not in type(variant).__module__]  # those cut 2^31 elements
WRITTEN = {launch for variant in OPERATORS["elementwise"].variants for launch, _ in variant.instances("float32")}
SIZES = st.one_of(st.integers(1, 70), st.sampled_from([64, 100, 128, 512, 1000, 1024, 4096, 70_000, 1_000_000]))
ARCHITECTURES = st.sampled_from(["sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"])


@st.composite
def problems(draw: st.DrawFn) -> Any:
    """Problems of up to three dims, most of them large enough for the variants that want many SMs at work."""
    shape = draw(st.lists(SIZES, min_size=1, max_size=3).filter(lambda sizes: math.prod(sizes) < 2**31))
    layout = Layout(permute=tuple(draw(st.permutations(range(len(shape))))), offset=draw(st.sampled_from([0, 0, 8, 1])))
    dtype = draw(st.sampled_from(CUMSUM.dtypes))
    dim = draw(st.integers(0, len(shape) - 1))
    return CUMSUM.problem(make_case("cumsum", dtype, shape=shape, dim=dim, layout=dataclasses.asdict(layout)))


@functools.cache
def compiled(arch: str) -> set[tuple[str, str]]:
    """Return everything that is compiled for an architecture."""
    return {
        pair
        for operator in OPERATORS.values()
        for variant in operator.variants
        for dtype in operator.dtypes
        for pair in reachable(variant, dtype, device_of(arch))
    }


def device(arch: str, sms: int = 100) -> DeviceInfo:
    """Return a device of an architecture."""
    common = device_of(arch)
    assert common is not None
    return dataclasses.replace(common, sm_count=sms, l2_bytes=50 << 20, memory_bytes=1 << 40)


@settings(deadline=None, max_examples=100)
@given(problem=problems(), arch=ARCHITECTURES, sms=st.integers(1, 200))
def test_plans_name_only_what_is_compiled_for_the_architecture(problem: Any, arch: str, sms: int) -> None:
    """Whatever the problem and the number of SMs, each launch is among the instances of some variant and dtype.

    Copies are elementwise's, whose kernels are written for the case.
    """
    for variant in OWN:
        plan = variant.plan(problem, device(arch, sms))
        if isinstance(plan, Plan):
            named = {(launch.source, launch.kernel) for launch in plan.launches if launch.source not in WRITTEN}
            assert named <= compiled(arch), variant.name


@pytest.mark.parametrize("name", NARROWED)
def test_less_is_compiled_for_one_architecture_than_for_all(name: str) -> None:
    """The smaller rings and tiles are for devices with less shared memory, and none is left out altogether."""
    variant = next(variant for variant in CUMSUM.variants if variant.name == name)
    every = {pair for dtype in CUMSUM.dtypes for pair in variant.instances(dtype)}
    ours = {arch: set() for arch in ("sm_75", "sm_80", "sm_90", "sm_120")}  # type: dict[str, set[tuple[str, str]]]
    for arch, found in ours.items():
        for dtype in CUMSUM.dtypes:
            found.update(reachable(variant, dtype, device_of(arch)))
        assert found < every
    assert set.union(*ours.values()) <= every


def test_an_unknown_architecture_gets_every_instance() -> None:
    """A new GPU is no reason to leave something out."""
    variant = next(variant for variant in CUMSUM.variants if variant.name == NARROWED[0])
    assert device_of("sm_999") is None
    assert list(reachable(variant, "float32", device_of("sm_999"))) == list(variant.instances("float32"))
