"""What a peer is: another library that does the same work, timed and checked beside our own kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from gpubench.dtypes import dtype
from gpubench.layout import View
from gpubench.model import Problem, Role


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
        """The operand as libraries take foreign arrays. bfloat16, which the interface lacks, stands as uint16."""
        row = dtype(self.dtype)
        typestr = "<u2" if self.dtype == "bfloat16" else row.numpy.str
        return {
            "shape": self.view.shape,
            "typestr": typestr,
            "data": (self.address, False),
            "strides": tuple(stride * row.itemsize for stride in self.view.strides),
            "version": 3,
        }


class Peer(Protocol):
    """One library. Its module imports the library late, so that it may be absent."""

    name: str

    def offers(self, problem: Problem[Any]) -> str | None:
        """Return why the peer cannot do this problem (the library is missing, the dtype unknown), None when it can."""
        ...

    def prepare(
        self, problem: Problem[Any], operands: Mapping[str, DeviceOperand], stream: int | None
    ) -> Callable[[], None]:
        """Return what enqueues the work once on the CUDA stream of that handle (None: the default stream).

        The call must write the result into the operand with role `out` or `inout`, in place. It keeps alive whatever
        it needs; compiling and tuning belong into `prepare`. UnsupportedError when it turns out not to work.
        """
        ...
