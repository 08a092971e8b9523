# ruff: noqa: D102, N802 - the names, and what they do, are CUDA's own
"""A test double of the CUDA driver and runtime bindings: a stream that runs its queue at a synchronisation.

It has a clock of its own; kernels take the time that `kernel_us` gives. A blocker whose flag is not released by the
time of the synchronisation lets go by itself and leaves its ticket, as the real one does.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from gpubench.devices.cuda_binding import Binding
from gpubench.kernels import CompiledKernel
from gpubench.model import DeviceInfo, KernelResources

INFO = DeviceInfo(
    kind="cuda",
    name="Double",
    compute_capability=(9, 0),
    sm_count=4,
    l2_bytes=1000,
    memory_bytes=10**6,
    max_shared_bytes=232448,
    properties={"pci_bus_id": "0"},
)


class CudaError(RuntimeError):
    """Looks like CuPy's exceptions: a status and a text."""

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(f"error {status}")


class CudaDouble:
    """Both modules at once; pass `binding()` to what is tested. `log` is what ran on the stream, in order."""

    memcpyHostToDevice = 1
    memcpyDeviceToHost = 2
    memcpyDeviceToDevice = 3
    hostAllocMapped = 2
    hostAllocPortable = 1
    streamCaptureModeThreadLocal = 1
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8

    def __init__(self) -> None:
        self.log: list[str] = []
        self.queue: list[tuple[str, Callable[[], object]]] = []
        self.captured: list[tuple[str, Callable[[], object]]] | None = None
        self.names: dict[int, str] = {}
        self.kernel_us = 5.0
        self.memset_us: dict[int, float] = {}
        self.now_us = 0.0
        self.mhz = 1980.0
        self.failing: dict[str, int] = {}
        self.live: dict[int, Any] = {}
        self.events: dict[int, float] = {}
        self.attributes: list[tuple[int, int]] = []
        self.arity = {"blocker": 4, "stamp": 2}
        self.launches: list[tuple[str, tuple[int, ...], int, list[bytes]]] = []

    def binding(self) -> Binding:
        """Return the double in both roles."""
        return Binding(self, self)

    def _meet(self, name: str) -> None:
        if name in self.failing:
            raise CudaError(self.failing[name])

    def _enqueue(self, name: str, action: Callable[[], object]) -> None:
        (self.queue if self.captured is None else self.captured).append((name, action))

    # --- The device ---

    def getDeviceProperties(self, index: int) -> dict[str, Any]:
        self._meet("properties")
        return {"name": f"Double {index}".encode(), "totalGlobalMem": 10**6}

    def deviceGetAttribute(self, number: int, index: int) -> int:
        del index
        return {16: 4, 36: 3_201_000, 37: 6144, 38: 1000, 75: 9, 76: 0, 97: 232448}.get(number, 32)

    def deviceGetPCIBusId(self, index: int) -> str:
        return f"0000:0{index}:00.0"

    def runtimeGetVersion(self) -> int:
        return 13000

    driverGetVersion = runtimeGetVersion

    def setDevice(self, index: int) -> None:
        self._meet("setDevice")
        self.opened = index

    def memGetInfo(self) -> tuple[int, int]:
        return 900, 1000

    streamNonBlocking = 1

    def streamCreateWithFlags(self, flags: int) -> int:
        assert flags == self.streamNonBlocking
        return 1

    def streamDestroy(self, stream: int) -> None:
        assert stream == 1

    # --- Memory ---

    def malloc(self, nbytes: int) -> int:
        self._meet("malloc")
        memory = (ctypes.c_uint8 * nbytes)()
        address = ctypes.addressof(memory)
        self.live[address] = memory
        return address

    def hostAlloc(self, nbytes: int, flags: int) -> int:
        assert flags & self.hostAllocMapped
        return self.malloc(nbytes)

    def free(self, address: int) -> None:
        self._meet("free")
        if address:  # freeing nothing is allowed, and makes the context
            self.live.pop(address)

    freeHost = free

    def memsetAsync(self, address: int, value: int, size: int, stream: int) -> None:
        del stream
        self._meet("memset")

        def fill() -> None:
            ctypes.memset(address, value, size)
            self.pass_us(self.memset_us.get(size, 0.0))

        self._enqueue(f"memset {size}", fill)

    def pass_us(self, us: float) -> None:
        self.now_us += us

    def memcpyAsync(self, target: int, source: int, size: int, kind: int, stream: int) -> None:
        del kind, stream
        self._meet("memcpy")
        self._enqueue("memcpy", lambda: ctypes.memmove(target, source, size))

    # --- Events, the stream ---

    def eventCreate(self) -> int:
        self.events[len(self.events) + 1] = float("nan")
        return len(self.events)

    def eventRecord(self, event: int, stream: int) -> None:
        del stream
        self._enqueue("event", lambda: self.events.__setitem__(event, self.now_us))

    def eventElapsedTime(self, first: int, second: int) -> float:
        return (self.events[second] - self.events[first]) / 1e3

    def eventDestroy(self, event: int) -> None:
        self.events[event] = float("nan")

    def streamSynchronize(self, stream: int) -> None:
        del stream
        self._meet("synchronize")
        queue, self.queue = self.queue, []
        for name, action in queue:
            self.log.append(name)
            action()

    # --- Graphs ---

    def streamBeginCapture(self, stream: int, mode: int) -> None:
        del stream, mode
        self.captured = []

    def streamEndCapture(self, stream: int) -> int:
        del stream
        nodes, self.captured = self.captured, None
        self.graph = nodes or []
        return 77

    def graphDestroy(self, graph: int) -> None:
        assert graph == 77

    def graphInstantiate(self, graph: int) -> int:
        assert graph == 77
        return 78

    def graphUpload(self, executable: int, stream: int) -> None:
        del executable, stream

    def graphLaunch(self, executable: int, stream: int) -> None:
        del stream
        assert executable == 78
        nodes = list(self.graph)
        self._enqueue("graph", lambda: [action() for _, action in nodes])

    def graphExecDestroy(self, executable: int) -> None:
        assert executable == 78

    # --- Kernels ---

    def moduleLoadData(self, cubin: bytes) -> int:
        self._meet("load")
        self.names[len(self.names) + 1] = cubin.decode()
        return len(self.names)

    def moduleGetFunction(self, module: int, name: str) -> int:
        del name
        return module

    def moduleUnload(self, module: int) -> None:
        del self.names[module]

    def funcSetAttribute(self, function: int, attribute: int, value: int) -> None:
        assert attribute == 8
        self.attributes.append((function, value))

    def occupancyMaxActiveBlocksPerMultiprocessor(self, function: int, threads: int, shared: int) -> int:
        del function, threads
        return 4 if shared == 0 else 1

    def launchKernel(self, function: int, *call: int) -> None:
        self._meet("launch")
        name = self.names[function]
        pointers = ctypes.cast(call[8], ctypes.POINTER(ctypes.c_void_p))
        count = self.arity.get(name.rpartition("::")[2], 0)
        # like the driver, take the arguments now: the caller may change them for the next launch
        arguments = [ctypes.string_at(pointers[index] or 0, 8) for index in range(count)]
        self.launches.append((name, call[:6], call[6], arguments))
        self._enqueue(name, lambda: self._execute(name, arguments))

    def _execute(self, name: str, arguments: list[bytes]) -> None:
        numbers = [int.from_bytes(argument, "little") for argument in arguments]
        if name.endswith("blocker"):
            ticket = numbers[2] & 0xFFFFFFFF
            if ctypes.c_uint32.from_address(numbers[0]).value != ticket:
                ctypes.c_uint32.from_address(numbers[1]).value = ticket
        elif name.endswith("stamp"):
            slots = (ctypes.c_uint64 * 2).from_address(numbers[0])
            slots[0], slots[1] = int(self.now_us * 1e3) + 1, int(self.now_us * self.mhz) + 1
        else:
            self.now_us += self.kernel_us


def compile_nothing(source: str, kernel: str, arch: str) -> CompiledKernel:
    """Stand in for NVRTC: the machine code is the kernel's name."""
    resources = KernelResources(kernel, "0" * 64, 32, 0, 1024)
    return CompiledKernel(source, kernel, arch, kernel.encode(), kernel, resources, cached=False)
