"""What of this machine, apart from the GPU's own state, would stop a run or spoil it: drivers, compilers, places."""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from gpubench.devices import nvml
from gpubench.devices.health import Finding, Level
from gpubench.devices.nvml import CUDA_13
from gpubench.engine.lock import device_lock
from gpubench.engine.lock import folder as lock_folder
from gpubench.engine.memory import free_host_bytes
from gpubench.engine.supervisor import RunOptions, Supervisor
from gpubench.engine.workers import WorkerOptions
from gpubench.errors import GpubenchError, NoDeviceError, UsageError
from gpubench.extras import install_command
from gpubench.kernels import cache, nvrtc, sealed
from gpubench.kernels.compiler import compile_instance
from gpubench.kernels.sources import default_tree
from gpubench.model import Ceiling, Json

DISK_BYTES = 200 * 10**6
"""A result with a thousand cases has some 20 MB, its journal as much, the compile cache up to 512 MiB."""
HOST_BYTES = 4 * 10**9
"""Below this, references of cases that fill a GPU's caches several times are skipped."""
LOAD_A_CORE = 0.5
OPEN_TIMEOUT_S = 90.0
PROBE = ("harness/clock.cu", "gpubench::harness::stamp")
_NODES = ("nvidiactl", "nvidia-uvm")


def driver() -> list[Finding]:
    """Look for the NVIDIA driver and at the rights to use it."""
    version = nvml.driver_version()
    found: list[Finding] = []
    if version is None:
        found.append(Finding("driver", "machine", "blocks", "NVML finds no NVIDIA driver: no GPU can be used here."))
    else:
        cuda = nvml.cuda_version() or 0
        runs = f", runs CUDA {cuda // 1000}.{cuda % 1000 // 10}" if cuda else ""
        found.append(Finding("driver", "machine", "good", f"{version}{runs}."))
    nodes = [Path("/dev") / name for name in _NODES] + sorted(Path("/dev").glob("nvidia[0-9]*"))
    closed = [str(node) for node in nodes if node.exists() and not os.access(node, os.R_OK | os.W_OK)]
    if closed:
        message = f"{', '.join(closed)} cannot be read and written by this user: ask for the rights (group `video`?)."
        found.append(Finding("permissions", "machine", "blocks", message))
    return found


def compilers(arch: str | None) -> list[Finding]:
    """Look at the kernels' sources, at NVRTC by compiling a small kernel for `arch`, and for CUDA's headers."""
    return [*_sources(), *_nvrtc(arch), _cuda_headers()]


def _sources() -> Iterator[Finding]:
    """Check that every kernel source has all headers that it includes."""
    try:
        tree = default_tree()
        names = [path.relative_to(tree.root).as_posix() for path in sorted(tree.root.rglob("*.cu"))]
        for name in names:
            tree.program(name)
    except GpubenchError as error:
        yield Finding("headers", "machine", "blocks", str(error))
    else:
        yield Finding(
            "headers", "machine", "good", f"{len(names)} kernel sources with all their headers in {tree.root}."
        )


def _nvrtc(arch: str | None) -> Iterator[Finding]:
    try:
        major, minor = nvrtc.version()
        arch = arch or nvrtc.supported_architectures()[-1]
        compiled = compile_instance(*PROBE, arch)
    except GpubenchError as error:
        yield Finding("nvrtc", "machine", "blocks", str(error))
        return
    how = "from the cache" if compiled.cached else "just now"
    yield Finding("nvrtc", "machine", "good", f"NVRTC {major}.{minor} compiles for {arch} (a small kernel, {how}).")
    cuda = nvml.cuda_version()
    if cuda is not None and major > cuda // 1000:
        wanted = "cuda13" if cuda >= CUDA_13 else "cuda12"
        message = f"NVRTC {major} is newer than the driver's CUDA {cuda // 1000}: {install_command(wanted)}."
        yield Finding("nvrtc", "machine", "blocks", message)


def _cuda_headers() -> Finding:
    """Look for cuda_runtime.h: CuPy's own kernels need CUDA's headers, ours none."""
    for package in ("nvidia.cu13", "nvidia.cuda_runtime"):
        try:
            spec = importlib.util.find_spec(package)
        except (ImportError, ValueError):
            continue
        for place in spec.submodule_search_locations or () if spec else ():
            if (Path(place) / "include" / "cuda_runtime.h").is_file():
                return Finding("headers", "machine", "good", f"CUDA's headers in {place}, for the peer cupy.")
    for root in filter(None, (os.environ.get("CUDA_PATH"), "/usr/local/cuda")):
        if (Path(root) / "include" / "cuda_runtime.h").is_file():
            return Finding("headers", "machine", "good", f"CUDA's headers in {root}, for the peer cupy.")
    message = "CUDA's headers are missing: our kernels need none, the peers cupy and cub do (the package "
    return Finding("headers", "machine", "note", f"{message}nvidia-cuda-runtime).")


