"""The names that an expression of a suite may use for a problem: the sizes a launch of one's own kernel depends on."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from gpubench.dtypes import dtype
from gpubench.model import DeviceInfo, Problem

Value = int | float | str


class Size(NamedTuple):
    """What a name means, and its value for a problem."""

    meaning: str
    of: Callable[[Problem[Any]], Value]


GENERAL: Mapping[str, Size] = {
    "dtype": Size("the case's dtype, a word: dtype == float32", lambda problem: problem.case.dtype),
    "itemsize": Size("bytes of an element of that dtype", lambda problem: dtype(problem.case.dtype).itemsize),
    "contiguous": Size(
        "1 where every operand is contiguous",
        lambda problem: int(all(operand.view.is_contiguous for operand in problem.operands)),
    ),
}
"""For every operator."""

DEVICE: Mapping[str, tuple[str, Callable[[DeviceInfo], int]]] = {
    "sms": ("streaming multiprocessors of the device", lambda device: device.sm_count),
    "max_shared": ("the most bytes of shared memory that a block may have", lambda device: device.max_shared_bytes),
    "l2_bytes": ("size of the L2 cache", lambda device: device.l2_bytes),
    "warp": ("threads of a warp", lambda device: device.warp_size),
    "cc": ("compute capability without its point: 90", lambda device: int("{}{}".format(*device.compute_capability))),
}
"""What the device adds."""


def operand_names(operand: str) -> tuple[str, ...]:
    """Return the names that each operand brings: its elements, the bytes of one, and its stride along each dim."""
    return (f"{operand}_size", f"{operand}_itemsize", *(f"{operand}_stride_{dim}" for dim in range(8)))


def operand_sizes(problem: Problem[Any]) -> dict[str, Value]:
    """Return the values of `operand_names` for every operand of a problem."""
    found: dict[str, Value] = {}
    for operand in problem.operands:
        found[f"{operand.name}_size"] = operand.view.size
        found[f"{operand.name}_itemsize"] = dtype(operand.dtype).itemsize
        for dim, stride in enumerate(operand.view.strides[:8]):
            found[f"{operand.name}_stride_{dim}"] = stride
    return found


def values(sizes: Mapping[str, Size], problem: Problem[Any], device: DeviceInfo | None = None) -> dict[str, Value]:
    """Return every name's value; names of the device only with one."""
    found: dict[str, Value] = {name: size.of(problem) for name, size in {**GENERAL, **sizes}.items()}
    if device is not None:
        found |= {name: of(device) for name, (_, of) in DEVICE.items()}
    return found | operand_sizes(problem)


def product(sizes: tuple[int, ...]) -> int:
    """Return the product of sizes, 1 for none."""
    return math.prod(sizes)
