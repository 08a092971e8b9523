"""Sources that are not ours: a user's plain CUDA C++, with the headers that such files include.

Quoted includes are files beside it; angle brackets name headers of CUDA or of the short list that stands in for the
C library. Nothing else on the machine is opened.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib.util
import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path, PurePosixPath

from gpubench.errors import CompileError
from gpubench.kernels import elf, pool
from gpubench.kernels.arguments import require_fit
from gpubench.kernels.compiler import CompiledKernel, compile_instance
from gpubench.kernels.estimate import Estimate, Progress
from gpubench.kernels.lexer import Include, UnreadableIncludeError, blanked, includes
from gpubench.kernels.prebuilt import PREBUILT, prebuilt_kernel, ptx_parameters
from gpubench.kernels.sources import CHECKS, MAX_FILE_BYTES, Program
from gpubench.kernels.standard import STANDARD
from gpubench.model import Foreign, Launch

_NAME = re.compile(r"[\w.+-]+(?:/[\w.+-]+)*")


def foreign_program(foreign: Foreign, source: str) -> Program:
    """Return a source of a foreign folder with its headers, its options and the checks of its parameters behind it.

    CompileError for an include that is not allowed or not there.
    """
    folder = Path(foreign.folder)
    headers: dict[str, str] = {}
    text = _read(folder, source)
    waiting = [(source, text)]
    outside = False
    while waiting:
        name, content = waiting.pop(0)
        for include in _includes(name, content):
            found = _found(folder, include, name)
            outside = outside or found is None
            if found is not None and include.name not in headers:
                headers[include.name] = found
                waiting.append((include.name, found))
    options = foreign.options if not outside else (*foreign.options, f"-I{cuda_headers()}")
    return Program(source, text + foreign.checks, tuple(headers.items()), ("-default-device", *options))


def texts_beside(foreign: Foreign, source: str) -> dict[str, str]:
    """Return a source and every file of its folder that it includes, by name. CompileError as for `foreign_program`."""
    folder = Path(foreign.folder)
    found = {source: _read(folder, source)}
    waiting = [source]
    while waiting:
        name = waiting.pop(0)
        for include in _includes(name, found[name]):
            for beside in () if include.angle else (str(PurePosixPath(name).parent / include.name), include.name):
                if beside not in found and (folder / beside).is_file():
                    found[beside] = _read(folder, beside)
                    waiting.append(beside)
                    break
    return found


def compile_foreign(foreign: Foreign, source: str, kernel: str, arch: str) -> CompiledKernel:
    """Return the machine code of a kernel that is not ours: compiled, or as it lies in a .cubin or .ptx.

    CompileError, in one line where the suite is at fault.
    """
    if source.endswith(PREBUILT):
        return prebuilt_kernel(foreign, source, kernel, arch)
    program = foreign_program(foreign, source)
    try:
        return compile_instance(source, kernel, arch, program=program)
    except CompileError as error:
        raise explained(error, kernel, source, program.text) from error


def compile_launches(
    launches: Sequence[tuple[Launch, str]],
    processes: int,
    watch: Callable[[Progress], None] | None = None,
) -> list[CompiledKernel | CompileError]:
    """Compile the kernels of (launch, architecture) pairs side by side into the cache, hold each launch's arguments
    against its kernel, and return one outcome each, in order. The outcomes leave `cubin` empty.

    CompileError is raised when a process is lost.
    """
    if not launches:
        return []
    estimate = Estimate([(launch.source, 1) for launch, _ in launches], processes)
    outcomes: dict[int, CompiledKernel | CompileError] = {}
    with contextlib.closing(pool.each(_fitted, launches, processes)) as results:
        for number, (outcome, seconds) in results:
            outcomes[number] = outcome
            progress = estimate.after(number, seconds)
            if watch is not None:
                watch(progress)
    return [outcomes[number] for number in range(len(launches))]


def _fitted(work: tuple[Launch, str]) -> tuple[CompiledKernel | CompileError, float]:
    """Compile one launch and tell the seconds of wall time that it took; runs in a process of its own."""
    launch, arch = work
    assert launch.foreign is not None, "ours are compiled together"
    began = time.monotonic()
    try:
        compiled = compile_foreign(launch.foreign, launch.source, launch.kernel, arch)
        require_fit(launch, parameters_of(compiled))
        outcome: CompiledKernel | CompileError = replace(compiled, cubin=b"")
    except CompileError as error:
        outcome = error
    return outcome, time.monotonic() - began


def parameters_of(compiled: CompiledKernel) -> tuple[int, ...] | None:
    """Return the sizes of a kernel's parameters in bytes, None where its machine code does not tell."""
    if compiled.source.endswith(".ptx"):
        return ptx_parameters(compiled.cubin.decode("ascii", "replace"), compiled.lowered_name)
    return elf.parameters(compiled.cubin, compiled.lowered_name)


