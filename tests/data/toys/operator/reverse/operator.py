"""The operator `reverse`: y[i] = x[n - 1 - i]."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpubench.operators.reverse.naive import Naive

from gpubench import dtypes
from gpubench.layout import view
from gpubench.model import Accuracy, Case, Operand, Problem
from gpubench.operators.base import Operator, Reference, Variant
from gpubench.operators.hard import Hard
from gpubench.operators.parameters import check_shape
from gpubench.operators.results import require_dtype

if TYPE_CHECKING:
    from gpubench.operators.base import Array


@dataclass(frozen=True, slots=True)
class ReverseParams:
    """length: of x and y."""

    length: int


class ReverseOperator(Operator[ReverseParams]):
    """The elements of a line from the last to the first."""

    name: str = "reverse"
    params: type[ReverseParams] = ReverseParams
    dtypes: tuple[str, ...] = ("float32", "int16")
    variants: tuple[Variant, ...] = (Naive(),)

    def normalise(self, params: ReverseParams, dtype: str) -> ReverseParams:
        """Check the length."""
        del dtype
        check_shape("length", (params.length,))
        return params

    def label(self, params: ReverseParams, dtype: str) -> str:
        """Return the case id."""
        return f"reverse/{params.length}/{dtype}"

    def problem(self, case: Case) -> Problem[ReverseParams]:
        """Operands x and y; each element read and written once."""
        require_dtype(self.name, case.dtype, self.dtypes)
        params = self.parse(case.params)
        x, y = (Operand(name, role, case.dtype, view((params.length,))) for name, role in (("x", "in"), ("y", "out")))
        size = params.length * dtypes.dtype(case.dtype).itemsize
        return Problem(case, params, (x, y), size, size)

    def reference(self, problem: Problem[ReverseParams], inputs: Mapping[str, Array]) -> Reference:
        """Prepare the elements themselves, which are exact."""
        import numpy as np

        from gpubench.operators.precision import BlockReference

        wide = inputs["x"][::-1].astype(np.int64 if problem.case.dtype == "int16" else np.float64)
        return BlockReference(lambda: iter([(slice(0, wide.size), wide, None)]), wide.size)

    def numpy(self, problem: Problem[ReverseParams], inputs: Mapping[str, Array]) -> Callable[[], Array]:
        """Return what copies the reversed view."""
        del problem
        return inputs["x"][::-1].copy

    def accuracy(self, problem: Problem[Any]) -> Accuracy:
        """Return that nothing is rounded."""
        return Accuracy(0, problem.case.dtype)

    def hard(self, large: bool) -> Iterator[Hard]:
        """Yield lengths about a warp, a block and more; none."""
        for length in (1000, 0, 1, 31, 32, 33, 255, 256, 257, 1009, *((70_001,) if large else ())):
            yield Hard({"length": length})
