"""From name expressions to machine code: one instance for a launch, or a whole matrix in parallel processes."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from gpubench.errors import CompileError, UsageError
from gpubench.kernels import cache, nvrtc, pool, resources
from gpubench.kernels.elf import code_sha256, usage
from gpubench.kernels.estimate import Estimate, Progress
from gpubench.kernels.sources import Program, SourceTree, default_tree, tree_of
from gpubench.model import DeviceInfo, KernelResources, Launch

BATCH = 24
"""Instances compiled as one program by `compile_many`. Reading the headers takes 30 ms of CPU time, an instance 10 to
400: a larger batch saves little; a smaller one spreads better over processes."""

TOGETHER = "together"
"""In the entry of one instance: the key of the batch that holds its code. So a run finds what `compile` made."""

_ENTRY = re.compile(r"[0-9a-f]{64}")
_KERNEL = re.compile(r"[A-Za-z_][\w:]*(?:<[\w:<>, ]*>)?")


@dataclass(frozen=True, slots=True)
class Request:
    """One kernel instance for one architecture. `source` is a path under cuda_src, `kernel` a name expression."""

    source: str
    kernel: str
    arch: str

    @classmethod
    def of(cls, launch: Launch, device: DeviceInfo) -> Request:
        """Return the request for the kernel that a launch on a device takes."""
        return cls(launch.source, launch.kernel, device.arch)


@dataclass(frozen=True, slots=True)
class CompiledKernel:
    """Machine code of one instance. `cubin` may hold further kernels; `lowered_name` is this one's symbol in it.

    `resources.cubin_sha256` is the hash of this kernel's instructions, constants and shared memory.
    `cached`: it came from the cache on disk.
    """

    source: str
    kernel: str
    arch: str
    cubin: bytes
    lowered_name: str
    resources: KernelResources
    cached: bool


def compile_instance(
    source: str, kernel: str, arch: str, tree: SourceTree | None = None, program: Program | None = None
) -> CompiledKernel:
    """Return the machine code of one instance for an architecture such as `sm_90`, from the cache when it is there.

    `program`: its text and headers, where they do not lie in a tree of ours.

    CompileError when it does not compile; UsageError for a source outside the tree or an unknown architecture;
    MissingExtraError when NVRTC is not installed.
    """
    if program is None:
        tree, source = (tree, source) if tree is not None else tree_of(source)
        program = tree.program(source)
    return _compile(program, (kernel,), arch)[0]


def compile_many(
    requests: Sequence[Request],
    processes: int = 0,
    tree: SourceTree | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> list[CompiledKernel | CompileError]:
    """Compile all requests, several of one source together, and return one outcome each, in order.

    The outcomes leave `cubin` empty: the machine code of a whole matrix is most of a gigabyte, and stays in the cache.
    processes: how many work at the same time, each with its own NVRTC; whatever ends the wait for them ends them. 0
    works in this process, where a compilation cannot be interrupted. `watch` hears of each program that is done.
    UsageError and MissingExtraError are raised before anything is compiled, CompileError when a process is lost.
    """
    tree = tree or default_tree()
    for arch in {request.arch for request in requests}:
        nvrtc.check_architecture(arch)
    jobs = _jobs(requests, tree)
    outcomes: dict[Request, CompiledKernel | CompileError] = {}
    estimate = Estimate([(job.requests[0].source, len(job.requests)) for job in jobs], max(processes, 1))
    here = ((number, _timed(job)) for number, job in enumerate(jobs))
    with contextlib.closing(pool.each(_timed, jobs, processes) if processes and jobs else here) as results:
        for number, (result, seconds) in results:
            outcomes.update(zip(jobs[number].requests, result, strict=True))
            progress = estimate.after(number, seconds)
            if watch is not None:
                watch(progress)
    return [outcomes[request] for request in requests]


@dataclass(frozen=True, slots=True)
class _Job:
    """Some instances of one source for one architecture; `program` is None when its text was refused."""

    requests: tuple[Request, ...]
    program: Program | None
    refusal: str = ""


def _jobs(requests: Sequence[Request], tree: SourceTree) -> list[_Job]:
    groups: dict[tuple[str, str], dict[Request, None]] = {}
    for request in requests:
        groups.setdefault((request.source, request.arch), {})[request] = None
    programs: dict[str, Program | CompileError] = {}
    jobs = []
    for (source, _), members in groups.items():
        if source not in programs:
            programs[source] = _program(tree, source)
        program = programs[source]
        ordered = sorted(members, key=lambda request: request.kernel)
        for start in range(0, len(ordered), BATCH):
            part = tuple(ordered[start : start + BATCH])
            if isinstance(program, CompileError):
                jobs.append(_Job(part, None, str(program)))
            else:
                jobs.append(_Job(part, program))
    return _first_of_each(sorted(jobs, key=lambda job: -len(job.requests)))


def _first_of_each(jobs: Sequence[_Job]) -> list[_Job]:
    """Return the jobs with one of each source before all others, so that the time that is left can soon be told."""
    first = {job.requests[0].source: number for number, job in reversed(list(enumerate(jobs)))}
    ahead = sorted(first.values())
    return [jobs[number] for number in (*ahead, *sorted(set(range(len(jobs))) - set(ahead)))]


def _program(tree: SourceTree, source: str) -> Program | CompileError:
    try:
        return tree.program(source)
    except CompileError as error:
        return error


def _timed(job: _Job) -> tuple[list[CompiledKernel | CompileError], float]:
    """Compile a job and tell the seconds of wall time that it took; runs in a process of its own."""
    started = time.monotonic()
    return _run(job), time.monotonic() - started


def _run(job: _Job) -> list[CompiledKernel | CompileError]:
    """Compile a job."""
    if job.program is None:
        return [CompileError(job.refusal) for _ in job.requests]
    outcomes = _compile_or_split(job.program, tuple(request.kernel for request in job.requests), job.requests[0].arch)
    return [outcome if isinstance(outcome, CompileError) else replace(outcome, cubin=b"") for outcome in outcomes]


def _compile_or_split(program: Program, kernels: tuple[str, ...], arch: str) -> list[CompiledKernel | CompileError]:
    """Compile instances together; when that fails, halve until those at fault are alone."""
    try:
        return list(_compile(program, kernels, arch))
    except CompileError as error:
        if len(kernels) == 1:
            return [error]
    middle = len(kernels) // 2
    return _compile_or_split(program, kernels[:middle], arch) + _compile_or_split(program, kernels[middle:], arch)


def _compile(program: Program, kernels: tuple[str, ...], arch: str) -> list[CompiledKernel]:
    """Compile the instances of one program, or take them from the cache."""
    for kernel in kernels:
        if _KERNEL.fullmatch(kernel) is None:
            raise UsageError(f"{kernel!r} is not the name of a kernel instance.")
    entry = _key(program, kernels, arch)
    if (found := _kept_whole(program, kernels, arch, entry)) is not None:
        return found
    nvrtc.check_architecture(arch)
    with cache.alone(entry):  # workers of several devices meet the same kernels at the same moment
        found = _kept_whole(program, kernels, arch, entry)
        return _made(program, kernels, arch, entry) if found is None else found


def _kept_whole(program: Program, kernels: tuple[str, ...], arch: str, entry: str) -> list[CompiledKernel] | None:
    """Return the instances that are kept under a key; None when there are none that can be read."""
    found = _kept(entry)
    try:
        return None if found is None else [_restored(program, kernel, arch, found) for kernel in kernels]
    except (KeyError, TypeError, ValueError):
        return None  # written by another version with the same format number: compile anew and replace it


def _made(program: Program, kernels: tuple[str, ...], arch: str, entry: str) -> list[CompiledKernel]:
    """Compile and keep."""
    output = nvrtc.compile_program(program, kernels, arch)
    usages = resources.parse(output.log)
    compiled = [_described(program, kernel, arch, output, usages) for kernel in kernels]
    cache.store(entry, {kernel.kernel: _description(kernel) for kernel in compiled}, output.cubin)
    if len(kernels) > 1:
        for kernel in kernels:
            cache.store(_key(program, (kernel,), arch), {TOGETHER: entry}, b"")
    return compiled


def _key(program: Program, kernels: tuple[str, ...], arch: str) -> str:
    return cache.key(program, kernels, arch, nvrtc.options(program), nvrtc.identity())


def _kept(entry: str) -> tuple[dict[str, Any], bytes] | None:
    """Return what is kept under a key, or under the key of the batch that the instance was compiled in."""
    found = cache.load(entry)
    batch = found[0].get(TOGETHER) if found is not None else None
    return cache.load(batch) if isinstance(batch, str) and _ENTRY.fullmatch(batch) else found


def _described(
    program: Program, kernel: str, arch: str, output: nvrtc.Output, usages: dict[str, resources.Usage]
) -> CompiledKernel:
    lowered = output.lowered_names[kernel]
    told = usages.get(lowered) or _measured(output.cubin, lowered)
    figures = KernelResources(
        kernel=kernel,
        cubin_sha256=code_sha256(output.cubin, lowered),
        registers=told.registers,
        spill_bytes=told.spill_bytes,
        shared_bytes=told.shared_bytes,
        stack_bytes=told.stack_bytes,
    )
    return CompiledKernel(program.name, kernel, arch, output.cubin, lowered, figures, cached=False)


def _measured(cubin: bytes, symbol: str) -> resources.Usage:
    """Read the figures from the machine code, for a compiler that reports none. Spills are known only to be none."""
    registers, shared, frame = usage(cubin, symbol)
    return resources.Usage(registers, 0 if frame == 0 else None, frame, shared)


def _description(compiled: CompiledKernel) -> dict[str, Any]:
    return {"lowered_name": compiled.lowered_name, "resources": asdict(compiled.resources)}


def _restored(program: Program, kernel: str, arch: str, found: tuple[dict[str, Any], bytes]) -> CompiledKernel:
    description, cubin = found
    one = description[kernel]
    figures = KernelResources(**one["resources"])
    return CompiledKernel(program.name, kernel, arch, cubin, str(one["lowered_name"]), figures, cached=True)
