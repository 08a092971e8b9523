"""Stand-ins for torch, JAX, CuPy and cuda.compute that count what is asked of them and compute nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from gpubench.model import Problem
from gpubench.operators import operator
from gpubench.peers.base import DeviceOperand
from tests.engine.bed import case


def problem(name: str, params: dict[str, Any], dtype: str = "float32") -> Problem[Any]:
    """Return a problem of an operator."""
    return operator(name).problem(case(name, params, dtype))


def operands(made: Problem[Any], base: int = 4096) -> dict[str, DeviceOperand]:
    """Return the problem's operands at made-up addresses."""
    return {
        operand.name: DeviceOperand(operand.name, operand.role, operand.dtype, operand.view, base * (place + 1))
        for place, operand in enumerate(made.operands)
    }


class Array:
    """An array that says what was done to make it."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.dtype = what

    def view(self, what: object) -> Array:
        """Return itself under another dtype."""
        del what
        return self

    def reshape(self, shape: object) -> Array:
        """Return itself in another shape."""
        return Array(f"{self.what} as {shape}")

    def copy_(self, other: Array) -> None:
        """Take over what another holds."""
        self.what = other.what

    def block_until_ready(self) -> None:
        """Nothing is under way."""

    def __dlpack__(self, **_: object) -> object:
        """Return a capsule."""
        return object()


class Torch:
    """What the peers ask of torch; `log` is each compilation with its settings."""

    bfloat16 = "bfloat16"

    def __init__(self) -> None:
        self.log: list[Any] = []
        self.compiler = SimpleNamespace(reset=lambda: self.log.append("reset"))
        self.cuda = SimpleNamespace(
            stream=lambda _: contextlib.nullcontext(),
            default_stream=lambda: "default",
            ExternalStream=lambda handle: handle,
            empty_cache=lambda: self.log.append("empty"),
        )
        self._dynamo = SimpleNamespace(exc=SimpleNamespace(TorchDynamoException=ArithmeticError))
        self.float32 = "float32"

    def no_grad(self) -> contextlib.AbstractContextManager[None]:
        """Do nothing."""
        return contextlib.nullcontext()

    def as_tensor(self, operand: DeviceOperand, device: str) -> Array:
        """Return a tensor on the operand."""
        assert device == "cuda"
        return Array(operand.name)

    def compile(self, work: Callable[..., Any], **settings: Any) -> Callable[..., Any]:
        """Note the settings; return work that gives a new tensor."""
        del work
        self.log.append(settings)
        return lambda given: Array(f"result of {sorted(given)}")


class Cupy:
    """What the JAX peer asks of CuPy; `copies` is what was copied where."""

    def __init__(self) -> None:
        self.copies: list[tuple[str, str]] = []
        self.cuda = SimpleNamespace(
            Event=lambda **_: SimpleNamespace(ptr=1), ExternalStream=lambda _: contextlib.nullcontext(), runtime=None
        )

    def asarray(self, one: Any) -> Array:
        """Return an array on the same memory."""
        return one if isinstance(one, Array) else Array(one.name)

    def copyto(self, target: Array, source: Array) -> None:
        """Note a copy."""
        self.copies.append((target.what, source.what))


class Jax:
    """What the peer asks of JAX; `jits` counts compilations."""

    def __init__(self) -> None:
        self.jits = 0
        self.dlpack = SimpleNamespace(from_dlpack=lambda bridge: bridge)
        self.errors = SimpleNamespace(JAXTypeError=ArithmeticError)
        self.numpy = SimpleNamespace(int16="int16")

    def jit(self, work: Callable[..., Any]) -> Callable[..., Any]:
        """Count; return work that gives a new array."""
        del work
        self.jits += 1
        return lambda *_: Array("result")