def _includes(name: str, text: str) -> list[Include]:
    try:
        found = includes(text)
    except UnreadableIncludeError as error:
        raise CompileError(f"{name}:{error.line}: {error}") from None
    for include in found:
        if _NAME.fullmatch(include.name) is None or ".." in include.name.split("/"):
            shown = ascii(include.name[:80])
            raise CompileError(f"{name}:{include.line}: {shown} leads out of the suite's folder; includes stay in it")
    return [include for include in found if include.is_code]


def _found(folder: Path, include: Include, origin: str) -> str | None:
    """Return the text of a header, None for one of CUDA's, which the compiler finds by itself."""
    beside = [] if include.angle else [str(PurePosixPath(origin).parent / include.name), include.name]
    for name in beside:
        if (folder / name).is_file():
            return _read(folder, name)
    if include.name in STANDARD:
        return STANDARD[include.name]
    root = cuda_headers()
    if root is not None and (root / include.name).is_file():
        return None
    where = "beside the source" if not include.angle else f"among CUDA's headers ({root or 'none are installed'})"
    raise CompileError(f"{origin}:{include.line}: there is no {include.name} {where}")


def _read(folder: Path, name: str) -> str:
    try:
        data = (folder / name).read_bytes()
        if len(data) > MAX_FILE_BYTES:
            raise CompileError(f"{name} is larger than {MAX_FILE_BYTES} bytes, which no kernel source is")
        return data.decode("utf-8").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise CompileError(f"{name} cannot be read: {error}") from error


# --- Messages --------------------------------------------------------------------------------------------------------

MARK = "gpubench: "
"""How the text of an assertion of ours begins, by which it is known in a compiler's log."""

_ASSERTED = re.compile(re.escape(MARK) + r'((?:[^"\\\n]|\\.)*)')
_TEMPLATE = re.compile(
    r"cannot determine which instance|incomplete type|no matching function|unable to deduce|not enough"
    r"|too few arguments|cannot resolve overloaded|template argument|address of overloaded"
)


def explained(error: CompileError, kernel: str, source: str, text: str) -> CompileError:
    """Return an error of the compiler as one line where the suite is at fault: its arguments, or its `entry`."""
    log, name = str(error), kernel.partition("<")[0]
    if not re.search(rf"^(?:{CHECKS}[(:]\d|in the name of the kernel)", log, re.MULTILINE):
        return error
    there = kernels_in(text)
    if name.rpartition("::")[2] not in there:
        near = difflib.get_close_matches(name, there, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(there) or 'no __global__ function'}"
        return CompileError(f"entry: {source} has no kernel {name}; {hint}")
    for word, header in _TYPES.items():
        if word in kernel and re.search(rf'"{word}" is undefined|{word}.{{1,3}} was not declared', log):
            return CompileError(f"entry: {kernel} needs a line #include <{header}> in {source}")
    if any(_TEMPLATE.search(line) for line in log.splitlines() if MARK not in line):
        return CompileError(
            f"entry: {kernel} does not name one kernel of {source}; a template takes its arguments in angle brackets, "
            f"such as {name}<{{T}}>, as many as it declares"
        )
    asserted = _ASSERTED.search(log)
    return error if asserted is None else CompileError(asserted[1].replace('\\"', '"').rstrip("'\" "))


_TYPES = {"__half": "cuda_fp16.h", "__nv_bfloat16": "cuda_bf16.h"}
_KERNEL = re.compile(r"\b__global__\b[^;{(]*?\b([A-Za-z_]\w*)\s*\(")


def kernels_in(text: str) -> list[str]:
    """Return the names of the kernels that a source defines, in order, as far as a reader can tell."""
    code = re.sub(r"__launch_bounds__\s*\([^)]*\)", "", blanked(text))
    return list(dict.fromkeys(_KERNEL.findall(code)))


@cache
def cuda_headers() -> Path | None:
    """Return the folder of CUDA's headers: of the package nvidia-cuda-runtime, or of a toolkit; None without one."""
    found = []
    spec = importlib.util.find_spec("nvidia")
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        found += [*sorted(Path(place).glob("cu1[0-9]/include"), reverse=True), Path(place, "cuda_runtime", "include")]
    found += [Path(root, "include") for root in (os.environ.get("CUDA_PATH"), "/usr/local/cuda") if root]
    return next((folder for folder in found if (folder / "cuda_fp16.h").is_file()), None)
