from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from gpubench.cli.compile import ARCHITECTURES
from gpubench.dtypes import DTYPES
from gpubench.errors import CompileError
from gpubench.kernels import Request, compile_many
from gpubench.operators import OPERATORS
from gpubench.operators.base import Operator, Variant

CPP = [row.cpp for row in DTYPES.values()]


DTYPES_A_VARIANT = 2
"""So many dtypes of each variant are compiled, the next ones of the next variant."""


def _sample() -> list[tuple[str, str, Request]]:
    """Variant, dtype and one instance on one architecture, going round, so that each of them is met."""
    chosen: list[tuple[str, str, Request]] = []
    for operator in OPERATORS.values():
        for variant in operator.variants:
            takes = [dtype for dtype in operator.dtypes if variant.instances(dtype)]
            first = len(chosen)
            for number in range(first, first + min(DTYPES_A_VARIANT, len(takes))):
                dtype = takes[number % len(takes)]
                instances = variant.instances(dtype)
                request = Request(*instances[number % len(instances)], ARCHITECTURES[number % len(ARCHITECTURES)])
                chosen.append((f"{operator.name} {variant.name}", dtype, request))
    return chosen


def _has_instances(operator: Operator[Any], variant: Variant) -> bool:
    """Tell whether its kernels are known before its cases are."""
    return any(variant.instances(dtype) for dtype in operator.dtypes)


def _failures(requests: list[Request]) -> list[str]:
    return [str(outcome) for outcome in compile_many(requests) if isinstance(outcome, CompileError)]


@pytest.mark.timeout(900)
@pytest.mark.usefixtures("compiler")
def test_every_variant_compiles_for_every_architecture() -> None:
    """A sample that meets every variant, dtype and architecture compiles (`gpubench compile` compiles them all)."""
    variants, dtypes, requests = zip(*_sample(), strict=True)
    every = [(operator, variant) for operator in OPERATORS.values() for variant in operator.variants]
    assert set(variants) == {
        f"{operator.name} {variant.name}" for operator, variant in every if _has_instances(operator, variant)
    }
    assert set(dtypes) == set(DTYPES)
    assert {request.arch for request in requests} == set(ARCHITECTURES)
    assert _failures(list(dict.fromkeys(requests))) == []


@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
@pytest.mark.usefixtures("compiler")
def test_every_conversion_compiles(arch: str) -> None:
    """A copy between any two dtypes has a kernel, on machines with and without bfloat16 instructions."""
    pairs = list(product(CPP, CPP))[:: 1 if arch == "sm_90" else 5]
    kernels = [f"gpubench::elementwise::naive1<gpubench::functions::copy, {a}, {b}, {a}>" for a, b in pairs]
    assert _failures([Request("elementwise/naive.cu", kernel, arch) for kernel in kernels]) == []
