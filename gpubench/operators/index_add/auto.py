"""The rule behind `gpubench:auto` for `index_add`: which kernel adds a problem's rows, whatever the indices are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpubench.model import DeviceInfo, Plan, Problem, Refused
from gpubench.operators.base import Variant
from gpubench.operators.choosing import first_plan
from gpubench.operators.index_add import cached_rows, one_place, owning, regimes, walked
from gpubench.operators.index_add.block_copies import BlockCopies
from gpubench.operators.index_add.cached import Cached
from gpubench.operators.index_add.combined import Combined
from gpubench.operators.index_add.form import Form, form_of
from gpubench.operators.index_add.gathered import Gathered
from gpubench.operators.index_add.grouped import Grouped
from gpubench.operators.index_add.naive import Naive
from gpubench.operators.index_add.partitioned import Partitioned
from gpubench.operators.index_add.private_copies import PrivateCopies
from gpubench.operators.index_add.pytorch import LargeIndex


def choose(problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
    """Return the plan of the first variant in the order of preference that takes the problem."""
    return first_plan(preferred(problem, device), problem, device)


def preferred(problem: Problem[Any], device: DeviceInfo) -> Iterator[Variant]:
    """Yield the variants from best to last."""
    form = form_of(problem)
    gathers = isinstance(form, Form) and regimes.is_for_gathered(form, problem.case.dtype, device)
    owns = not gathers and owning.is_for_owned(problem, form)
    few = walked.is_for(problem) or one_place.is_for(problem)
    if isinstance(form, Form) and not few and not owns:
        yield from _of_form(form, problem.case.dtype, device)
    yield from (Combined(), LargeIndex(), Naive())


def _of_form(form: Form, dtype: str, device: DeviceInfo) -> Iterator[Variant]:
    """Yield what is better than `combined` on even indices, unless repeated ones could cost it more than 1.5 x."""
    if regimes.is_for_private_copies(form):
        yield PrivateCopies()
    if regimes.is_for_gathered(form, dtype, device):
        yield Gathered()
    if regimes.is_for_block_copies(form, dtype, device):
        yield BlockCopies()
    if form.is_turned:
        if regimes.is_for_narrow(form):
            yield Cached()
        return
    wanted = (
        (regimes.is_for_partitioned(form, dtype), Partitioned()),
        (cached_rows.is_for(form, dtype, device), Cached()),
        (regimes.has_totals(form, dtype), Cached()),
        (regimes.is_for_grouped(form, dtype, device), Grouped()),
        (regimes.is_for_cached(form), Cached()),
    )
    yield from (variant for taken, variant in wanted if taken)
