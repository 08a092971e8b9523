"""The operator `cumsum`: params, problem, inputs, and where reference and numpy's own way are found."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gpubench import dtypes
from gpubench.layout import view
from gpubench.model import Accuracy, Case, DeviceInfo, Json, Operand, Plan, Problem, Refused
from gpubench.operators.base import Operator, Reference, Variant
from gpubench.operators.constants import Regime
from gpubench.operators.cumsum.accuracy import bound
from gpubench.operators.cumsum.auto import choose
from gpubench.operators.cumsum.params import CumsumParams
from gpubench.operators.cumsum.sizes import SIZES
from gpubench.operators.cumsum.tunable import REGIMES
from gpubench.operators.cumsum.variants import VARIANTS
from gpubench.operators.parameters import check_shape, count_dim, count_layout, layout_label, shape_label
from gpubench.operators.results import require_dtype, sum_dtype
from gpubench.operators.sizes import Size

if TYPE_CHECKING:
    from gpubench.operators.base import Array
    from gpubench.operators.drawing.numbers import Numbers
    from gpubench.operators.drawing.wishes import Wishes
    from gpubench.operators.hard import Hard


class CumsumOperator(Operator[CumsumParams]):
    """y[..., i, ...] = x[..., 0, ...] + ... + x[..., i, ...] along one dim. Integers add up in int64, wrapping."""

    name: str = "cumsum"
    params: type[CumsumParams] = CumsumParams
    dtypes: tuple[str, ...] = dtypes.NAMES
    variants: tuple[Variant, ...] = VARIANTS
    operands: tuple[str, ...] = ("x", "y")
    sizes: Mapping[str, Size] = SIZES
    regimes: tuple[Regime, ...] = REGIMES

    def normalise(self, params: CumsumParams, dtype: str) -> CumsumParams:
        """Count dims from 0; ParameterError names the field at fault."""
        del dtype
        shape = check_shape("shape", params.shape)
        dim = count_dim("dim", params.dim, len(shape))
        return dataclasses.replace(params, shape=shape, dim=dim, layout=count_layout("layout", params.layout, shape))

    def label(self, params: CumsumParams, dtype: str) -> str:
        """Return the case id of normalised params."""
        parts = ["cumsum", shape_label(params.shape), f"dim={params.dim}"]
        layout = layout_label(params.layout)
        return "/".join([*parts, *([f"layout={layout}"] if layout else []), dtype])

    def problem(self, case: Case) -> Problem[CumsumParams]:
        """Operands x and y. Fewest bytes: every different input element once, every output element once."""
        require_dtype(self.name, case.dtype, self.dtypes)
        params = self.normalise(self.parse(case.params), case.dtype)
        x = Operand("x", "in", case.dtype, view(params.shape, params.layout))
        y = Operand("y", "out", sum_dtype(case.dtype), view(params.shape))
        read = x.view.unique_elements * dtypes.dtype(x.dtype).itemsize
        return Problem(case, params, (x, y), read, y.view.size * dtypes.dtype(y.dtype).itemsize)

    def reference(self, problem: Problem[CumsumParams], inputs: Mapping[str, Array]) -> Reference:
        """Prepare the running sums in higher precision."""
        from gpubench.operators.cumsum.reference import reference

        return reference(problem, inputs)

    def numpy(self, problem: Problem[CumsumParams], inputs: Mapping[str, Array]) -> Callable[[], Array]:
        """numpy.cumsum, with the accumulator's dtype for the 16-bit floats and the result cast back."""
        from gpubench.operators.cumsum.reference import contender

        return contender(problem, inputs)

    def hard(self, large: bool) -> Iterator[Hard]:
        """Yield the hard cases."""
        from gpubench.operators.cumsum import hard

        return hard.large() if large else hard.small()

    def choose(self, problem: Problem[CumsumParams], device: DeviceInfo) -> Plan | Refused:
        """Return the plan of the variant that `gpubench:auto` stands for."""
        return choose(problem, device)

    def draw(self, numbers: Numbers, wishes: Wishes, given: Mapping[str, Json]) -> Mapping[str, Json]:
        """Return random params."""
        from gpubench.operators.cumsum import drawn

        return drawn.draw(numbers, wishes, given)

    def accuracy(self, problem: Problem[Any]) -> Accuracy:
        """Return the bound for a contender whose order of additions is not known: one after the other."""
        return bound(problem)
