"""torch, eager: its own functions in their `out=` forms, on our buffers and our stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpubench.errors import UnsupportedError
from gpubench.model import Problem
from gpubench.names import TORCH
from gpubench.peers import tensors
from gpubench.peers.base import DeviceOperand, Prepared, attempt, first_line, library


class TorchPeer:
    """Every operator and dtype of ours; what a single function does not take, it says itself."""

    name = TORCH
    operators = ("cumsum", "sum", "elementwise", "index_add")

    def load(self) -> None:
        """Import torch. MissingExtraError without it; UnsupportedError for a build without CUDA."""
        self._torch = library("torch", "torch", "torch")
        if not self._torch.cuda.is_available():
            raise UnsupportedError("this torch sees no CUDA device (is it a build for the CPU?)")

    def offers(self, problem: Problem[Any]) -> str | None:
        """Return why torch has nothing for the problem."""
        return tensors.refusal(problem)

    def prepare(self, problem: Problem[Any], operands: Mapping[str, DeviceOperand], stream: int | None) -> Prepared:
        """Bind the eager call."""
        torch = self._torch
        on_stream = torch_stream(torch, stream)
        with torch.no_grad(), torch.cuda.stream(on_stream):
            call = _or_refuse(lambda: tensors.in_place(torch, problem, tensors.tensors(torch, operands)))

        def run() -> None:
            with torch.no_grad(), torch.cuda.stream(on_stream):
                call()

        attempt(self.name, lambda: _or_refuse(run))
        return Prepared(run, close=torch.cuda.empty_cache)


def torch_stream(torch: Any, stream: int | None) -> Any:
    """Return a stream's handle as torch's stream; None is the default one."""
    return torch.cuda.default_stream() if stream is None else torch.cuda.ExternalStream(stream)


def _or_refuse(call: Any) -> Any:
    """Call. torch says that it has no kernel for a dtype by a plain RuntimeError: make that UnsupportedError."""
    try:
        return call()
    except RuntimeError as error:
        if type(error) in (RuntimeError, NotImplementedError) and "CUDA error" not in str(error):
            raise UnsupportedError(f"torch refuses: {first_line(error)}") from error
        raise
