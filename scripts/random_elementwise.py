"""Random cases of elementwise for `random_check.py`: families whose cases mostly share a kernel."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import random

import numpy as np

from gpubench.model import Case, Distribution
from gpubench.operators import OPERATORS
from gpubench.operators.elementwise.params import ElementwiseParams
from gpubench.operators.parameters import from_json, to_json
from gpubench.suite.expand import expand

FAMILY = 32
"""Cases in a row that share the function, the dtypes and how operands lie, and differ in sizes and contents."""
UNIT = 16
"""What sizes change by, so that those that were whole vectors are still, and the others are not."""
INPUTS: tuple[Distribution, ...] = ("normal", "normal", "uniform", "integers", "with_nonfinite")


def draw_case(seed: int, number: int, largest: int) -> Case:
    """Draw case `number` of a seed."""
    family, member = divmod(number, FAMILY)
    most = (300, 5000, 50_000, largest)[family % 4]
    first = _first(seed, family, most)
    return first if member == 0 else resized(first, random.Random(f"{seed}/{number}"), most, number)


@functools.lru_cache
def _first(seed: int, family: int, most: int) -> Case:
    """Draw the first case of a family, as a random entry of a suite does."""
    entry = {
        "operator": "elementwise",
        "dtype": list(OPERATORS["elementwise"].dtypes),
        "input": list(INPUTS),
        "out_layout": ["contiguous", "operands"],
        "random": {
            "cases": 1,
            "seed": seed * 2**32 + family,
            "elements": [most // 100 + 1, most],
            "dims": [0, 5],
            "layouts": {"contiguous": 4, "transposed": 1, "permuted": 2, "misaligned": 2, "stepped": 1, "broadcast": 1},
            "broadcasts": 0.4,
            "casts": 0.3,
        },
    }
    (case,) = expand(json.dumps({"name": "drawn", "cases": [entry]}).encode(), "drawn").cases  # JSON is YAML
    return case


def resized(case: Case, draw: random.Random, most: int, seed: int) -> Case:
    """Return the case with other sizes, of at most `most` elements, and other contents. Dims of one element stay."""
    params = from_json(ElementwiseParams, case.params)
    old = np.broadcast_shapes(*(operand.shape for operand in params.inputs))
    sizes = [size if size <= 1 else size % UNIT + UNIT * draw.randint(0, 2 * (size // UNIT) + 1) for size in old]
    sizes = [size if size or not whole else UNIT for size, whole in zip(sizes, old, strict=True)]
    while math.prod(sizes) > most and max(sizes) > 2 * UNIT:
        longest = sizes.index(max(sizes))
        sizes[longest] = sizes[longest] % UNIT + sizes[longest] // (2 * UNIT) * UNIT or UNIT
    if math.prod(sizes) > 2 * most:
        sizes = list(old)
    inputs = tuple(
        dataclasses.replace(
            operand,
            shape=tuple(
                1 if size == 1 else new
                for size, new in zip(operand.shape, sizes[len(sizes) - len(operand.shape) :], strict=True)
            ),
        )
        for operand in params.inputs
    )
    operator = OPERATORS["elementwise"]
    normal = operator.normalise(dataclasses.replace(params, inputs=inputs), case.dtype)
    label = operator.label(normal, case.dtype)
    return Case(label, "elementwise", case.dtype, to_json(normal), draw.choice(INPUTS), seed=seed)
