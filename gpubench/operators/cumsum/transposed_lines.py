"""The host rule of cumsum/transposed_lines.cu: many short lines of transposed operands, a lane a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused
from gpubench.operators.coalesce import coalesce
from gpubench.operators.constants import tuned
from gpubench.operators.cumsum import transposed_tuning
from gpubench.operators.cumsum.accuracy import bound
from gpubench.operators.cumsum.geometry import transposed_of
from gpubench.operators.cumsum.transposed import NOT_TRANSPOSED, needs_more_shared
from gpubench.operators.geometry.rounding import ceil_div
from gpubench.operators.geometry.transposed import Transposed
from gpubench.operators.geometry.vectors import is_half
from gpubench.operators.launch import template
from gpubench.operators.results import sum_dtype
from gpubench.operators.structs import INTEGER_DIVIDER, MAX_DIMS, Struct, divided_strided, divider

Walk = tuple[tuple[int, ...], tuple[int, ...]]

TRANSPOSED_LINES = Struct(
    "gpubench::TransposedLines",
    "gpubench/movement/lines.cuh",
    lines="u4",
    length="i4",
    units=INTEGER_DIVIDER,
    pitch="i4",
    warp_units="i4",
    padding="i4",
    **dict.fromkeys(("x_along", "x_across", "y_along", "y_across"), "i8"),
)

STAGES = 2
"""Turns of x that a warp's shared memory holds where a line takes several."""

STEPS_TOGETHER = 4
"""Units of which a turn has a whole multiple (`steps_together` in C++)."""

