"""Strict integrity on a real GPU: eight cheats are caught, honest contenders are not, replays can be timed cold."""

from __future__ import annotations

import functools
import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gpubench.devices.cuda import CudaDevice
from gpubench.engine.pipeline import Pipeline
from gpubench.model import Case, Ceiling, Plan, Problem, Record
from gpubench.names import AUTO, contender_of
from gpubench.operators import OPERATORS
from gpubench.operators.base import Variant
from gpubench.operators.hard import hard_cases
from gpubench.peers.own_function import OwnFunction, register
from tests.engine.bed import NAIVE, QUICK, case
from tests.engine.cheats import CASE, CHEATS, TOLD, Cheat, TimerPatched
from tests.gpu.matrix import compile_for

pytestmark = pytest.mark.gpu
STRICT = replace(QUICK, integrity="strict")


def judged(device: CudaDevice, name: str, timing: Any = STRICT, operator: str = "cumsum", params: Any = CASE) -> Record:
    """Return the record of a contender."""
    found: list[Record] = []
    one = case(operator, params, contenders=(name,), timing=timing)
    Pipeline(device).run(one, one.contenders, Ceiling(), 0, lambda *_: None, found.append)
    return found[0]


@pytest.mark.parametrize("kind", CHEATS)
def test_every_cheat_is_caught_and_named(device: CudaDevice, kind: type[Cheat]) -> None:
    """Each is `wrong`, in words that say what it did."""
    cheat = kind("cupy")
    register(OwnFunction("own:mine", ("cumsum",), cheat, "cupy"))
    try:
        record = judged(device, "own:mine")
    finally:
        if isinstance(cheat, TimerPatched):
            cheat.undo()
    print(kind.__name__, record.status, record.message)
    assert record.status == "wrong"
    assert TOLD[kind] in (record.message or "")


@pytest.mark.parametrize("kind", CHEATS)
def test_what_plain_integrity_says(device: CudaDevice, kind: type[Cheat]) -> None:
    """Without strict integrity the run says something of each, for the record."""
    cheat = kind("cupy")
    register(OwnFunction("own:mine", ("cumsum",), cheat, "cupy"))
    try:
        record = judged(device, "own:mine", QUICK)
    finally:
        if isinstance(cheat, TimerPatched):
            cheat.undo()
    print("plain", kind.__name__, record.status, record.message)
    assert record.status in ("ok", "noisy", "wrong")


@pytest.mark.parametrize("name", [NAIVE, AUTO, "torch", "cupy", "own:honest"])
@pytest.mark.parametrize("method", ["cold", "hot", "graph", "graph-cold"])
def test_an_honest_contender_is_not_touched(device: CudaDevice, name: str, method: Any) -> None:
    """Ours, libraries and a function of one's own, by every method."""
    register(OwnFunction("own:honest", ("cumsum",), Cheat("cupy"), "cupy"))
    record = judged(device, name, replace(STRICT, method=method))
    assert record.status in ("ok", "noisy"), record.message


PAIRS = [(name, variant.name) for name, operator in OPERATORS.items() for variant in operator.variants]
LOOKED_AT = 12
"""Hard cases of each dtype among which the one with the most bytes is taken."""


@functools.cache
def problems(operator: str, dtype: str) -> list[tuple[Case, Problem[Any]]]:
    """Return the hard cases of a dtype that have elements, with their problems."""
    one = OPERATORS[operator]
    found = [(hard, one.problem(hard)) for hard in hard_cases(one, dtype, large=True)]
    return [(hard, problem) for hard, problem in found if problem.bytes_written]


def hard_ones(device: CudaDevice, operator: str, variant: Variant) -> list[Case]:
    """Return a hard case of each of three dtypes that a variant takes."""
    one = OPERATORS[operator]
    found: list[Case] = []
    for dtype in sorted({"float32", "float16", "int32"} & {*one.dtypes}) or one.dtypes[:1]:
        several = problems(operator, dtype)
        taken = (both for both in several if isinstance(variant.plan(both[1], device.info), Plan))
        first = list(itertools.islice(taken, LOOKED_AT))
        if first:
            found.append(max(first, key=lambda both: both[1].bytes)[0])
    return found


@pytest.fixture(scope="module")
def compiled(device: CudaDevice) -> None:
    """Compile what all variants need, side by side."""
    rules = [(name, variant) for name, operator in OPERATORS.items() for variant in operator.variants]
    compile_for(device, [(hard, rule) for name, rule in rules for hard in hard_ones(device, name, rule)])


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize(("operator", "variant"), PAIRS, ids=str)
def test_no_variant_of_ours_is_called_dishonest(device: CudaDevice, operator: str, variant: str) -> None:
    """Every variant of every operator is right on inputs that change, in all that strict integrity looks at."""
    rule = next(known for known in OPERATORS[operator].variants if known.name == variant)
    chosen = hard_ones(device, operator, rule)
    assert chosen
    for hard in chosen:
        one = replace(hard, contenders=(contender_of(variant),), timing=STRICT)
        found: list[Record] = []
        Pipeline(device).run(one, one.contenders, Ceiling(), 0, lambda *_: None, found.append)
        assert found[0].status in ("ok", "noisy"), (hard.id, found[0].message)


def test_a_digest_sees_every_byte(device: CudaDevice) -> None:
    """One byte changed anywhere changes it, in words that are cut off too; bytes behind the end do not count."""
    for nbytes in (1, 3, 4, 5, 1023, 1 << 20):
        data = np.arange(nbytes, dtype=np.uint32).astype(np.uint8)
        buffer = device.allocate(nbytes)
        device.upload(data, buffer)
        first = device.digest(buffer)
        assert device.digest(buffer) == first
        for place in {0, nbytes // 2, nbytes - 1}:
            changed = data.copy()
            changed[place] ^= 1
            device.upload(changed, buffer)
            assert device.digest(buffer) != first


def test_a_cold_graph_takes_as_long_as_a_cold_launch(device: CudaDevice) -> None:
    """The flush before each replay empties the cache: a cold replay is far slower than a warm one."""
    params = {"shape": [1024, 1024], "dim": 1}
    medians = {}
    for method in ("cold", "graph", "graph-cold"):
        record = judged(device, AUTO, replace(QUICK, method=method, min_samples=30, max_samples=60), params=params)
        assert record.summary is not None
        medians[method] = record.summary["median_us"]
    print(medians)
    assert medians["graph-cold"] > 1.15 * medians["graph"]
