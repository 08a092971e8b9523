"""The variants after PyTorch's cumsum, with its dispatch."""

from __future__ import annotations

from typing import Any

from gpubench.model import Problem
from gpubench.operators.base import Variant
from gpubench.operators.choosing import Dispatch
from gpubench.operators.cumsum.pytorch.lookback import Lookback1D, Lookback1DDeterministic
from gpubench.operators.cumsum.pytorch.rows import SKLANSKY_FIXED, SKLANSKY_UNSIGNED, SerialColumns, SklanskyRows
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


AUTO_PYTORCH = Dispatch(
    "auto_pytorch",
    "dispatch: one dim -> lookback_1d; last dim -> sklansky_rows_unsigned; other -> serial_columns",
    "PyTorch's scan_dim; limits are those of the variant taken",
    (_LOOKBACK, SKLANSKY_UNSIGNED, _COLUMNS),
    dispatched,
)

PYTORCH_VARIANTS: tuple[Variant, ...] = (
    _COLUMNS,
    *SKLANSKY_FIXED,
    SKLANSKY_UNSIGNED,
    _ROWS,
    Lookback1DDeterministic(),
    _LOOKBACK,
    AUTO_PYTORCH,
)
