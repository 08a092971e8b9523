"""The host rule of cumsum/single_elements.cu: lines of one element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused
from gpubench.operators.constants import tuned
from gpubench.operators.cumsum import tuning
from gpubench.operators.cumsum.accuracy import bound
from gpubench.operators.cumsum.geometry import rows_of
from gpubench.operators.cumsum.rows import THREADS
from gpubench.operators.geometry.vectors import items_of, vector_items
from gpubench.operators.launch import template
from gpubench.operators.results import sum_dtype
from gpubench.operators.structs import int64


class SingleElements:
    """Lines of one element."""

    name: str = "single_elements"
    summary: str = "lines of one element: a copy that converts"
    origin: str = "the sum of one element is the element"
    source = "cumsum/single_elements.cu"

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch, a vector a thread; an element a thread where there are few."""
        del device
        rows = rows_of(problem)
        if rows is None or rows.length != 1 or not rows.contiguous:
            return Refused("takes only lines of one element, side by side")
        x, y = problem.operand("x").dtype, problem.operand("y").dtype
        items = vector_items(problem) if rows.rows >= tuned("FLAT_LEAST", tuning.FLAT_LEAST) else 1
        threads = -(-rows.rows // items)
        block = min(THREADS, 32 * -(-threads // 32))
        launch = Launch(
            self.source,
            kernel(x, y, items),
            (-(-threads // block), 1, 1),
            (block, 1, 1),
            (Pointer("x"), Pointer("y"), int64(rows.rows)),
        )
        return Plan(self.name, (launch,), bound(problem, 1), notes={"items": items})

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One instance for whole vectors, one for a few elements."""
        y = sum_dtype(dtype)
        return [(self.source, kernel(dtype, y, items)) for items in dict.fromkeys((1, items_of(dtype, y)))]


def kernel(x: str, y: str, items: int) -> str:
    """Return the name expression."""
    return "gpubench::cumsum::single_elements" + template(x, y, items)
