"""What an operator and a variant are. Each operator is a package beside this file; `OPERATORS` lists them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from gpubench.model import Accuracy, Case, DeviceInfo, Distribution, Json, Plan, Problem, Refused
from gpubench.operators.choosing import first_plan
from gpubench.operators.constants import Regime
from gpubench.operators.parameters import from_json
from gpubench.operators.sizes import Size
from gpubench.operators.variant import Variant as Variant

if TYPE_CHECKING:
    import numpy as np

    from gpubench.operators.drawing.numbers import Numbers
    from gpubench.operators.drawing.wishes import Wishes

    Array = np.ndarray[Any, np.dtype[Any]]

P = TypeVar("P")


class Reference(Protocol):
    """The right answer, worked out in higher precision, block by block so that huge outputs need little memory."""

    def blocks(self) -> Iterator[tuple[slice, Array, Array | None]]:
        """Yield (slice of the flattened output in row-major order, value, magnitude).

        value: float64 or complex128, or int64 for integers (then exact, wrapped to the output dtype). magnitude: the
        sum of |terms| behind each output (S of the tolerance formula), None for exact outputs.
        """
        ...


class Hard(NamedTuple):
    """The params of a case as a suite would write them, and the distribution of its inputs.

    `with_nonfinite` has NaN and infinity among floats, the largest and smallest numbers among integers.
    """

    params: Mapping[str, Json]
    distribution: Distribution = "normal"


class Operator(Protocol[P]):
    """The mathematics of one operator, with no device in it. What most operators do alike stands here."""

    name: str
    params: type[P]
    """A frozen dataclass; its annotated fields are the keys that a suite may write for this operator."""
    dtypes: tuple[str, ...]
    """The values of a case's `dtype` that the operator takes; all others are `unsupported`."""
    variants: tuple[Variant, ...]
    """From naive to best. `auto` is not one of them: it is `choose`."""
    operands: tuple[str, ...] = ()
    """The names that its operands may have."""
    sizes: Mapping[str, Size] = MappingProxyType({})
    """What an expression of a suite may name, beside `operators.sizes.GENERAL` and the operands' own."""
    words: tuple[str, ...] = ()
    """Words that such a name may stand for, dtypes left out."""
    regimes: tuple[Regime, ...] = ()
    """Where constants of its rules may be tuned; a problem belongs to the first that holds."""

    def normalise(self, params: P, dtype: str) -> P:
        """Count dims from 0, fill in defaults that depend on others. errors.ParameterError names the field at fault."""
        ...

    def label(self, params: P, dtype: str) -> str:
        """Return the case id of normalised params, without distribution and seed: `cumsum/4096x4096/dim=1/float32`."""
        ...

    def parse(self, params: Mapping[str, Json]) -> P:
        """Turn the plain JSON of `Case.params` into the dataclass (the inverse of `to_json`)."""
        return from_json(self.params, params)

    def problem(self, case: Case) -> Problem[P]:
        """Work out operands and fewest bytes. UnsupportedError for a dtype or combination that has no meaning."""
        ...

    def inputs(self, problem: Problem[P]) -> dict[str, Array]:
        """Make the one-dimensional storage arrays of all `in` and `inout` operands: the same on every machine."""
        from gpubench.operators.inputs import operand_storage

        given = [operand for operand in problem.operands if operand.role != "out"]
        return {operand.name: operand_storage(operand, problem.case, stream) for stream, operand in enumerate(given)}

    def reference(self, problem: Problem[P], inputs: Mapping[str, Array]) -> Reference:
        """Prepare the right answer for these inputs. ValueError for inputs that are an error (index out of range)."""
        ...

    def numpy(self, problem: Problem[P], inputs: Mapping[str, Array]) -> Callable[[], Array]:
        """Return numpy's ordinary way to do the work, for its wall time; each call returns the logical output."""
        ...

    def hard(self, large: bool) -> Iterator[Hard]:
        """Yield cases that variants are held to: few and small ones for the simulator, or many `large` ones for a GPU.

        The first is a plain one. Those without a meaning for a dtype are left out there.
        """
        ...

    def draw(self, numbers: Numbers, wishes: Wishes, given: Mapping[str, Json]) -> Mapping[str, Json] | None:
        """Return random params as a suite would write them, with those that are given; None: there is no drawing them.

        The same numbers give the same params for good: `drawing.numbers.GENERATOR` counts the changes. Params that turn
        out to have no meaning (for the dtype, say) are passed over by who asks.
        """
        del numbers, wishes, given
        return None

    def choose(self, problem: Problem[P], device: DeviceInfo) -> Plan | Refused:
        """Return the plan that `gpubench:auto` stands for: of the last variant, the best, that takes the problem.

        A refusal when none does.
        """
        return first_plan(reversed(self.variants), problem, device)

    def accuracy(self, problem: Problem[P]) -> Accuracy:
        """Return the bound for a contender that states none of its own (numpy, a peer): sums one after the other."""
        ...
