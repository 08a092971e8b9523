"""An index_add as the fast kernels see it: rows of neighbours, chosen by the indices, perhaps several lists of them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Plan, Problem, Refused
from gpubench.operators.index_add.strides import strides_of

LIMIT = 2**31 - 1
MOST_OUTERS = 65535
"""Repetitions that the second number of a grid counts."""


@dataclass(frozen=True, slots=True)
class Form:
    """`outers` times the same list: `count` source rows of `inner` neighbours come to `places` rows. Steps in elements.

    vector: elements of 16 bytes where every row of both begins and ends on such a grid, else 1. item_place, item_index:
    from an element of a row to the next; only `across` gives others than 1. anywhere: vectors of 16 bytes of the
    destination, in which rows begin and end; only `in_vectors_anywhere` gives that.
    """

    places: int
    count: int
    inner: int
    outers: int
    place_step: int
    index_step: int
    outer_place: int
    outer_index: int
    vector: int
    itemsize: int
    item_place: int = 1
    item_index: int = 1
    anywhere: bool = False

    @property
    def vectors(self) -> int:
        """Vectors of a row, the most where it may begin anywhere."""
        return (self.inner + 2 * self.vector - 2) // self.vector if self.anywhere else self.inner // self.vector

    def in_vectors_anywhere(self) -> Form | None:
        """Return the same in vectors that rows cut, unless what lies between rows of the destination is not theirs."""
        beside = self.item_place == self.item_index == 1 and self.is_dense
        together = self.outers == 1 or self.outer_place == self.places * self.inner
        vector = 16 // self.itemsize
        counted = fits(self.inner + 2 * vector)
        long = self.inner >= 2 * vector and (self.count == 1 or self.index_step >= self.inner)
        if self.vector > 1 or vector == 1 or not (beside and together and counted and long):
            return None
        return dataclasses.replace(self, vector=vector, anywhere=True)

    @property
    def is_denser_across(self) -> bool:
        """Say whether repetitions lie closer together than rows do, in both operands."""
        return self.outer_place < self.place_step and self.outer_index < self.index_step

    @property
    def is_turned(self) -> bool:
        """Say whether, in one operand alone, repetitions of single elements lie closer together than these do."""
        across = self.outer_place < self.place_step, self.outer_index < self.index_step
        return self.inner == 1 and self.outers > 1 and across[0] != across[1]

    def across(self) -> Form:
        """Return repetitions of single elements as rows whose elements lie apart."""
        return dataclasses.replace(
            self, inner=self.outers, outers=1, outer_place=0, outer_index=0, vector=1,
            item_place=self.outer_place, item_index=self.outer_index,
        )  # fmt: skip

    @property
    def is_single(self) -> bool:
        """Say whether single elements without gaps are added to such, one list of them."""
        return (self.inner, self.outers, self.place_step, self.index_step) == (1, 1, 1, 1)

    @property
    def is_dense(self) -> bool:
        """Say whether no gaps lie between the rows of the destination."""
        return self.places == 1 or self.place_step == self.inner

    @property
    def row_bytes(self) -> int:
        """Bytes of a row."""
        return self.inner * self.itemsize

    @property
    def added(self) -> int:
        """Bytes of the source."""
        return self.row_bytes * self.count * self.outers

    @property
    def reached(self) -> int:
        """Bytes of the destination."""
        return self.row_bytes * self.places * self.outers


def form_of(problem: Problem[Any]) -> Form | Refused:
    """Return the problem's form, or why it has none that the fast kernels take."""
    destination, _, source = problem.operands
    if source.view.size == 0:
        return Refused("there is nothing to add")
    strides = strides_of(problem)
    inner, dims = 1, strides.dims
    if dims and dims[0].steps == (1, 1):
        inner, dims = dims[0].size, dims[1:]
    if len(dims) > 1:
        return Refused("dims beside the indexed one do not merge")
    outers, (outer_place, outer_index) = dims[0] if dims else (1, (0, 0))
    place_step, index_step = strides.place_step, strides.index_step
    itemsize = dtypes.dtype(destination.dtype).itemsize
    steps = (inner, place_step, index_step, outer_place, outer_index, destination.view.offset, source.view.offset)
    vector = 16 // itemsize if all(step % (16 // itemsize) == 0 for step in steps) else 1
    return Form(
        strides.places, strides.count, inner, outers,
        place_step, index_step, outer_place, outer_index, vector, itemsize,
    )  # fmt: skip


class OfForm:
    """A variant that takes problems that have a form."""

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """Return the plan of the problem's form, or why there is none."""
        form = form_of(problem)
        return form if isinstance(form, Refused) else self.of_form(problem, form, device)

    def of_form(self, problem: Problem[Any], form: Form, device: DeviceInfo) -> Plan | Refused:
        """Return the plan, or why the variant does not take this form."""
        raise NotImplementedError


def fits(*numbers: int) -> bool:
    """Say whether the numbers may be divided by multiplication, or divide so."""
    return all(1 <= number <= LIMIT for number in numbers)
