"""A library that knows one function: memory on the processor, moved by ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

from gpubench.model import Problem
from gpubench.peers import functions
from gpubench.peers.base import DeviceOperand, Prepared


class ToyPeer:
    """float32 cubes of contiguous operands."""

    name = "toy"
    operators = ("elementwise",)

    def load(self) -> None:
        """Nothing is needed."""

    def offers(self, problem: Problem[Any]) -> str | None:
        """Take what the table of functions says."""
        return functions.refusal(self.name, problem)

    def prepare(self, problem: Problem[Any], operands: Mapping[str, DeviceOperand], stream: int | None) -> Prepared:
        """Bind the work to the operands."""
        del stream
        line = ctypes.c_float * problem.operand("y").view.size
        a, y = (line.from_address(operands[name].address) for name in ("a", "y"))

        def run() -> None:
            y[:] = [value * value * value for value in a]

        run()
        return Prepared(run)
