"""The real worker, for which `gpubench:auto` is always the naive variant: the only one that the fake device knows."""

from __future__ import annotations

import sys

from gpubench.engine.worker import main
from gpubench.operators import OPERATORS


def choose_naive() -> None:
    """Let every operator choose its first variant."""
    for operator in OPERATORS.values():
        type(operator).choose = lambda self, problem, device: self.variants[0].plan(problem, device)  # type: ignore[method-assign] # a double


if __name__ == "__main__":
    choose_naive()
    sys.exit(main(sys.argv[1:]))
