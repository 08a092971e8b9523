"""A function of a shared library that a suite brings, called through its C interface with device addresses."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpubench.errors import CompileError, DeviceError
from gpubench.model import Problem, Value
from gpubench.own.arguments import Written
from gpubench.own.definitions import Kernel
from gpubench.own.expression import ExpressionError
from gpubench.own.expression import Value as Number
from gpubench.own.signature import read_signature
from gpubench.peers.base import DeviceOperand, Prepared

_WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_TYPES: Mapping[str, Any] = {
    **{name: getattr(ctypes, f"c_{name}") for name in _WHOLE},
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
}


@dataclass(slots=True)
class OwnLibrary:
    """A peer (`gpubench.peers.base.Peer`) made of one symbol. `names`: the values that its signature may name."""

    name: str
    operators: tuple[str, ...]
    folder: Path
    kernel: Kernel
    names: Mapping[str, Number]
    kinds: tuple[str, ...] = ("cuda", "host")

    def load(self) -> None:
        """Load the library. CompileError when the system cannot, or it lacks the symbol."""
        self._function()

    def offers(self, problem: Problem[Any]) -> str | None:
        """Return None: `when` has spoken already."""
        del problem
        return None

    def _function(self) -> Any:
        file, symbol = self.kernel.file, self.kernel.function
        try:
            return getattr(ctypes.CDLL(str(self.folder / file)), symbol)
        except OSError as error:
            raise CompileError(f"{file} cannot be loaded: {str(error).replace(str(self.folder) + '/', '')}") from error
        except AttributeError as error:
            raise CompileError(f'{file} has no symbol {symbol}; a C++ function needs extern "C"') from error

    def prepare(self, problem: Problem[Any], operands: Mapping[str, DeviceOperand], stream: int | None) -> Prepared:
        """Lay the arguments out and call it once. DeviceError with the number that it returned, if that is not 0."""
        del problem
        try:
            signature = read_signature(self.kernel.signature, operands, self.names)
            arguments = [
                ctypes.c_void_p(stream or 0) if argument is None else self._argument(argument, operands)
                for argument in signature.arguments
            ]
        except ExpressionError as error:
            raise CompileError(f"{self.kernel.name}: signature: {error}") from error
        function = self._function()
        function.restype = ctypes.c_int32 if signature.has_code else None

        def run() -> None:
            code = function(*arguments)
            if code:
                raise DeviceError(f"{self.kernel.function} of {self.kernel.file} returned {code}", code)

        run()
        return Prepared(run)

    def _argument(self, written: Written, operands: Mapping[str, DeviceOperand]) -> Any:
        if written.operand:
            return ctypes.c_void_p(operands[written.operand].address)
        if written.is_workspace:
            raise ExpressionError("a library brings its own workspace")
        packed = written.packed(self.names)
        assert isinstance(packed, Value)
        return _TYPES[written.cast].from_buffer_copy(packed.data)
