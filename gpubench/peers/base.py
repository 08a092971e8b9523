"""What a peer is: another library that does the same work, timed and checked beside our own kernels."""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from gpubench.dtypes import dtype
from gpubench.errors import MissingExtraError, UnsupportedError
from gpubench.layout import View
from gpubench.model import Problem, Role

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DeviceOperand:
    """An operand in device memory. `address` is its first element (the view's offset added)."""

    name: str
    role: Role
    dtype: str
    view: View
    address: int

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The operand as libraries take foreign arrays. bfloat16, which the interface lacks, stands as int16."""
        row = dtype(self.dtype)
        typestr = "<i2" if self.dtype == "bfloat16" else row.numpy.str
        return {
            "shape": self.view.shape,
            "typestr": typestr,
            "data": (self.address, False),
            "strides": tuple(stride * row.itemsize for stride in self.view.strides),
            "version": 3,
        }


@dataclass(frozen=True, slots=True)
class Prepared:
    """Work bound to operands. `run` enqueues it once on the stream and may be called as often as wanted.

    `collect`, where a library cannot write into memory that it is given, copies the last result into the operand;
    it is called before the check and never timed. `close` gives back what the library keeps of the device's memory.
    """

    run: Callable[[], None]
    collect: Callable[[], None] | None = None
    close: Callable[[], None] | None = None


class Peer(Protocol):
    """One library. Its module imports the library late, in `load`, so that it may be absent."""

    name: str
    operators: tuple[str, ...]
    """The operators that it has heard of. Another one is `unsupported` and never reaches the methods below."""

    def load(self) -> None:
        """Import the library. MissingExtraError when it is not installed."""
        ...

    def offers(self, problem: Problem[Any]) -> str | None:
        """Return why the peer has nothing for this problem, None when it has. Needs no library."""
        ...

    def prepare(self, problem: Problem[Any], operands: Mapping[str, DeviceOperand], stream: int | None) -> Prepared:
        """Bind the work to operands and to the CUDA stream of that handle (None: the default stream).

        Compiling and tuning belong here: the work has run once when this returns. The result goes into the operand
        with role `out` or `inout`. The library's own errors pass through as they are; UnsupportedError for what only
        the attempt shows.
        """
        ...


def library(module: str, package: str, extra: str) -> Any:
    """Import and return a library. MissingExtraError, in one line, when it is not there or cannot be loaded."""
    try:
        return importlib.import_module(module)
    except (ImportError, OSError, RuntimeError) as error:  # the last two: a shared library is missing, or too old
        absent = isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}.")
        raise MissingExtraError(package, extra, None if absent else first_line(error)) from error


def attempt(name: str, work: Callable[[], T]) -> T:
    """Do work for the first time. UnsupportedError when the library refuses it, with the library's first words."""
    try:
        return work()
    except (TypeError, ValueError, NotImplementedError, IndexError, KeyError) as error:
        raise UnsupportedError(f"{name} refuses: {first_line(error)}") from error


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep a library's warnings and log lines off standard error while it compiles: what it refuses is in the record.

    TORCH_LOGS, by which somebody asks for log lines, lets them through.
    """
    disabled = logging.root.manager.disable
    with warnings.catch_warnings():
        if "TORCH_LOGS" not in os.environ:
            warnings.simplefilter("ignore")
            logging.disable(max(disabled, logging.ERROR))
        try:
            yield
        finally:
            logging.disable(disabled)


class Latest(Generic[T]):
    """What was compiled for the latest problem: all its rounds use it, and the next problem's takes its place."""

    def __init__(self) -> None:
        """Nothing is compiled yet."""
        self._kept: tuple[Problem[Any], T] | None = None

    def of(self, problem: Problem[Any], compile_: Callable[[], T]) -> T:
        """Return what is kept for the problem; compile it when it is another one than before."""
        if self._kept is None or self._kept[0] is not problem:
            self._kept = (problem, compile_())
        return self._kept[1]


def first_line(error: BaseException) -> str:
    """Return the first line that says something of an error's message, at most 200 characters."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:200]
