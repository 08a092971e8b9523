"""Contenders that are functions: another library's, or one that a suite brings."""

from __future__ import annotations

import contextlib
import copy
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpubench.engine.buffers import Operands
from gpubench.errors import GpubenchError, OutOfMemoryError, UnsupportedError
from gpubench.model import Json, Problem
from gpubench.names import is_own
from gpubench.operators.base import Operator
from gpubench.own.code import attribute
from gpubench.own.definitions import Kernel
from gpubench.own.plan import names_of, refusal_of
from gpubench.peers import refusal
from gpubench.peers.base import quiet
from gpubench.peers.own_function import OwnFunction
from gpubench.peers.own_library import OwnLibrary

if TYPE_CHECKING:
    from gpubench.devices.base import Device
    from gpubench.peers.base import Peer, Prepared


class PeerLibrary:
    """Another library's way to do the work."""

    workspace = 0, False  # it brings its own
    repeatable = False  # as far as we know

    def __init__(self, peer: Peer, operator: Operator[Any], problem: Problem[Any], device: Device) -> None:
        """Ask the peer, then load it. UnsupportedError: it does not take the problem. MissingExtraError without it."""
        name = peer.name
        reason = refusal(peer, problem)
        kinds = getattr(peer, "kinds", ("cuda",))
        if device.info.kind not in kinds:
            wanted = {"cuda": "a CUDA device"}.get(kinds[0], f"the {kinds[0]} device")
            reason = f"{name} needs {wanted}; this one is {device.info.kind}"
        if reason is not None:
            raise UnsupportedError(reason)
        peer.load()
        self.name = name
        self.accuracy = operator.accuracy(problem)
        self._peer: Peer = peer
        self._problem = problem
        self._stream: int | None = getattr(device, "stream", None)
        self._prepared: Prepared | None = None

    def compile(self) -> None:
        """Do nothing: a peer compiles when it meets its operands."""

    def another(self) -> PeerLibrary:
        """Return one that prepares itself for other buffers."""
        found = copy.copy(self)
        found._prepared = None
        return found

    def bind(self, operands: Operands) -> Callable[[], None]:
        """Let the peer prepare itself, in place of what it prepared before."""
        self.release()
        with self._translating("preparing"), contextlib.nullcontext() if is_own(self.name) else quiet():
            self._prepared = prepared = self._peer.prepare(self._problem, operands.operands, self._stream)

        def run() -> None:
            with self._translating("running"):
                prepared.run()

        return run

    def collect(self) -> None:
        """Bring the last result into the operand, where the library has it elsewhere."""
        if self._prepared is not None and self._prepared.collect is not None:
            with self._translating("reading the result of"):
                self._prepared.collect()

    def release(self) -> None:
        """Let the library give back the device memory that it keeps."""
        prepared, self._prepared = self._prepared, None
        if prepared is not None and prepared.close is not None:
            with self._translating("closing"):
                prepared.close()

    def kernel(self) -> dict[str, Json] | None:
        """Return nothing: its kernels are its own business."""
        return None

    @contextlib.contextmanager
    def _translating(self, doing: str) -> Iterator[None]:
        """Turn a library's own exceptions into gpubench's: a lost device must be known as such."""
        from gpubench.devices.cuda_errors import translate

        try:
            yield
        except GpubenchError:
            raise
        except MemoryError as error:
            if type(error) is MemoryError:
                raise
            raise OutOfMemoryError(f"{doing} {self.name}: {error}") from error  # CuPy's own: it means the device's
        except Exception as error:  # every library has error types of its own
            raise translate(error, f"{doing} {self.name}") from error


class BroughtFunction(PeerLibrary):
    """A Python function, or one of a shared library, that a suite brings."""

    def __init__(
        self,
        name: str,
        kernel: Kernel,
        folder: str,
        operator: Operator[Any],
        problem: Problem[Any],
        device: Device,
    ) -> None:
        """Load the file. UnsupportedError where it does not take the problem; CompileError where it cannot be used."""
        names = names_of(kernel, operator, problem, device.info)
        if refused := refusal_of(kernel, operator, problem, names):
            raise UnsupportedError(refused.reason)
        if kernel.form == "python":
            call = attribute(folder, kernel.file, kernel.function)
            peer: Peer = OwnFunction(name, (operator.name,), call, kernel.arrays)
        else:
            peer = OwnLibrary(name, (operator.name,), Path(folder), kernel, names)
        super().__init__(peer, operator, problem, device)
        self._kernel = kernel
        self._sha256 = hashlib.sha256((Path(folder) / kernel.file).read_bytes()).hexdigest()

    def kernel(self) -> dict[str, Json]:
        """Return where the function is, and its file's hash: equal files are taken for equal work."""
        where = {"source": self._kernel.file, "kernel": self._kernel.function}
        notes = {"file": self._kernel.file, "constants": dict(self._kernel.constants)}
        return {
            "variant": self._kernel.name,
            "launches": [where],
            "cubin_sha256": self._sha256,
            "registers": None,
            "spill_bytes": None,
            "shared_bytes": None,
            "occupancy": None,
            "workspace_bytes": 0,
            "notes": notes,
        }
