"""The operator `elementwise`: params, problem, inputs, and where reference and numpy's own way are found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from gpubench import dtypes
from gpubench.errors import UnsupportedError
from gpubench.layout import Layout, View, view
from gpubench.model import Accuracy, Case, DeviceInfo, Json, Operand, Plan, Problem, Refused
from gpubench.operators.base import Operator, Reference, Variant
from gpubench.operators.constants import Regime
from gpubench.operators.elementwise.auto import choose
from gpubench.operators.elementwise.functions import FUNCTIONS
from gpubench.operators.elementwise.naive import broadcast_strides
from gpubench.operators.elementwise.normal import broadcast, normalise
from gpubench.operators.elementwise.params import ElementwiseParams, OperandSpec
from gpubench.operators.elementwise.promotion import accuracy, natural_dtype, operand_dtypes, result_dtype, work_dtype
from gpubench.operators.elementwise.pytorch.iterator import sorted_dims
from gpubench.operators.elementwise.sizes import SIZES
from gpubench.operators.elementwise.tunable import REGIMES
from gpubench.operators.elementwise.variants import VARIANTS
from gpubench.operators.parameters import layout_label, number_label, shape_label
from gpubench.operators.results import require_dtype
from gpubench.operators.sizes import Size

if TYPE_CHECKING:
    from gpubench.operators.base import Array
    from gpubench.operators.drawing.numbers import Numbers
    from gpubench.operators.drawing.wishes import Wishes
    from gpubench.operators.hard import Hard
    from gpubench.operators.inputs import Domain

NAMES = ("a", "b", "c")
"""The operands, in the order of the function's arguments; the output is `y`."""


