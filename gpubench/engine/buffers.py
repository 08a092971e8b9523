"""The operands of one contender in device memory: made anew each round, poisoned, restored, read back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gpubench.dtypes import dtype
from gpubench.engine.guards import WORKSPACE, Guarded, Stray
from gpubench.engine.memory import storage_bytes
from gpubench.measure.mismatches import poison_byte
from gpubench.model import Operand, Problem
from gpubench.peers.base import DeviceOperand

if TYPE_CHECKING:
    from gpubench.devices.base import Buffer, Device
    from gpubench.operators.base import Array

POISON_WORKSPACE = 0xFF


class Pristine:
    """The inputs of a case, uploaded once. `keep_inputs` false: only in-place operands stay on the device."""

    def __init__(self, device: Device, problem: Problem[Any], inputs: Mapping[str, Array], keep_inputs: bool) -> None:
        self._device = device
        self._inputs = inputs
        self._buffers: dict[str, Buffer] = {}
        for operand in problem.operands:
            if operand.role == "inout" or (keep_inputs and operand.role == "in"):
                buffer = device.allocate(storage_bytes(operand))
                device.upload(inputs[operand.name], buffer)
                self._buffers[operand.name] = buffer

    def put(self, operand: Operand, target: Buffer) -> None:
        """Fill a buffer with the operand's input."""
        source = self._buffers.get(operand.name)
        if source is not None:
            self._device.copy(source, target)
        else:
            self._device.upload(self._inputs[operand.name], target)


class Landing:
    """Host memory where one output at a time is downloaded, kept for the next: a system's fresh pages cost more time
    than the copy into them. What `take` returned is overwritten by the next one's output.
    """

    MOST = 2 << 30
    """Bytes that are kept; a larger output gets memory of its own."""

    def __init__(self) -> None:
        self._kept: Array | None = None

    def take(self, count: int, name: str) -> Array:
        """Return an array of `count` elements of the dtype of this name; what it holds is anything."""
        import numpy

        row = dtype(name)
        nbytes = count * row.itemsize
        if nbytes > self.MOST:
            return numpy.empty(count, row.numpy)
        if self._kept is None or self._kept.nbytes < nbytes:
            self._kept = None  # given back before more is asked for
            self._kept = numpy.empty(nbytes, numpy.uint8)
        return self._kept[:nbytes].view(row.numpy)


class Operands:
    """One set of buffers for the operands of a problem, and the workspace beside them; guards round all of them where
    the device does not see stray accesses by itself.
    """

    def __init__(
        self, device: Device, problem: Problem[Any], pristine: Pristine, workspace_bytes: int, zeroed: bool = False
    ) -> None:
        """Allocate and fill; a workspace is poisoned, or `zeroed`. OutOfMemoryError when the device refuses."""
        self._device = device
        self._problem = problem
        self._pristine = pristine
        self._guards: list[Guarded] = []
        self._buffers = {
            operand.name: self._allocate(operand.name, storage_bytes(operand)) for operand in problem.operands
        }
        self.workspace = self._allocate(WORKSPACE, workspace_bytes)
        device.fill(self.workspace, 0 if zeroed else POISON_WORKSPACE)
        for operand in problem.operands:
            if operand.role == "in":
                pristine.put(operand, self._buffers[operand.name])
        self.poison()
        self.restore()

    def _allocate(self, name: str, nbytes: int) -> Buffer:
        if self._device.sees_stray_accesses:
            return self._device.allocate(nbytes)
        guarded = Guarded(self._device, name, nbytes)
        self._guards.append(guarded)
        return guarded.inner

    @property
    def buffers(self) -> dict[str, Buffer]:
        """The operands' buffers by name."""
        return dict(self._buffers)

    @property
    def inputs(self) -> dict[str, Buffer]:
        """The buffers that no contender may write."""
        return {operand.name: self._buffers[operand.name] for operand in self._problem.operands if operand.role == "in"}

    @property
    def outputs(self) -> dict[str, Buffer]:
        """The buffers that a contender writes."""
        return {operand.name: self._buffers[operand.name] for operand in self._problem.operands if operand.role != "in"}

    def strays(self) -> list[Stray]:
        """Return what was written beside the operands and the workspace, after all enqueued work."""
        return [stray for guarded in self._guards for stray in guarded.strays()]

    @property
    def addresses(self) -> dict[str, int]:
        """The address of each operand's first element."""
        return {operand.name: self._address(operand) for operand in self._problem.operands}

    @property
    def operands(self) -> dict[str, DeviceOperand]:
        """The operands as peers take them."""
        return {
            operand.name: DeviceOperand(operand.name, operand.role, operand.dtype, operand.view, self._address(operand))
            for operand in self._problem.operands
        }

    def _address(self, operand: Operand) -> int:
        return self._buffers[operand.name].address + operand.view.offset * dtype(operand.dtype).itemsize

    def poison(self) -> None:
        """Fill the outputs with what no right answer holds, so that an output nobody writes is seen."""
        for operand in self._problem.operands:
            if operand.role == "out":
                self._device.fill(self._buffers[operand.name], poison_byte(operand.dtype))

    def restore(self) -> None:
        """Enqueue setting the in-place operands back to their input."""
        for operand in self._problem.operands:
            if operand.role == "inout":
                self._pristine.put(operand, self._buffers[operand.name])

    def drop_inputs(self) -> None:
        """Give everything but the outputs back. Nothing may be bound to these buffers any more."""
        kept = {operand.name for operand in self._problem.operands if operand.role != "in"}
        self._buffers = {name: buffer for name, buffer in self._buffers.items() if name in kept}
        self._guards.clear()
        del self.workspace

    def output(self, landing: Landing | None = None) -> Array:
        """Return the logical array of the output, downloaded (to `landing`, if given) after all enqueued work."""
        operand = next(operand for operand in self._problem.operands if operand.role != "in")
        storage = (landing or Landing()).take(operand.view.storage, operand.dtype)
        if storage.size:
            self._device.download(self._buffers[operand.name], storage)
        else:
            self._device.synchronize()
        return operand.view.of(storage)
