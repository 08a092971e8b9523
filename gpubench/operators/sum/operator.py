"""The operator `sum`: params, problem, inputs, and where reference and numpy's own way are found."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from gpubench import dtypes
from gpubench.errors import ParameterError
from gpubench.layout import view
from gpubench.model import Accuracy, Case, DeviceInfo, Json, Operand, Plan, Problem, Refused
from gpubench.operators.base import Operator, Reference, Variant
from gpubench.operators.constants import Regime
from gpubench.operators.geometry.dims import split
from gpubench.operators.parameters import check_shape, count_dim, count_layout, layout_label, shape_label
from gpubench.operators.results import require_dtype, sum_dtype
from gpubench.operators.sizes import Size
from gpubench.operators.sum.auto import choose
from gpubench.operators.sum.params import SumParams
from gpubench.operators.sum.sizes import SIZES
from gpubench.operators.sum.tunable import REGIMES
from gpubench.operators.sum.variants import VARIANTS

if TYPE_CHECKING:
    from gpubench.operators.base import Array
    from gpubench.operators.drawing.numbers import Numbers
    from gpubench.operators.drawing.wishes import Wishes
    from gpubench.operators.hard import Hard


class SumOperator(Operator[SumParams]):
    """y = the sum of x over a set of dims. Integers add up in int64, wrapping; the sum of nothing is 0."""

    name: str = "sum"
    params: type[SumParams] = SumParams
    dtypes: tuple[str, ...] = dtypes.NAMES
    variants: tuple[Variant, ...] = VARIANTS
    operands: tuple[str, ...] = ("x", "y")
    sizes: Mapping[str, Size] = SIZES
    regimes: tuple[Regime, ...] = REGIMES

    def normalise(self, params: SumParams, dtype: str) -> SumParams:
        """Turn dim into the sorted tuple of dims counted from 0; ParameterError names the field at fault."""
        del dtype
        shape = check_shape("shape", params.shape)
        dims = _dims(params.dim, len(shape))
        return dataclasses.replace(params, shape=shape, dim=dims, layout=count_layout("layout", params.layout, shape))

    def label(self, params: SumParams, dtype: str) -> str:
        """Return the case id of normalised params; `dim=all` for every dim, `dim=none` for an empty list."""
        assert isinstance(params.dim, tuple)
        listed = ",".join(str(dim) for dim in params.dim) or "none"
        dims = "all" if len(params.dim) == len(params.shape) else listed
        parts = ["sum", shape_label(params.shape), f"dim={dims}"]
        if params.keepdim:
            parts.append("keepdim")
        if layout := layout_label(params.layout):
            parts.append(f"layout={layout}")
        return "/".join([*parts, dtype])

    def problem(self, case: Case) -> Problem[SumParams]:
        """Operands x and y. Fewest bytes: every different input element once, every output element once."""
        require_dtype(self.name, case.dtype, self.dtypes)
        params = self.normalise(self.parse(case.params), case.dtype)
        x = Operand("x", "in", case.dtype, view(params.shape, params.layout))
        y = Operand("y", "out", sum_dtype(case.dtype), view(_result_shape(params)))
        read = x.view.unique_elements * dtypes.dtype(x.dtype).itemsize
        return Problem(case, params, (x, y), read, y.view.size * dtypes.dtype(y.dtype).itemsize)

    def reference(self, problem: Problem[SumParams], inputs: Mapping[str, Array]) -> Reference:
        """Prepare the sums in higher precision."""
        from gpubench.operators.sum.reference import reference

        return reference(problem, inputs)

    def numpy(self, problem: Problem[SumParams], inputs: Mapping[str, Array]) -> Callable[[], Array]:
        """numpy.sum, with the accumulator's dtype for the 16-bit floats and the result cast back."""
        from gpubench.operators.sum.reference import contender

        return contender(problem, inputs)

    def hard(self, large: bool) -> Iterator[Hard]:
        """Yield the hard cases."""
        from gpubench.operators.sum import hard

        return hard.large() if large else hard.small()

    def choose(self, problem: Problem[SumParams], device: DeviceInfo) -> Plan | Refused:
        """Return the plan that `gpubench:auto` stands for."""
        return choose(problem, device)

    def draw(self, numbers: Numbers, wishes: Wishes, given: Mapping[str, Json]) -> Mapping[str, Json]:
        """Return random params."""
        from gpubench.operators.sum import drawn

        return drawn.draw(numbers, wishes, given)

    def accuracy(self, problem: Problem[Any]) -> Accuracy:
        """Return the bound for a contender whose order of additions is not known: one after the other."""
        terms = math.prod(split(problem.operand("x").view, problem.params.dim)[1][0])
        return Accuracy(max(terms, 1), dtypes.dtype(problem.operand("y").dtype).accumulator)


def _dims(dim: int | tuple[int, ...] | Literal["all"], dims: int) -> tuple[int, ...]:
    if dim == "all":
        return tuple(range(dims))
    wanted = (dim,) if isinstance(dim, int) else tuple(dim)
    counted = [count_dim("dim", number, dims) for number in wanted]
    if len(set(counted)) != len(counted):
        raise ParameterError("dim", f"{list(wanted)} names a dim twice")
    return tuple(sorted(counted)) if dims else ()


def _result_shape(params: SumParams) -> tuple[int, ...]:
    assert isinstance(params.dim, tuple)
    reduced = set(params.dim)
    if params.keepdim:
        return tuple(1 if dim in reduced else size for dim, size in enumerate(params.shape))
    return tuple(size for dim, size in enumerate(params.shape) if dim not in reduced)
