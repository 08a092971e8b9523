from __future__ import annotations

from itertools import product

import pytest

from gpubench.cli.compile import ARCHITECTURES
from gpubench.dtypes import DTYPES
from gpubench.errors import CompileError
from gpubench.kernels import Request, compile_many
from gpubench.operators import OPERATORS

CPP = [row.cpp for row in DTYPES.values()]


def _sample() -> list[Request]:
    """One instance of each variant and dtype on one architecture, going round, so that each of them meets each."""
    chosen = []
    number = 0
    for operator in OPERATORS.values():
        for variant in operator.variants:
            for dtype in operator.dtypes:
                instances = variant.instances(dtype)
                if instances:
                    source, kernel = instances[number % len(instances)]
                    chosen.append(Request(source, kernel, ARCHITECTURES[number % len(ARCHITECTURES)]))
                    number += 1
    return chosen


def _failures(requests: list[Request]) -> list[str]:
    return [str(outcome) for outcome in compile_many(requests) if isinstance(outcome, CompileError)]


@pytest.mark.usefixtures("compiler")
def test_every_variant_compiles_for_every_architecture() -> None:
    """A sample that meets every variant, dtype and architecture compiles (`gpubench compile` compiles them all)."""
    requests = _sample()
    assert {request.arch for request in requests} == set(ARCHITECTURES)
    assert _failures(requests) == []


@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
@pytest.mark.usefixtures("compiler")
def test_every_conversion_compiles(arch: str) -> None:
    """A copy between any two dtypes has a kernel, on machines with and without bfloat16 instructions."""
    pairs = list(product(CPP, CPP))[:: 1 if arch == "sm_90" else 5]
    kernels = [f"gpubench::elementwise::naive1<gpubench::functions::copy, {a}, {b}, {a}>" for a, b in pairs]
    assert _failures([Request("elementwise/naive.cu", kernel, arch) for kernel in kernels]) == []
