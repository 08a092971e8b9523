"""The simulator's libraries as Python sees them: the runtime, loaded once, and the kernels that run on it."""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpubench.devices.host_cache import code_sha256
from gpubench.devices.host_compiler import Build, ForeignBuild, kernel_library, runtime_library, shorten, source_lines
from gpubench.devices.host_foreign import shorten_own
from gpubench.errors import DeviceError, FatalDeviceError
from gpubench.model import Launch

ORDERS = ("forward", "reverse", "random")
STALL_LIMIT = 20000
"""Turns in which every thread of a launch only waited, after which it counts as a deadlock."""


class _Request(ctypes.Structure):
    """`gpubench::host::Request`."""

    _fields_ = (
        ("entry", ctypes.c_void_p),
        ("arguments", ctypes.c_void_p),
        ("arguments_bytes", ctypes.c_size_t),
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("order", ctypes.c_uint),
        ("seed", ctypes.c_uint64),
        ("workers", ctypes.c_uint),
        ("ordered", ctypes.c_uint),
        ("checked", ctypes.c_uint),
        ("stall_limit", ctypes.c_uint),
        ("kernel", ctypes.c_char_p),
    )


class _Report(ctypes.Structure):
    """`gpubench::host::Report`."""

    _fields_ = (
        ("kind", ctypes.c_int),
        ("line", ctypes.c_int),
        ("block", ctypes.c_uint * 3),
        ("thread", ctypes.c_uint * 3),
        ("calls", ctypes.c_uint64 * 8),
        ("other_offset", ctypes.c_uint64),
        ("buffer", ctypes.c_uint64),
        ("file", ctypes.c_char * 512),
        ("message", ctypes.c_char * 2048),
    )


@dataclass(frozen=True, slots=True)
class Schedule:
    """The order in which the threads of a block (and blocks, where they are independent) get their turns."""

    order: str = "forward"
    seed: int = 0

    def __str__(self) -> str:
        """Render as it is written on the command line."""
        return f"random:{self.seed}" if self.order == "random" else self.order


FORWARD = Schedule()


class Runtime:
    """The simulator. One a process: kernels find it by name when they are loaded."""

    def __init__(self, ucontext: bool = False) -> None:
        """Compile and load it. NoDeviceError without a compiler. `ucontext` takes the portable switch of fibers."""
        self._library = ctypes.CDLL(str(runtime_library(ucontext)), mode=ctypes.RTLD_GLOBAL)
        self._library.gpubench_host_buffer.argtypes = (ctypes.c_size_t, ctypes.c_size_t)
        self._library.gpubench_host_forget.argtypes = (ctypes.c_size_t,)
        self._library.gpubench_host_launch.argtypes = (ctypes.POINTER(_Request), ctypes.POINTER(_Report))
        for name, structure in (("request", _Request), ("report", _Report)):
            size = getattr(self._library, f"gpubench_host_{name}_bytes")
            size.restype = ctypes.c_size_t
            if size() != ctypes.sizeof(structure):
                raise DeviceError(f"The simulator's {name} has {size()} bytes, not {ctypes.sizeof(structure)}.")
        self._lock = threading.Lock()

    def know(self, address: int, nbytes: int) -> None:
        """Make a buffer known, so that a checked kernel may touch it."""
        self._library.gpubench_host_buffer(address, nbytes)

    def forget(self, address: int) -> None:
        """Take a buffer back."""
        self._library.gpubench_host_forget(address)

    def launch(self, request: _Request) -> _Report:
        """Run one launch to its end."""
        report = _Report()
        with self._lock:
            self._library.gpubench_host_launch(ctypes.byref(request), ctypes.byref(report))
        return report


@functools.cache
def runtime() -> Runtime:
    """Return the process's runtime."""
    return Runtime()


