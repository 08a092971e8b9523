"""The variants after PyTorch's cumsum, with its dispatch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpubench.model import DeviceInfo, Plan, Problem, Refused
from gpubench.operators.base import Variant
from gpubench.operators.choosing import under_name
from gpubench.operators.cumsum.pytorch.lookback import Lookback1D, Lookback1DDeterministic
from gpubench.operators.cumsum.pytorch.rows import SKLANSKY_UNSIGNED, SerialColumns, SklanskyRows
from gpubench.operators.cumsum.pytorch.tensors import extent, is_last

_LOOKBACK = Lookback1D()
_ROWS = SklanskyRows()
_COLUMNS = SerialColumns()


def dispatched(problem: Problem[Any]) -> Variant:
    """Return the variant that the original's dispatch takes: all elements in the dim, the last dim, any other.

    Rows go to the unsigned rule, which is what the original runs.
    """
    found = extent(problem)
    if found.elements == found.length:
        return _LOOKBACK
    return SKLANSKY_UNSIGNED if is_last(problem) else _COLUMNS


@dataclass(eq=False, slots=True)
class AutoPytorch:
    """The dispatch between the variants above."""

    name: str = "auto_pytorch"
    summary: str = "dispatch: one dim -> lookback_1d; last dim -> sklansky_rows_unsigned; other -> serial_columns"
    origin: str = "PyTorch's scan_dim; limits are those of the variant taken"

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """Return the plan of the variant taken; `notes` names it."""
        taken = dispatched(problem)
        return under_name(self.name, taken.plan(problem, device), taken=taken.name)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """None of its own: it launches the kernels of the other variants."""
        del dtype
        return ()


PYTORCH_VARIANTS: tuple[Variant, ...] = (
    _COLUMNS,
    SKLANSKY_UNSIGNED,
    _ROWS,
    Lookback1DDeterministic(),
    _LOOKBACK,
    AutoPytorch(),
)
