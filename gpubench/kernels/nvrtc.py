"""NVRTC through CuPy's low-level binding: texts in, machine code (CUBIN) and log out. Needs no GPU and no driver."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from gpubench.errors import CompileError, MissingExtraError, UsageError
from gpubench.files import fingerprint
from gpubench.kernels.elf import complete
from gpubench.kernels.messages import own_errors
from gpubench.kernels.sources import Program

OPTIONS = ("--std=c++20", "--ptxas-options=-v")
"""What every kernel is compiled with, besides its architecture. No fast-math: the check expects IEEE arithmetic."""

LINES = "GPUBENCH_LINES"
"""Environment variable: when it is set kernels bring tables of their source's lines, for profilers and the like. The
machine code is the same; the tables cost 7 % of the time, and are two thirds of the CUBIN."""

_STANDARD = "--std="
_ARCH = re.compile(r"sm_(\d{2,3})")


def options(program: Program) -> tuple[str, ...]:
    """Return what a program is compiled with: its own options, and ours where it does not say another standard."""
    lines = ("-lineinfo",) if os.environ.get(LINES) and "-lineinfo" not in program.options else ()
    own_standard = any(option.lstrip("-").startswith("std=") for option in program.options)
    ours = (option for option in OPTIONS if not (own_standard and option.startswith(_STANDARD)))
    return (*ours, *lines, *program.options)


@dataclass(frozen=True, slots=True)
class Output:
    """What NVRTC made of one program. `lowered_names` maps each name expression to its symbol in the CUBIN."""

    cubin: bytes
    lowered_names: dict[str, str]
    log: str


@lru_cache(maxsize=1)
def binding() -> Any:
    """Return CuPy's NVRTC binding. MissingExtraError when CuPy or NVRTC itself is not installed."""
    try:
        from cupy_backends.cuda.libs import nvrtc

        nvrtc.getVersion()  # loads the library
    except ImportError as error:
        raise MissingExtraError("CuPy", "cuda13") from error
    except Exception as error:  # a missing library raises what the loader of that CuPy version likes
        raise MissingExtraError("NVRTC (the package nvidia-cuda-nvrtc)", "cuda13") from error
    return nvrtc


def version() -> tuple[int, int]:
    """Return NVRTC's version. MissingExtraError as in `binding`."""
    major, minor = binding().getVersion()
    return int(major), int(minor)


@lru_cache(maxsize=1)
def identity() -> str:
    """Return what tells this build of NVRTC from another of the same version: its files' fingerprints."""
    found = {f"nvrtc {version()}"}
    try:
        for line in Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines():
            path = line.partition("/")[2]
            if "libnvrtc" in path:
                library = Path("/", path).resolve(strict=True)
                found.update(fingerprint(part) for part in library.parent.glob("libnvrtc*.so*"))
    except OSError:
        pass  # a system that does not tell: the version must do
    return "\n".join(sorted(found))


def supported_architectures() -> tuple[str, ...]:
    """Return the names (sm_75 ...) of the architectures that this NVRTC compiles for."""
    return tuple(f"sm_{number}" for number in sorted(binding().getSupportedArchs()))


def check_architecture(arch: str) -> None:
    """Raise UsageError, with the list of what there is, for an architecture that this NVRTC does not know."""
    known = supported_architectures()
    if _ARCH.fullmatch(arch) is None or arch not in known:
        number = ".".join(str(part) for part in version())
        raise UsageError(f"NVRTC {number} does not compile for {arch!r}; it knows {', '.join(known)}.")


def compile_program(program: Program, kernels: Sequence[str], arch: str) -> Output:
    """Compile one program with the given instances (name expressions) to a CUBIN.

    CompileError with the first errors against the program's own lines when it does not compile.
    """
    nvrtc = binding()
    names = [name.encode() for name, _ in program.headers]
    texts = [text.encode() for _, text in program.headers]
    handle = nvrtc.createProgram(program.text, program.name, texts, names)
    try:
        for kernel in kernels:
            nvrtc.addNameExpression(handle, kernel)
        try:
            nvrtc.compileProgram(handle, [f"-arch={arch}", *options(program)])
        except nvrtc.NVRTCError as error:
            found = own_errors(nvrtc.getProgramLog(handle), program.file_names)
            what = kernels[0] if len(kernels) == 1 else f"{len(kernels)} kernels"
            raise CompileError(f"{what} of {program.name} for {arch} does not compile ({error}):\n{found}") from error
        return Output(
            cubin=complete(nvrtc.getCUBIN(handle)),
            lowered_names={kernel: nvrtc.getLoweredName(handle, kernel) for kernel in kernels},
            log=nvrtc.getProgramLog(handle),
        )
    finally:
        nvrtc.destroyProgram(handle)
