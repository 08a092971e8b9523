"""The host rule of cumsum/transposed_ring.cu: operands with different fastest dims, tiles by copies into a ring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Plan, Problem, Refused
from gpubench.operators.constants import tuned
from gpubench.operators.cumsum import transposed_tuning, tuning
from gpubench.operators.cumsum.accuracy import bound
from gpubench.operators.cumsum.geometry import transposed_of
from gpubench.operators.cumsum.transposed import NOT_TRANSPOSED, needs_more_shared, not_strips, strip_launch
from gpubench.operators.geometry.transposed import Transposed
from gpubench.operators.geometry.vectors import is_narrow, items_of
from gpubench.operators.launch import template
from gpubench.operators.results import sum_dtype

LEAST_BYTES = 32
"""Bytes of a strip's row in the operand that lies across the lines, at least: a sector."""

MOST_STEPS = 8
"""Squares of a lane in a slot, at most: each has its code."""


@dataclass(frozen=True, slots=True)
class Ring:
    """The numbers of an instance (`RingStrip` in C++): of `lines` a lane takes `items` elements of `beside` a step."""

    x_along_lines: bool
    lines: int
    beside: int
    items: int
    steps: int
    stages: int
    slot_bytes: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.lines // self.beside * 32


class TransposedRing:
    """Transposed operands whose x is whole units of 16 bytes."""

    name: str = "transposed_ring"
    summary: str = (
        "x and y with different fastest dims: tiles by copies into a ring in shared memory, transposed in registers"
    )
    origin: str = "a block walks a strip of 32 lines, or fewer; a lane holds a few elements of a few lines"
    source = "cumsum/transposed_ring.cu"

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch, a block a strip."""
        transposed = transposed_of(problem)
        if transposed is None:
            return Refused(NOT_TRANSPOSED)
        if not has_whole_units(problem, transposed):
            return Refused("takes only x whose lines (or rows across them) are whole units of 16 bytes")
        ring = ring_of(problem, transposed, device)
        if ring is None:
            return needs_more_shared(device)
        if refused := not_strips(transposed, ring.lines):
            return refused
        name = kernel(problem.operand("x").dtype, problem.operand("y").dtype, ring)
        launch = strip_launch(transposed, self.source, name, ring.lines, ring.threads, ring.stages * ring.slot_bytes)
        additions = ring.items + 6 + -(-transposed.length // (32 * ring.items))
        notes = {
            "lines": ring.lines,
            "stages": ring.stages,
            "steps": ring.steps,
            "x_along_lines": transposed.x_along_lines,
        }
        return Plan(self.name, (launch,), bound(problem, additions), notes=notes)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One instance a direction and size of the ring."""
        y = sum_dtype(dtype)
        rings = (
            ring_shape(dtype, y, along, lines, size)
            for along in (True, False)
            for lines in widths(dtype, y, along)
            for size in transposed_tuning.RING_BYTES
        )
        return [(self.source, kernel(dtype, y, ring)) for ring in dict.fromkeys(rings)]

    def instances_on(self, dtype: str, device: DeviceInfo) -> Sequence[tuple[str, str]]:
        """Those of the largest ring that fits."""
        y = sum_dtype(dtype)
        rings = (
            largest_ring(dtype, y, along, lines, device) for along in (True, False) for lines in widths(dtype, y, along)
        )
        return [(self.source, kernel(dtype, y, ring)) for ring in rings if ring is not None]


def kernel(x: str, y: str, ring: Ring) -> str:
    """Return the name expression."""
    numbers = (ring.x_along_lines, ring.lines, ring.steps, ring.stages)
    return "gpubench::cumsum::transposed_ring" + template(x, y, *numbers)


def has_whole_units(problem: Problem[Any], transposed: Transposed) -> bool:
    """Tell whether each 16-byte unit of x that a strip touches is aligned and holds nothing else."""
    x = problem.operand("x")
    items = 16 // dtypes.dtype(x.dtype).itemsize
    own = (
        (transposed.length, transposed.x_across)
        if transposed.x_along_lines
        else (transposed.across, transposed.x_along)
    )
    return all(number % items == 0 for number in (x.view.offset, *own, *transposed.x_batch))


def widths(x: str, y: str, x_along_lines: bool) -> list[int]:
    """Return the lines of a strip to choose from, most first."""
    itemsize = dtypes.dtype(y if x_along_lines else x).itemsize
    return [
        lines
        for lines in tuned("RING_LINES", transposed_tuning.RING_LINES)
        if lines == 32 or lines * itemsize >= LEAST_BYTES
    ]


def ring_shape(x: str, y: str, x_along_lines: bool, lines: int, ring_bytes: int) -> Ring:
    """Return the instance for a ring of at most so many bytes (of two slots, if that is more)."""
    one, other = (dtypes.dtype(name).itemsize for name in (x, y))
    beside = min(16 // (other if x_along_lines else one), 4)
    items = items_of(x, y) if not x_along_lines else 4 if is_narrow(x) else 16 // one
    step_bytes = lines * 32 * items * (max(one, other) if x_along_lines else one)
    steps = min(max(tuned("RING_SLOT", transposed_tuning.RING_SLOT) // step_bytes, 1), MOST_STEPS)
    slot = steps * step_bytes
    return Ring(x_along_lines, lines, beside, items, steps, max(ring_bytes // slot, 2), slot)


def ring_of(problem: Problem[Any], transposed: Transposed, device: DeviceInfo) -> Ring | None:
    """Return the largest ring that fits, of strips as wide as leaves one for nearly every SM."""
    x, y = problem.operand("x").dtype, problem.operand("y").dtype
    choice = widths(x, y, transposed.x_along_lines)
    enough = (shape for shape in choice if transposed.strips(shape) >= tuning.FULL_SHARE * device.sm_count)
    return largest_ring(x, y, transposed.x_along_lines, next(enough, choice[-1]), device)


def largest_ring(x: str, y: str, x_along_lines: bool, lines: int, device: DeviceInfo) -> Ring | None:
    """Return the largest ring of strips of so many lines that fits; None where none does."""
    rings = (ring_shape(x, y, x_along_lines, lines, size) for size in transposed_tuning.RING_BYTES)
    return next((ring for ring in rings if ring.stages * ring.slot_bytes <= device.max_shared_bytes), None)