class ElementwiseOperator(Operator[ElementwiseParams]):
    """y = function(a, b, c), shapes broadcast as numpy does.

    Operands are converted to the dtype that they promote to (`dtypes.promote`; float32 stands in for the 16-bit
    floats), the function works in it, and the result is converted once to the output's dtype.
    """

    name: str = "elementwise"
    params: type[ElementwiseParams] = ElementwiseParams
    dtypes: tuple[str, ...] = dtypes.NAMES
    variants: tuple[Variant, ...] = VARIANTS
    operands: tuple[str, ...] = (*NAMES, "y")
    sizes: Mapping[str, Size] = SIZES
    regimes: tuple[Regime, ...] = REGIMES
    words: tuple[str, ...] = tuple(FUNCTIONS)

    def normalise(self, params: ElementwiseParams, dtype: str) -> ElementwiseParams:
        """Spell out `inputs` and scalars; ParameterError names the field at fault."""
        return normalise(params, dtype)

    def label(self, params: ElementwiseParams, dtype: str) -> str:
        """Return the case id of normalised params. Equal operands are written once."""
        specs = [_spec_label(spec) for spec in params.inputs]
        parts = ["elementwise", params.function, specs[0] if len(set(specs)) == 1 else ",".join(specs)]
        if params.out_dtype is not None:
            parts.append(f"out={params.out_dtype}")
        if params.out_layout != "contiguous":
            parts.append(f"out_layout={params.out_layout}")
        defaults = FUNCTIONS[params.function].scalars
        changed = [(name, params.scalars.get(name, default), default) for name, default in defaults.items()]
        parts += [f"{name}={number_label(value)}" for name, value, default in changed if value != default]
        return "/".join([*parts, dtype])

    def problem(self, case: Case) -> Problem[ElementwiseParams]:
        """Operands a, b, c (as many as there are) and y. Fewest bytes: every different element of an operand once."""
        require_dtype(self.name, case.dtype, self.dtypes)
        params = self.normalise(self.parse(case.params), case.dtype)
        function = FUNCTIONS[params.function]
        work = work_dtype(params, case.dtype)
        if dtypes.dtype(work).kind not in function.kinds:
            raise UnsupportedError(f"{params.function} does not take {work}; it takes {' and '.join(function.kinds)}.")
        result = result_dtype(params, case.dtype)
        natural = natural_dtype(params, case.dtype)
        if dtypes.dtype(natural).kind == "complex" and dtypes.dtype(result).kind != "complex":
            raise UnsupportedError(f"A complex result cannot be cast to {result}: take its parts or abs instead.")
        names = zip(NAMES, operand_dtypes(params, case.dtype), params.inputs, strict=False)
        inputs = [Operand(name, "in", dtype, view(spec.shape, spec.layout)) for name, dtype, spec in names]
        y = Operand("y", "out", result, _result_view(params, inputs))
        read = (
            sum(operand.view.unique_elements * dtypes.dtype(operand.dtype).itemsize for operand in inputs)
            if y.view.size
            else 0
        )
        return Problem(case, params, (*inputs, y), read, y.view.size * dtypes.dtype(result).itemsize)

    def inputs(self, problem: Problem[ElementwiseParams]) -> dict[str, Array]:
        """Make the operands' storage, within the function's domain (log and sqrt: positive; div: divisors not zero;
        pow: base positive, whole exponents 0 to 3; where: a mask of 0 and 1). A uint8 result of other dtypes takes
        positive inputs, so that the cast is defined.
        """
        from gpubench.operators.inputs import operand_storage

        *operands, y = problem.operands
        domains = FUNCTIONS[problem.params.function].domains
        unsigned = y.dtype == "uint8"
        arrays = {}
        for stream, (operand, domain) in enumerate(zip(operands, domains, strict=False)):
            wanted = "positive" if unsigned and domain == "any" and operand.dtype != "uint8" else domain
            arrays[operand.name] = operand_storage(operand, problem.case, stream, cast("Domain", wanted))
        return arrays

    def reference(self, problem: Problem[ElementwiseParams], inputs: Mapping[str, Array]) -> Reference:
        """Prepare the results in higher precision."""
        from gpubench.operators.elementwise.reference import reference

        return reference(problem, inputs)

    def numpy(self, problem: Problem[ElementwiseParams], inputs: Mapping[str, Array]) -> Callable[[], Array]:
        """Return the numpy function, in float32 for the 16-bit floats, the result cast."""
        from gpubench.operators.elementwise.reference import contender

        return contender(problem, inputs)

    def hard(self, large: bool) -> Iterator[Hard]:
        """Yield the hard cases."""
        from gpubench.operators.elementwise import hard

        return hard.large() if large else hard.small()

    def draw(self, numbers: Numbers, wishes: Wishes, given: Mapping[str, Json]) -> Mapping[str, Json]:
        """Return random params."""
        from gpubench.operators.elementwise import drawn

        return drawn.draw(numbers, wishes, given)

    def choose(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """Return the plan of the rule in `auto`."""
        return choose(problem, device)

    def accuracy(self, problem: Problem[Any]) -> Accuracy:
        """Return the bound for every contender: the function's own."""
        return accuracy(problem.params, problem.case.dtype)


def _result_view(params: ElementwiseParams, inputs: list[Operand]) -> View:
    """Return y's view: without gaps, in row-major order or in the order in which the operands' dims lie in memory.

    The latter by the rule of PyTorch's TensorIterator for a result that it allocates.
    """
    shape = broadcast(params.inputs)
    if params.out_layout == "contiguous" or 0 in shape:
        return view(shape)
    strides = [
        [step * dtypes.dtype(operand.dtype).itemsize for step in broadcast_strides(operand, shape)]
        for operand in inputs
    ]
    return view(shape, Layout(permute=tuple(reversed(sorted_dims(shape, strides)))))


def _spec_label(spec: OperandSpec) -> str:
    layout = layout_label(spec.layout)
    parts = [shape_label(spec.shape), *([spec.dtype] if spec.dtype else []), *([layout] if layout else [])]
    return ":".join(parts)
