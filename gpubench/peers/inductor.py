"""torch.compile: torch's functions as Triton kernels made by Inductor, compiled and tuned before anything is timed."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gpubench.errors import UnsupportedError
from gpubench.model import Problem
from gpubench.names import INDUCTOR
from gpubench.peers import tensors
from gpubench.peers.base import DeviceOperand, Latest, Prepared, first_line, library
from gpubench.peers.torch import torch_stream


class InductorPeer:
    """What eager torch has. The result is a tensor of Inductor's own, copied into ours before the check, untimed."""

    name = INDUCTOR
    operators = ("cumsum", "sum", "elementwise", "index_add")

    def __init__(self) -> None:
        """Nothing is compiled yet."""
        self._compiled: Latest[Callable[[Any], Any]] = Latest()

    def load(self) -> None:
        """Import torch. MissingExtraError without it; UnsupportedError without CUDA or Triton."""
        self._torch = library("torch", "torch", "torch")
        if not self._torch.cuda.is_available():
            raise UnsupportedError("this torch sees no CUDA device (is it a build for the CPU?)")
        library("triton", "triton", "torch")
        # Else it starts a process a core, which import torch while others are timed, and stops them at every reset.
        library("torch._inductor.config", "torch", "torch").compile_threads = 1

    def folder(self) -> Path:
        """Return where Inductor keeps what it compiled, and what it chose by timing."""
        return Path(importlib.import_module("torch._inductor.runtime.cache_dir_utils").cache_dir())

    def offers(self, problem: Problem[Any]) -> str | None:
        """Return why there is nothing to compile."""
        if any(operand.view.size == 0 for operand in problem.operands):
            return "nothing to compile for an operand without elements"
        return tensors.refusal(problem)

    def prepare(self, problem: Problem[Any], operands: Mapping[str, DeviceOperand], stream: int | None) -> Prepared:
        """Compile, at the first time for a problem, and run once."""
        torch = self._torch
        on_stream = torch_stream(torch, stream)
        compiled = self._function(problem)
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

    def _function(self, problem: Problem[Any]) -> Callable[[Any], Any]:
        """Return the compiled work, the same for all rounds: their buffers differ in nothing that it was compiled for.

        Sizes are constants (`dynamic=False`), as torch has them at the first call. `fullgraph`: what Inductor cannot
        take whole is refused, in place of being run in part by eager torch under Inductor's name.
        """
        torch = self._torch

        def compile_() -> Callable[[Any], Any]:
            torch.compiler.reset()  # what the case before left behind would count towards the limit of recompilations
            work: Callable[[Any], Any] = torch.compile(tensors.function(torch, problem), dynamic=False, fullgraph=True)
            return work

        return self._compiled.of(problem, compile_)
