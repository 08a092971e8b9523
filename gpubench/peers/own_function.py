"""A Python function of the user's own as a contender: given the operands as arrays of its library, on our stream.

It takes the operands in order and, by keyword, those of the case's parameters (and `stream`, the CUDA stream's handle)
that it names. It writes into the output, or returns an array, which is copied into the output untimed. If its first
call returns a function, that function (without arguments) is what is timed.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import inspect
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from gpubench import plugins
from gpubench.dtypes import dtype
from gpubench.errors import CompileError, GpubenchError, UnsupportedError
from gpubench.model import Problem
from gpubench.names import OWN
from gpubench.own.code import named
from gpubench.own.definitions import Arrays
from gpubench.peers.base import DeviceOperand, Prepared, first_line, library
from gpubench.peers.cupy import cupy_stream
from gpubench.peers.tensors import tensors
from gpubench.peers.torch import torch_stream

Given = tuple[tuple[Any, ...], Callable[[], AbstractContextManager[Any]]]


@dataclass(slots=True)
class OwnFunction:
    """A peer (`gpubench.peers.base.Peer`) made of one function. `operators`: those that it does the work of."""

    name: str
    operators: tuple[str, ...]
    call: Callable[..., Any]
    arrays: Arrays = "cupy"

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of devices whose memory it can be given."""
        return ("host", "fake") if self.arrays == "numpy" else ("cuda",)

    def load(self) -> None:
        """Import the library of its arrays. MissingExtraError without it."""
        if self.arrays in ("cupy", "torch", "jax", "numba"):
            library("numba.cuda" if self.arrays == "numba" else self.arrays, self.arrays, self.arrays)

    def offers(self, problem: Problem[Any]) -> str | None:
        """Return why its arrays cannot hold an operand of the problem."""
        if self.arrays in ("cupy", "numba") and any(operand.dtype == "bfloat16" for operand in problem.operands):
            return f"{self.arrays} has no bfloat16"
        if self.arrays == "jax" and any(not operand.view.is_contiguous for operand in problem.operands):
            return "XLA takes only contiguous operands"
        return None

    def prepare(self, problem: Problem[Any], operands: Mapping[str, DeviceOperand], stream: int | None) -> Prepared:
        """Call it once. CompileError, in one line, when it fails; UnsupportedError where it raises that itself."""
        arrays, on_stream = _GIVEN[self.arrays](operands, stream)
        keywords = named(self.call, {**dataclasses.asdict(problem.params), "stream": stream})
        last: list[Any] = []

        def direct() -> None:
            with on_stream():
                last[:] = [self.call(*arrays, **keywords)]

        self._attempt(direct)
        timed = last[0] if callable(last[0]) and not _is_array(last[0]) else None

        def inner() -> None:
            with on_stream():
                last[:] = [timed()] if timed is not None else []

        run = direct if timed is None else inner
        if timed is not None:
            self._attempt(run)
        if last[0] is None:
            return Prepared(run, close=last.clear)
        output = next(place for place, operand in enumerate(operands.values()) if operand.role != "in")

        def collect() -> None:
            if last and last[0] is not None and last[0] is not arrays[output]:
                with on_stream():
                    _copy(self.arrays, last[0], arrays[output])

        self._attempt(collect)
        return Prepared(run, collect, last.clear)

    def _attempt(self, work: Callable[[], None]) -> None:
        try:
            work()
        except GpubenchError:
            raise
        except (NotImplementedError, TypeError, ValueError, AttributeError, LookupError, ImportError) as error:
            kind = UnsupportedError if isinstance(error, NotImplementedError) else CompileError
            raise kind(f"{self.name} failed: {first_line(error)}{_place(error, self.call)}") from error


def _place(error: BaseException, call: Callable[..., Any]) -> str:
    """Return the line of the function's own file that an error passed last."""
    code = getattr(inspect.unwrap(call), "__code__", None)
    line, trace = None, error.__traceback__
    while trace is not None:
        if code is not None and trace.tb_frame.f_code.co_filename == code.co_filename:
            line = trace.tb_lineno
        trace = trace.tb_next
    return f" (line {line} of its file)" if line else ""


