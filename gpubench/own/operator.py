"""An operator that a suite declares, in the shape of ours: a few facts stand for all that a package of ours says."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gpubench import dtypes
from gpubench.errors import CompileError, ParameterError, UsageError
from gpubench.layout import view
from gpubench.model import Accuracy, Case, DeviceInfo, Operand, Plan, Problem, Refused
from gpubench.operators.base import Operator, Reference, Variant
from gpubench.operators.hard import Hard
from gpubench.operators.results import require_dtype
from gpubench.operators.sizes import Size, values
from gpubench.own.code import named
from gpubench.own.definitions import OwnOperator
from gpubench.own.expression import ExpressionError, read

if TYPE_CHECKING:
    from gpubench.operators.base import Array

LARGEST = 2**40
_WHOLE_MAGNITUDE = Accuracy(2**53, "float64", "linear")
"""Makes the check's gamma 1, so that an element may differ by the magnitude that the reference gives beside it."""


class DeclaredOperator(Operator[Any]):
    """One operator of the user's own."""

    variants: tuple[Variant, ...] = ()

    def __init__(self, declared: OwnOperator, find: Callable[[], Callable[..., Any]] | None = None) -> None:
        """Take what a suite or a caller declares, checked. `find` returns the reference, when it is first wanted;
        without it the reference cannot be asked.
        """
        self.declared = declared
        self.name: str = declared.name
        self.dtypes: tuple[str, ...] = declared.dtypes
        self.operands: tuple[str, ...] = tuple(operand.name for operand in declared.operands)
        self.sizes: Mapping[str, Size] = {axis: Size("an axis of the case", _axis(axis)) for axis in declared.axes}
        self.params: type[Any] = dataclasses.make_dataclass(
            "Axes",
            [(axis, int) for axis in declared.axes],
            frozen=True,
            namespace={"__doc__": f"The axes of {self.name}."},
        )
        self._find = find
        self._what = "the reference " + (f"{declared.file}:" if declared.file else "") + declared.function

    def normalise(self, params: Any, dtype: str) -> Any:
        """Check the axes. ParameterError names the one at fault."""
        del dtype
        for axis in self.declared.axes:
            if not 0 <= getattr(params, axis) <= LARGEST:
                raise ParameterError(axis, f"found {getattr(params, axis)}; allowed is 0 to {LARGEST}")
        return params

    def label(self, params: Any, dtype: str) -> str:
        """Return the case id: `softmax_rows/rows=4096/cols=256/float32`."""
        return "/".join([self.name, *(f"{axis}={getattr(params, axis)}" for axis in self.declared.axes), dtype])

    def problem(self, case: Case) -> Problem[Any]:
        """Work out the operands. Fewest bytes: what is declared, or every operand once as its role says."""
        require_dtype(self.name, case.dtype, self.dtypes)
        params = self.normalise(self.parse(case.params), case.dtype)
        axes = dataclasses.asdict(params)
        operands = tuple(
            Operand(
                operand.name,
                operand.role,
                case.dtype if operand.dtype == "{dtype}" else operand.dtype,
                view(tuple(self._size(operand.name, size, axes) for size in operand.shape)),
            )
            for operand in self.declared.operands
        )
        plain = Problem(case, params, operands, 0, 0)
        read_bytes = self._bytes(plain, self.declared.reads, ("in", "inout"))
        return dataclasses.replace(
            plain, bytes_read=read_bytes, bytes_written=self._bytes(plain, self.declared.writes, ("out", "inout"))
        )

    def _size(self, operand: str, text: str, axes: Mapping[str, int]) -> int:
        try:
            size = read(text, axes).whole(axes)
        except ExpressionError as error:
            raise ParameterError(self.declared.axes[0], f"the shape of {operand}: {error}") from None
        if not 0 <= size <= LARGEST:
            raise ParameterError(self.declared.axes[0], f"the shape of {operand}: {text} is {size}")
        return size

    def _bytes(self, problem: Problem[Any], stated: str, roles: tuple[str, ...]) -> int:
        if stated:
            names = values(self.sizes, problem)
            try:
                return max(read(stated, names).whole(names), 0)
            except ExpressionError as error:
                raise ParameterError(self.declared.axes[0], str(error)) from None
        moved = (operand for operand in problem.operands if operand.role in roles)
        return sum(operand.view.size * dtypes.dtype(operand.dtype).itemsize for operand in moved)

    def reference(self, problem: Problem[Any], inputs: Mapping[str, Array]) -> Reference:
        """Work the right answer out by the declared function. CompileError when it fails or has another shape."""
        from gpubench.operators.precision import BlockReference, magnitude, narrow, wide

        output = next(operand for operand in problem.operands if operand.role != "in")
        given = {
            operand.name: wide(operand.view.of(inputs[operand.name]), operand.dtype)
            for operand in problem.operands
            if operand.role != "out"
        }
        flat = narrow(self._answer(problem, given, output)).reshape(-1)
        is_exact = dtypes.dtype(output.dtype).kind == "integer"
        stated = self.declared.tolerance
        rtol, atol = (part.get(output.dtype, 0.0) for part in (stated.rtol, stated.atol))

        def blocks() -> Iterator[tuple[slice, Array, Array | None]]:
            for start in range(0, flat.size, 1 << 20):
                part = flat[start : start + (1 << 20)]
                yield slice(start, start + part.size), part, None if is_exact else atol + rtol * magnitude(part)

        return BlockReference(blocks, flat.size)

    def _answer(self, problem: Problem[Any], given: Mapping[str, Array], output: Operand) -> Array:
        """Call the reference and hold what it returns against the output. CompileError."""
        import numpy

        what, answer = self._what, self._called(given, problem)
        try:
            array: Array = numpy.asarray(answer)
        except (TypeError, ValueError) as error:
            raise CompileError(f"{what} returned no array but {type(answer).__name__}") from error
        if array.shape != output.view.shape:
            raise CompileError(
                f"{what} returned shape {list(array.shape)}, and {output.name} has {list(output.view.shape)}"
            )
        kinds = {"integer": "iu", "float": "iuf", "complex": "iufc"}[dtypes.dtype(output.dtype).kind]
        if array.dtype.kind not in kinds + "b":
            raise CompileError(f"{what} returned {array.dtype}, and {output.name} is {output.dtype}")
        return array

    def _called(self, given: Mapping[str, Array], problem: Problem[Any]) -> Any:
        import numpy

        if self._find is None:
            raise UsageError(f"{self._what} was not brought here: its suite was only read.")
        function = self._find()
        try:
            with numpy.errstate(all="ignore"):
                return function(*given.values(), **named(function, dataclasses.asdict(problem.params)))
        except Exception as error:  # it is the user's code
            raise CompileError(f"{self._what} failed: {type(error).__name__}: {error}") from error

    def numpy(self, problem: Problem[Any], inputs: Mapping[str, Array]) -> Callable[[], Array]:
        """Return the reference on arrays of the case's own dtype (float32 for 16-bit floats), for its wall time."""
        output = next(operand for operand in problem.operands if operand.role != "in")
        given = {}
        for operand in problem.operands:
            if operand.role != "out":
                array = operand.view.of(inputs[operand.name])
                given[operand.name] = array.astype("float32") if operand.dtype in ("float16", "bfloat16") else array
        return lambda: self._answer(problem, given, output)

    def hard(self, large: bool) -> Iterator[Hard]:
        """Yield nothing: its cases are those of its suite."""
        del large
        return iter(())

    def choose(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """Refuse: gpubench has no kernel of it."""
        del problem, device
        return Refused(f"gpubench has no kernel of {self.name}; a suite brings them, as own:NAME")

    def accuracy(self, problem: Problem[Any]) -> Accuracy:
        """Return the bound that lets an element differ by what the tolerance allows, and one rounding."""
        del problem
        return _WHOLE_MAGNITUDE


def _axis(name: str) -> Callable[[Problem[Any]], int]:
    return lambda problem: int(getattr(problem.params, name))
