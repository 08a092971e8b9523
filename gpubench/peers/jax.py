"""JAX, jitted. XLA has streams of its own: ours waits for XLA's result, and XLA's waits for ours to come that far.

Both waits are made on the GPU (DLPack's stream exchange). They add 2 to 4 us to what the events see, as
docs/method.md says; CUPTI's durations are free of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from gpubench.dtypes import dtype
from gpubench.errors import UnsupportedError
from gpubench.model import Problem
from gpubench.names import JAX
from gpubench.peers import functions
from gpubench.peers.base import DeviceOperand, Latest, Prepared, first_line, library

ALIGNMENT = 16
"""Bytes: what XLA's GPU kernels presume of an array that they are given."""


class JaxPeer:
    """Contiguous operands: XLA takes over foreign arrays only when they lie row by row. Results are arrays of its own,
    copied into ours before the check, untimed; the same holds for index_add, whose destination XLA may not change.
    """

    name = JAX
    operators = ("cumsum", "sum", "elementwise", "index_add")

    def __init__(self) -> None:
        """Nothing is compiled yet."""
        self._jitted: Latest[Callable[..., Any]] = Latest()

    def load(self) -> None:
        """Import JAX, told to leave the device's memory to others. MissingExtraError without it."""
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        self._cupy = library("cupy", "cupy", "cuda13")
        self._jax = library("jax", "jax", "jax")
        self._jax.config.update("jax_enable_x64", True)
        try:
            self._jax.devices("cuda")
        except RuntimeError as error:
            raise UnsupportedError(f"this JAX has no CUDA device: {first_line(error)}") from error

    def offers(self, problem: Problem[Any]) -> str | None:
        """Return why JAX has nothing for the problem."""
        if any(not operand.view.is_contiguous for operand in problem.operands):
            return "XLA takes only contiguous operands"
        if any(operand.view.size == 0 for operand in problem.operands):
            return "XLA takes no foreign array without elements"
        if any(
            operand.view.offset * dtype(operand.dtype).itemsize % ALIGNMENT
            for operand in problem.operands
            if operand.role != "out"
        ):
            return f"XLA takes over foreign arrays only at multiples of {ALIGNMENT} bytes"
        return functions.refusal(self.name, problem) if problem.case.operator == "elementwise" else None

    def prepare(self, problem: Problem[Any], operands: Mapping[str, DeviceOperand], stream: int | None) -> Prepared:
        """Jit, at the first time for a problem, and run once."""
        jax = self._jax
        handle = stream or 0
        names = [name for name, operand in operands.items() if operand.role != "out"]
        compiled = self._jitted.of(problem, lambda: jax.jit(self._function(problem, names)))
        bridges = [_Bridge(self._cupy, operands[name], handle) for name in names]
        into = next(operand for operand in operands.values() if operand.role != "in")
        last: list[Any] = []

        def run() -> None:
            last.clear()
            inputs = [jax.dlpack.from_dlpack(bridge) for bridge in bridges]
            result = compiled(*inputs)
            result.__dlpack__(stream=handle)  # makes our stream wait for XLA's; the capsule itself is not needed
            last.extend((result, inputs))

        def collect() -> None:
            result = last[0].view(jax.numpy.int16) if into.dtype == "bfloat16" else last[0]
            result.block_until_ready()
            with self._cupy.cuda.ExternalStream(handle):
                shaped = self._cupy.asarray(result).reshape(into.view.shape)  # cumsum makes one dim of a scalar
                self._cupy.copyto(_array(self._cupy, into), shaped)

        try:
            run()
        except (TypeError, ValueError, NotImplementedError, jax.errors.JAXTypeError) as error:
            raise UnsupportedError(f"JAX refuses: {first_line(error)}") from error
        return Prepared(run, collect, last.clear)

    def _function(self, problem: Problem[Any], names: list[str]) -> Callable[..., Any]:
        """Return the work as a function of the arrays of these names, in that order."""
        jax, params = self._jax, problem.params
        jnp = jax.numpy
        kept = problem.operand("y").dtype if problem.case.operator != "index_add" else problem.case.dtype

        def work(*arrays: Any) -> Any:
            arrays = tuple(
                jax.lax.bitcast_convert_type(array, jnp.bfloat16)
                if problem.operand(name).dtype == "bfloat16"
                else array
                for name, array in zip(names, arrays, strict=True)
            )
            given = dict(zip(names, arrays, strict=True))
            match problem.case.operator:
                case "cumsum":
                    return jnp.cumsum(given["x"], axis=params.dim if params.shape else None, dtype=kept)
                case "sum":
                    return jnp.sum(given["x"], axis=tuple(params.dim), keepdims=params.keepdim, dtype=kept)
                case "index_add":
                    place = (*(slice(None),) * params.dim, given["index"])
                    return given["destination"].at[place].add(_scaled(given["source"], params.alpha))
                case _:
                    return self._elementwise(problem, arrays).astype(kept)

        return work

    def _elementwise(self, problem: Problem[Any], arrays: tuple[Any, ...]) -> Any:
        call = functions.call_of(self.name, problem)
        assert call is not None  # `offers` came first
        after, keywords = call.arguments(problem.params.scalars)
        return functions.function_of(self._jax, call)(*arrays, *after, **keywords)


def _scaled(source: Any, alpha: float) -> Any:
    return source if alpha == 1 else (source * alpha).astype(source.dtype)


def _array(cupy: Any, operand: DeviceOperand) -> Any:
    """Return the operand as a CuPy array on the same memory; bfloat16 as int16."""
    return cupy.asarray(operand)


class _Bridge:
    """An operand on its way to XLA. XLA names its stream when it takes the array, and that stream is told to wait."""

    def __init__(self, cupy: Any, operand: DeviceOperand, stream: int) -> None:
        self._array = _array(cupy, operand)
        self._runtime = cupy.cuda.runtime
        self._stream = stream
        self._event = cupy.cuda.Event(disable_timing=True)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()  # type: ignore[no-any-return] # CuPy has no type hints

    def __dlpack__(self, *, stream: int | None = None, **_: Any) -> Any:
        if stream is not None and stream > 0:
            self._runtime.eventRecord(self._event.ptr, self._stream)
            self._runtime.streamWaitEvent(0 if stream == 1 else stream, self._event.ptr)
        return self._array.__dlpack__(stream=-1)
