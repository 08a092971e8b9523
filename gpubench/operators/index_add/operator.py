"""The operator `index_add`: params, problem, inputs, and where reference and numpy's own way are found."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gpubench import dtypes
from gpubench.errors import ParameterError
from gpubench.layout import view
from gpubench.model import Accuracy, Case, DeviceInfo, Json, Operand, Plan, Problem, Refused
from gpubench.operators.base import Operator, Reference, Variant
from gpubench.operators.constants import Regime
from gpubench.operators.index_add import given
from gpubench.operators.index_add.accuracy import atomic_accuracy
from gpubench.operators.index_add.auto import choose
from gpubench.operators.index_add.indices import distinct_places, draw, is_exact
from gpubench.operators.index_add.params import Below, Duplicates, FromFile, IndexAddParams, IndexFile, OutOfRange
from gpubench.operators.index_add.rows import row_bytes
from gpubench.operators.index_add.sizes import SIZES
from gpubench.operators.index_add.tunable import REGIMES
from gpubench.operators.index_add.variants import VARIANTS
from gpubench.operators.parameters import (
    check_shape,
    count_dim,
    count_layout,
    layout_label,
    number_label,
    shape_label,
)
from gpubench.operators.results import require_dtype
from gpubench.operators.sectors import operand_bytes
from gpubench.operators.sizes import Size

if TYPE_CHECKING:
    from gpubench.operators.base import Array
    from gpubench.operators.drawing.numbers import Numbers
    from gpubench.operators.drawing.wishes import Wishes
    from gpubench.operators.hard import Hard


class IndexAddOperator(Operator[IndexAddParams]):
    """destination[..., index[i], ...] += alpha * source[..., i, ...], in place; duplicates add up, integers wrap.

    A scalar destination counts as one place. alpha is rounded to the dtype's accumulator. An index outside the dim is
    an error of the case, which `reference` raises before anything is launched.
    """

    name: str = "index_add"
    params: type[IndexAddParams] = IndexAddParams
    dtypes: tuple[str, ...] = dtypes.NAMES
    variants: tuple[Variant, ...] = VARIANTS
    operands: tuple[str, ...] = ("destination", "index", "source")
    sizes: Mapping[str, Size] = SIZES
    regimes: tuple[Regime, ...] = REGIMES

    def normalise(self, params: IndexAddParams, dtype: str) -> IndexAddParams:
        """Count dims from 0 and check the pattern; ParameterError names the field at fault."""
        shape = check_shape("shape", params.shape)
        dim = count_dim("dim", params.dim, len(shape))
        if isinstance(params.indices, IndexFile):
            params = _with_facts(params, params.indices.file, shape[dim] if shape else 1)
        _check_pattern(params, shape[dim] if shape else 1)
        if not math.isfinite(params.alpha):
            raise ParameterError("alpha", f"must be finite, found {params.alpha}")
        whole = float(params.alpha).is_integer() and abs(params.alpha) < 2**53
        if dtypes.dtype(dtype).kind == "integer" and not whole:
            raise ParameterError("alpha", f"must be a whole number for {dtype}, found {params.alpha}")
        layout = count_layout("layout", params.layout, shape)
        if any(size > 1 and stride == 0 for size, stride in _dims(view(shape, layout))):
            raise ParameterError("layout", "a destination cannot be broadcast: its elements would overlap")
        source = count_layout("source_layout", params.source_layout, _source_shape(shape, dim, params.count))
        return dataclasses.replace(
            params, shape=shape, dim=dim, alpha=float(params.alpha), layout=layout, source_layout=source
        )

    def label(self, params: IndexAddParams, dtype: str) -> str:
        """Return the case id of normalised params."""
        parts = ["index_add", shape_label(params.shape), f"dim={params.dim}", f"n={params.count}"]
        parts.append(_pattern_label(params))
        if params.index_dtype != "int64":
            parts.append(f"index={params.index_dtype}")
        if params.alpha != 1:
            parts.append(f"alpha={number_label(params.alpha)}")
        if layout := layout_label(params.layout):
            parts.append(f"layout={layout}")
        if source := layout_label(params.source_layout):
            parts.append(f"source={source}")
        return "/".join([*parts, dtype])

    def problem(self, case: Case) -> Problem[IndexAddParams]:
        """Operands destination, index, source. Fewest bytes: each index and each different source element once, and the
        destination's places that are named, read and written. How many those are follows from the pattern alone (the
        expected number), so that it needs no inputs.
        """
        require_dtype(self.name, case.dtype, self.dtypes)
        params = self.normalise(self.parse(case.params), case.dtype)
        destination = Operand("destination", "inout", case.dtype, view(params.shape, params.layout))
        index = Operand("index", "in", params.index_dtype, view((params.count,)))
        source_shape = _source_shape(params.shape, params.dim, params.count)
        source = Operand("source", "in", case.dtype, view(source_shape, params.source_layout))
        operands = (destination, index, source)
        if source.view.size == 0:
            return Problem(case, params, operands, 0, 0)
        places = params.shape[params.dim] if params.shape else 1
        width = destination.view.size // places
        item = dtypes.dtype(case.dtype).itemsize
        rows = distinct_places(params.pattern, places, params.count)
        written = rows * width * item
        added = source.view.unique_elements * item
        indices = params.count * dtypes.dtype(params.index_dtype).itemsize
        touched = row_bytes(params, destination, rows)
        read = operand_bytes(index) + operand_bytes(source) + touched
        assumed = {} if is_exact(params.pattern) else {"distinct_rows": rows}
        return Problem(case, params, operands, indices + added + written, written, (read, touched), assumed)

    def inputs(self, problem: Problem[IndexAddParams]) -> dict[str, Array]:
        """Make the storage of destination, index and source."""
        from gpubench.operators.inputs import operand_storage

        params, case = problem.params, problem.case
        places = params.shape[params.dim] if params.shape else 1
        indices = draw(params.pattern, places, params.count, case.seed, 1)
        return {
            "destination": operand_storage(problem.operand("destination"), case, 0),
            "index": indices.astype(dtypes.dtype(params.index_dtype).numpy, copy=False),
            "source": operand_storage(problem.operand("source"), case, 2),
        }

    def reference(self, problem: Problem[IndexAddParams], inputs: Mapping[str, Array]) -> Reference:
        """Prepare the sums in higher precision. ValueError for an index outside the dim."""
        from gpubench.operators.index_add.reference import reference

        return reference(problem, inputs)

    def numpy(self, problem: Problem[IndexAddParams], inputs: Mapping[str, Array]) -> Callable[[], Array]:
        """numpy.add.at on a copy of the destination; the copy is part of the call, for it must not add up."""
        from gpubench.operators.index_add.reference import contender

        return contender(problem, inputs)

    def hard(self, large: bool) -> Iterator[Hard]:
        """Yield the hard cases."""
        from gpubench.operators.index_add import hard

        return hard.large() if large else hard.small()

    def draw(self, numbers: Numbers, wishes: Wishes, given: Mapping[str, Json]) -> Mapping[str, Json]:
        """Return random params."""
        from gpubench.operators.index_add import drawn

        return drawn.draw(numbers, wishes, given)

    def choose(self, problem: Problem[IndexAddParams], device: DeviceInfo) -> Plan | Refused:
        """Return the plan that `gpubench:auto` stands for."""
        return choose(problem, device)

    def accuracy(self, problem: Problem[Any]) -> Accuracy:
        """Return the bound for a contender whose order of additions is not known: each rounded to the dtype."""
        return atomic_accuracy(problem)


def _dims(view_: Any) -> list[tuple[int, int]]:
    return list(zip(view_.shape, view_.strides, strict=True))


def _source_shape(shape: tuple[int, ...], dim: int, indices: int) -> tuple[int, ...]:
    return (*shape[:dim], indices, *shape[dim + 1 :])


def _with_facts(params: IndexAddParams, file: str, places: int) -> IndexAddParams:
    """Return params with the number of indices in the file, and as their pattern which file it is."""
    if params.pattern != "uniform":
        raise ParameterError("pattern", "has no meaning beside indices from a file")
    facts = given.facts_of(file)
    for index in (facts.least, facts.largest):
        if facts.count and not 0 <= index < places:
            raise ParameterError("indices.file", f"{file} has the index {index}; allowed are 0 to {places - 1}")
    return dataclasses.replace(
        params, indices=facts.count, pattern=FromFile(file, facts.sha256, facts.distinct, facts.most)
    )


def _check_pattern(params: IndexAddParams, places: int) -> None:
    """Refuse patterns that name places which do not exist."""
    pattern, indices = params.pattern, params.count
    if indices < 0:
        raise ParameterError("indices", f"must be at least 0, found {indices}")
    if indices > 0 and places == 0:
        raise ParameterError("indices", f"{indices} indices, but the dim has size 0")
    if params.index_dtype == "int32" and places > 2**31 - 1:
        raise ParameterError("index_dtype", f"int32 cannot name all {places} places")
    if isinstance(pattern, Below) and not 1 <= pattern.below <= max(places, 1):
        raise ParameterError("pattern.below", f"must be 1 to {places}, found {pattern.below}")
    if isinstance(pattern, OutOfRange) and not 1 <= pattern.out_of_range <= indices:
        raise ParameterError("pattern.out_of_range", f"must be 1 to {indices}, found {pattern.out_of_range}")
    if isinstance(pattern, Duplicates):
        if pattern.duplicates < 1:
            raise ParameterError("pattern.duplicates", f"must be at least 1, found {pattern.duplicates}")
        if -(-indices // pattern.duplicates) > places:
            raise ParameterError(
                "pattern.duplicates",
                f"{indices} indices, {pattern.duplicates} a place, need more than the {places} places there are",
            )


def _pattern_label(params: IndexAddParams) -> str:
    pattern = params.pattern
    if isinstance(pattern, str):
        return pattern
    if isinstance(pattern, FromFile):
        return f"file={pattern.file}@{pattern.sha256[:8]}"
    ((name, count),) = dataclasses.asdict(pattern).items()
    return f"{name}={count}"