def _is_array(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")


def _copy(arrays: Arrays, source: Any, target: Any) -> None:
    """Copy a returned array into the output. ValueError when it has another shape."""
    if tuple(getattr(source, "shape", ())) != tuple(target.shape):
        raise ValueError(
            f"it returned shape {getattr(source, 'shape', None)}, and the output has {tuple(target.shape)}"
        )
    if arrays == "torch":
        target.copy_(source)
    elif arrays == "numpy":
        target[...] = source
    else:
        cupy = library("cupy", "cupy", "cuda13")
        if arrays == "jax":
            source.block_until_ready()
        cupy.copyto(cupy.asarray(target), cupy.asarray(source), casting="unsafe")


# --- What the function is given --------------------------------------------------------------------------------------


def _cupy(operands: Mapping[str, DeviceOperand], stream: int | None) -> Given:
    cupy = library("cupy", "cupy", "cuda13")
    on_stream = cupy_stream(cupy, stream)
    return tuple(cupy.asarray(operand) for operand in operands.values()), lambda: on_stream


def _torch(operands: Mapping[str, DeviceOperand], stream: int | None) -> Given:
    torch = library("torch", "torch", "torch")
    given = tuple(tensors(torch, operands).values())

    @contextlib.contextmanager
    def on_stream() -> Any:
        with torch.no_grad(), torch.cuda.stream(torch_stream(torch, stream)):
            yield

    return given, on_stream


def _jax(operands: Mapping[str, DeviceOperand], stream: int | None) -> Given:
    given, on_stream = _cupy(operands, stream)
    jax = library("jax", "jax", "jax")
    return tuple(jax.dlpack.from_dlpack(array) for array in given), on_stream


def _numba(operands: Mapping[str, DeviceOperand], stream: int | None) -> Given:
    del stream  # numba has no current stream: the function takes `stream` and launches on it
    cuda = library("numba.cuda", "numba-cuda", "numba")
    return tuple(cuda.as_cuda_array(operand) for operand in operands.values()), contextlib.nullcontext


def _interface(operands: Mapping[str, DeviceOperand], stream: int | None) -> Given:
    del stream
    return tuple(operands.values()), contextlib.nullcontext


def _numpy(operands: Mapping[str, DeviceOperand], stream: int | None) -> Given:
    del stream
    return tuple(_host_view(operand) for operand in operands.values()), contextlib.nullcontext


def _host_view(operand: DeviceOperand) -> Any:
    """Return a numpy view of an operand in host memory."""
    import numpy

    row, view = dtype(operand.dtype), operand.view
    start = operand.address - view.offset * row.itemsize
    storage: Any = (ctypes.c_uint8 * (view.storage * row.itemsize)).from_address(start)
    return view.of(numpy.frombuffer(storage, row.numpy))


_GIVEN: dict[Arrays, Callable[[Mapping[str, DeviceOperand], int | None], Given]] = {
    "cupy": _cupy,
    "torch": _torch,
    "jax": _jax,
    "numba": _numba,
    "numpy": _numpy,
    "interface": _interface,
}

# --- The functions of this process -----------------------------------------------------------------------------------

_REGISTERED: dict[str, OwnFunction] = {}


def register(function: OwnFunction) -> None:
    """Let this process find a function by its contender's name, in place of one of that name. ValueError for a name
    that no contender of the user's own can have.
    """
    if not (function.name.startswith(OWN) and function.name.removeprefix(OWN).isidentifier()):
        raise ValueError(f"{function.name!r} is no name for a contender of one's own: write {OWN}my_name")
    _REGISTERED[function.name] = function


def is_local(contender: str) -> bool:
    """Tell whether a contender is a function that code of this process made known."""
    return contender in _REGISTERED


def registered(contender: str) -> OwnFunction | None:
    """Return the function of a contender, an installed package's too; None when there is none."""
    name = contender.removeprefix(OWN)
    if contender not in _REGISTERED and contender.startswith(OWN) and name in plugins.named(plugins.KERNELS):
        plugins.load(plugins.KERNELS, name)  # its decorator makes it known
    return _REGISTERED.get(contender)
