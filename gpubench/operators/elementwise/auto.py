"""The rule behind `gpubench:auto` for `elementwise`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpubench.operators.elementwise.variants import VARIANTS

if TYPE_CHECKING:
    from gpubench.model import DeviceInfo, Problem
    from gpubench.operators.base import Variant


def choose(problem: Problem[Any], device: DeviceInfo) -> Variant:
    """Return the last variant that takes the problem (they stand from naive to best); the naive one when none does."""
    for variant in reversed(VARIANTS):
        if variant.refuses(problem, device) is None:
            return variant
    return VARIANTS[0]