LONGEST_BYTES = 1 << 30
"""Bytes of a line of y, at most: the kernel counts them in 32 bits."""


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines in the order in which they lie side by side: (sizes, strides) of each operand, merged, slowest first.

    aligned: every line of the operand that lies along them begins on 16 bytes.
    """

    transposed: Transposed
    count: int
    x: Walk
    y: Walk
    aligned: bool
    paired: bool


class TransposedLines:
    """Transposed operands of many short lines."""

    name: str = "transposed_lines"
    summary: str = (
        "x and y with different fastest dims, short lines: a lane a line, transposed by a warp's shared memory"
    )
    origin: str = "a warp moves 32 lines by 16-byte units along them; each lane adds up its own"
    source = "cumsum/transposed_lines.cu"

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch, a lane a line or two."""
        lines = lines_of(problem)
        if lines is None:
            return Refused(NOT_TRANSPOSED)
        if refused := _too_large(problem, lines):
            return refused
        transposed, warps = lines.transposed, tuned("LINE_WARPS", transposed_tuning.LINE_WARPS)
        units, room = units_of_turn(problem, lines), warp_units(problem, lines)
        if warps * room * 16 > device.max_shared_bytes:
            return needs_more_shared(device)
        shape = TRANSPOSED_LINES.value(
            transposed, lines=lines.count, units=divider(units), pitch=units | 1, warp_units=room, padding=0
        )
        launch = Launch(
            self.source,
            kernel(problem.operand("x").dtype, problem.operand("y").dtype, lines),
            (-(-lines.count // (warps * 32 * (1 + lines.paired))), 1, 1),
            (32 * warps, 1, 1),
            (
                Pointer("x"),
                Pointer("y"),
                shape,
                divided_strided(*lines.x),
                divided_strided(*lines.y),
            ),
            shared_bytes=warps * room * 16,
        )
        notes = {"units": units, "warps": warps, "x_along_lines": transposed.x_along_lines, "paired": lines.paired}
        return Plan(self.name, (launch,), bound(problem), notes=notes)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One instance a direction, alignment and number of lines a lane."""
        y = sum_dtype(dtype)
        return [
            (self.source, expression(dtype, y, along, aligned, lanes))
            for along in (True, False)
            for aligned in ((True, False) if dtypes.dtype(dtype if along else y).itemsize < 16 else (True,))
            for lanes in ((1, 2) if is_half(dtype) else (1,))
        ]


def _too_large(problem: Problem[Any], lines: Lines) -> Refused | None:
    """Refuse what 32-bit numbers, or the kernel's dims, do not reach."""
    if lines.count >= 2**31:
        return Refused("takes fewer than 2^31 lines")
    if lines.transposed.length * dtypes.dtype(problem.operand("y").dtype).itemsize > LONGEST_BYTES:
        return Refused(f"takes lines of at most {LONGEST_BYTES} bytes")
    if max(len(lines.x[0]), len(lines.y[0])) > MAX_DIMS:
        return Refused(f"takes lines of at most {MAX_DIMS} dims")
    return None


def lines_of(problem: Problem[Any]) -> Lines | None:
    """Return the problem as lines side by side in the operand that lies across them; None where there is none."""
    transposed = transposed_of(problem)
    if transposed is None:
        return None
    x, y = problem.operand("x"), problem.operand("y")
    dims = [dim for dim in range(len(x.view.shape)) if dim != problem.params.dim and x.view.shape[dim] > 1]
    if not transposed.x_along_lines:  # as they lie in x; a broadcast dim is slowest: its lines are no neighbours
        dims.sort(key=lambda dim: (x.view.strides[dim] == 0, x.view.strides[dim]), reverse=True)
    sizes = [x.view.shape[dim] for dim in dims]
    x_steps, y_steps = ([operand.view.strides[dim] for dim in dims] for operand in (x, y))
    (x_sizes, (x_merged,)), (y_sizes, (y_merged,)) = coalesce(sizes, x_steps), coalesce(sizes, y_steps)
    along, across = (x, y) if transposed.x_along_lines else (y, x)
    steps, beside = (x_steps, y_steps) if transposed.x_along_lines else (y_steps, x_steps)
    items = max(16 // dtypes.dtype(along.dtype).itemsize, 1)
    aligned = all(step % items == 0 for step in [along.view.offset, *steps])
    rest = [across.view.offset, across.view.strides[problem.params.dim], *(step for step in beside if step != 1)]
    paired = is_half(x.dtype) and transposed.across % 2 == 0 and all(step % 2 == 0 for step in rest)
    count = x.view.size // transposed.length
    return Lines(transposed, count, (x_sizes, x_merged), (y_sizes, y_merged), aligned, paired)


def all_units(problem: Problem[Any], lines: Lines) -> int:
    """Return the 16-byte units that a line of the operand along them touches at most."""
    along = dtypes.dtype(problem.operand("x" if lines.transposed.x_along_lines else "y").dtype)
    return -(-lines.transposed.length * along.itemsize // 16) + (not lines.aligned)


def units_of_turn(problem: Problem[Any], lines: Lines) -> int:
    """Return the 16-byte units of a line in a turn: all of it, if these are few."""
    x, y = (dtypes.dtype(problem.operand(name).dtype) for name in ("x", "y"))
    units, limit = all_units(problem, lines), transposed_tuning.LINE_UNITS // (1 + lines.paired)
    if lines.transposed.x_along_lines:
        return units if units <= limit else limit // STAGES
    batch = batch_items(x.itemsize, 1 + lines.paired) * y.itemsize // 16
    step = batch if units > batch else STEPS_TOGETHER
    return ceil_div(min(units, limit // STAGES), step) * step


def batch_items(itemsize: int, lanes: int) -> int:
    """Return the elements of each of its lines that a lane asks for at once (`batch_items` in C++)."""
    return min(128 // (lanes * itemsize), 32)


def warp_units(problem: Problem[Any], lines: Lines) -> int:
    """Return the 16-byte units of shared memory of a warp."""
    units = units_of_turn(problem, lines)
    stages = STAGES if lines.transposed.x_along_lines and all_units(problem, lines) > units else 1
    return stages * 32 * (1 + lines.paired) * (units | 1)


def kernel(x: str, y: str, lines: Lines) -> str:
    """Return the name expression."""
    return expression(x, y, lines.transposed.x_along_lines, lines.aligned, 1 + lines.paired)


def expression(x: str, y: str, x_along_lines: bool, aligned: bool, lanes: int) -> str:
    """Return the name expression for these template arguments; lanes: lines a lane."""
    return "gpubench::cumsum::transposed_lines" + template(x, y, x_along_lines, aligned, lanes)
