"""torch.compile: torch's functions as Triton kernels made by Inductor, compiled and tuned before anything is timed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpubench.errors import UnsupportedError
from gpubench.model import Problem
from gpubench.peers import tensors
from gpubench.peers.base import DeviceOperand, Prepared, first_line, library
from gpubench.peers.torch import torch_stream


class InductorPeer:
    """What eager torch has. The result is a tensor of Inductor's own, copied into ours before the check, untimed."""

    name = "inductor"

    def load(self) -> None:
        """Import torch. MissingExtraError without it; UnsupportedError without CUDA or Triton."""
        self._torch = library("torch", "torch", "torch")
        if not self._torch.cuda.is_available():
            raise UnsupportedError("this torch sees no CUDA device (is it a build for the CPU?)")
        library("triton", "triton", "torch")

    def offers(self, problem: Problem[Any]) -> str | None:
        """Return why there is nothing to compile."""
        if any(one.view.size == 0 for one in problem.operands):
            return "nothing to compile for an operand without elements"
        return tensors.refusal(problem)

    def prepare(self, problem: Problem[Any], operands: Mapping[str, DeviceOperand], stream: int | None) -> Prepared:
        """Compile and run once."""
        torch = self._torch
        on_stream = torch_stream(torch, stream)
        torch.compiler.reset()  # what the case before left behind would count towards the limit of recompilations
        compiled = torch.compile(tensors.function(torch, problem), dynamic=False)
        given = tensors.tensors(torch, operands)
        last: list[Any] = []

        def run() -> None:
            last.clear()  # its memory serves the next result
            with torch.no_grad(), torch.cuda.stream(on_stream):
                last.append(compiled(given))

        def collect() -> None:
            with torch.no_grad(), torch.cuda.stream(on_stream):
                given["y"].copy_(last[0])

        def close() -> None:
            last.clear()
            torch.cuda.empty_cache()

        try:
            run()
        except (torch._dynamo.exc.TorchDynamoException, NotImplementedError, TypeError) as error:
            raise UnsupportedError(f"Inductor refuses: {first_line(error)}") from error
        return Prepared(run, collect if "y" in operands else None, close)