def host_compiler() -> Finding:
    """Look for the C++ compiler that the host simulator needs."""
    from gpubench.devices.host_compiler import find_compiler

    try:
        return Finding("compiler", "host", "good", f"{find_compiler().version}, for the host simulator.")
    except GpubenchError as error:
        return Finding("compiler", "host", "note", f"no host simulator: {error}")


def gpus() -> Iterator[tuple[Finding, dict[str, Json] | None]]:
    """Open each GPU that CUDA shows, as a run does, and yield what became of it, with its device block when it opened.

    Each in a worker: a driver that hangs is given up after 90 s, and this process never calls CUDA.
    """
    index = 0
    while True:
        spec = f"cuda:{index}"
        try:
            with Supervisor(RunOptions(WorkerOptions(spec, start_timeout_s=OPEN_TIMEOUT_S))) as supervisor:
                environment, _ = supervisor.open(Ceiling())
        except NoDeviceError as error:
            if index == 0:
                yield Finding("opening", "machine", "blocks", str(error)), None
            return
        except GpubenchError as error:
            yield Finding("opening", spec, "blocks", f"cannot be used: {error}"), None
            if index + 1 >= len(nvml.bus_ids()):
                return
        else:
            device = environment["device"]
            yield Finding("opening", spec, "good", f"{device.get('name')} opens."), device
        index += 1


def shared(spec: str, uuid: str) -> Finding:
    """Tell whether another gpubench measures on the device at this moment."""
    try:
        with device_lock(uuid) as missing:
            if missing is None:
                return Finding("processes", spec, "good", "no other gpubench measures on it.")
    except UsageError:
        return Finding("processes", spec, "spoils", "another gpubench measures on it now: wait for it.")
    return Finding("processes", spec, "note", "no lock can be made here: a second gpubench would not be noticed.")


def places(folder: Path) -> Iterator[Finding]:
    """Look at the folders that a run writes to: results under `folder`, compiled kernels, the device's lock."""
    yield _place("results", folder, "blocks", "results must be put elsewhere with -o")
    kept = cache.folder()
    if kept is None:
        yield Finding("cache", "machine", "note", "there is no cache folder: every run compiles anew. Set HOME.")
    elif (reason := sealed.problem(kept)) is not None:
        yield Finding("cache", "machine", "note", f"{kept} {reason}: every run compiles anew.")
    else:
        yield _place("cache", kept, "note", "every run compiles anew")
    yield _place("lock", lock_folder(), "note", "a second gpubench on the device would not be noticed")


def _place(area: str, folder: Path, level: Level, consequence: str) -> Finding:
    """Check that a file can be made in a folder (or above it, where it does not exist yet) and that there is room."""
    there = next((parent for parent in (folder, *folder.parents) if parent.exists()), Path("/"))
    try:
        with tempfile.TemporaryFile(dir=there):
            free = shutil.disk_usage(there).free
    except OSError as error:
        return Finding(area, "machine", level, f"{folder} cannot be written ({error.strerror}): {consequence}.")
    if free < DISK_BYTES:
        return Finding(area, "machine", "spoils", f"{folder} has {free / 1e6:.0f} MB free: a run may stop half-way.")
    return Finding(area, "machine", "good", f"{folder} can be written, {free / 1e9:.4g} GB free.")


def host_state() -> Iterator[Finding]:
    """Look at the host's free memory, at what else it computes, and at its clock."""
    free = free_host_bytes()
    if free is None:
        yield Finding("memory", "host", "note", "the free memory is not known.")
    elif free < HOST_BYTES:
        yield Finding(
            "memory", "host", "note", f"{free / 1e9:.3g} GB are free: cases whose reference needs more are skipped."
        )
    else:
        yield Finding("memory", "host", "good", f"{free / 1e9:.4g} GB are free.")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    load = os.getloadavg()[0]
    if load > LOAD_A_CORE * cores:
        message = f"{load:.1f} processes compete for {cores} cores: numpy's times and `hot` launches would be too long."
        yield Finding("load", "host", "spoils", message)
    else:
        yield Finding("load", "host", "good", f"{load:.1f} processes on {cores} cores over the last minute.")
    yield from _governor()


def _governor() -> Iterator[Finding]:
    try:
        name = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return
    if name != "performance":
        message = (
            f"the processor's governor is `{name}`: numpy's times wander (`cpupower frequency-set -g performance`)."
        )
        yield Finding("clocks", "host", "note", message)