class KernelLibrary:
    """The compiled instances of one source."""

    def __init__(self, source: Path, kernels: Sequence[str], build: Build, foreign: ForeignBuild | None = None) -> None:
        """Compile (or take from the cache) and load. CompileError when it does not compile."""
        self.path = kernel_library(source, kernels, build, foreign)
        self.kernels = tuple(kernels)
        self.build: Build = build
        self.sha256 = code_sha256(self.path)
        self._library = ctypes.CDLL(str(self.path))

    def entry(self, kernel: str) -> int:
        """Return the address of a kernel's entry point."""
        function = getattr(self._library, f"gpubench_kernel_{self.kernels.index(kernel)}")
        return ctypes.cast(function, ctypes.c_void_p).value or 0

    def sizes(self, kernel: str) -> list[int]:
        """Return the sizes in bytes of a kernel's arguments."""
        function = getattr(self._library, f"gpubench_sizes_{self.kernels.index(kernel)}")
        function.restype = ctypes.POINTER(ctypes.c_size_t)
        table = function()
        sizes: list[int] = []
        while table[len(sizes)]:
            sizes.append(table[len(sizes)])
        return sizes


class BoundLaunch:
    """A launch with its arguments laid out, ready to run again and again."""

    def __init__(self, launch: Launch, library: KernelLibrary, arguments: Sequence[bytes]) -> None:
        """Check the arguments against the kernel's and lay them out. DeviceError when they do not fit."""
        self.launch = launch
        self.library = library
        wanted, given = library.sizes(launch.kernel), [len(argument) for argument in arguments]
        if wanted != given:
            raise DeviceError(f"{launch.kernel} takes arguments of {wanted} bytes, but was given {given}.")
        pointers = 8 * len(arguments)
        offsets = [pointers + 16 * sum(-(-size // 16) for size in given[:i]) for i in range(len(given))]
        total = offsets[-1] + given[-1] if given else 8
        self._memory = (ctypes.c_char * total)()
        start = ctypes.addressof(self._memory)
        for i, (offset, argument) in enumerate(zip(offsets, arguments, strict=True)):
            ctypes.c_uint64.from_buffer(self._memory, 8 * i).value = start + offset
            ctypes.memmove(start + offset, argument, len(argument))

    def run(self, schedule: Schedule, workers: int, buffers: Mapping[int, str]) -> None:
        """Run to the end. `buffers` names buffers by their start, for messages.

        DeviceError when the kernel breaks a rule of the platform; FatalDeviceError when the processor stopped it, after
        which memory is not to be trusted.
        """
        checked = {"fast": 0, "checked": 1, "sanitize": 2}[self.library.build]
        request = _Request(
            entry=self.library.entry(self.launch.kernel),
            arguments=ctypes.addressof(self._memory),
            arguments_bytes=ctypes.sizeof(self._memory),
            grid=self.launch.grid,
            block=self.launch.block,
            shared_bytes=self.launch.shared_bytes,
            order=ORDERS.index(schedule.order),
            seed=schedule.seed,
            workers=workers,
            ordered=self.launch.waits_for_blocks,
            checked=checked,
            stall_limit=STALL_LIMIT,
            kernel=self.launch.kernel.encode(),
        )
        report = runtime().launch(request)
        if report.kind:
            error = FatalDeviceError if report.kind == 2 else DeviceError
            raise error(self._describe(report, schedule, buffers))

    def _describe(self, report: _Report, schedule: Schedule, buffers: Mapping[int, str]) -> str:
        """Say what happened: the trouble first, then where."""
        message = report.message.decode(errors="replace")
        name = buffers.get(report.buffer, "")
        if name:
            message += f" (operand {name})"
        place = self._place(report)
        if report.other_offset:
            others = source_lines(self.library.path, [report.other_offset])
            message += f" (there: {_kernel_line(others)})" if others else ""
        where = [f"kernel {self.launch.kernel}", f"block {tuple(report.block)}", f"thread {tuple(report.thread)}"]
        return shorten_own(f"{message}\n  at {place}: {', '.join(where)}, schedule {schedule}")

    def _place(self, report: _Report) -> str:
        """Return the kernel's line, and the header's that it led to."""
        lines = source_lines(self.library.path, [offset for offset in report.calls if offset])
        if report.line:
            lines.insert(0, f"{shorten(report.file.decode(errors='replace'))}:{report.line}")
        if not lines:
            return self.launch.source
        line = _kernel_line(lines)
        header = next((other for other in lines if "target/host" not in other), line)
        return line if header == line else f"{line} (in {header})"


def _kernel_line(lines: Sequence[str]) -> str:
    """Return the innermost line that stands in a kernel's own file rather than in a header."""
    own = [line for line in lines if line.rpartition(":")[0].endswith(".cu")]
    return (own or lines)[0]
