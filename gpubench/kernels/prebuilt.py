"""Machine code that a user brings, compiled already: a .cubin, or a .ptx that the driver compiles when it is loaded."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from gpubench.errors import CompileError
from gpubench.kernels import elf
from gpubench.kernels.compiler import CompiledKernel
from gpubench.model import Foreign, KernelResources

MAX_BYTES = 16 << 20
PREBUILT = (".cubin", ".ptx")

_ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*(?:\(([^)]*)\))?", re.DOTALL)
_TARGET = re.compile(r"^\s*\.target\s+sm_(\d+)", re.MULTILINE)
_PARAMETER = re.compile(
    r"\.param\b(?:\s*\.(?:align\s+\d+|ptr|global|const|shared|local|(?P<type>[bsuf]\d+)))+\s+[\w$]+(?:\[(?P<count>\d+)\])?"
)


def prebuilt_kernel(foreign: Foreign, source: str, symbol: str, arch: str) -> CompiledKernel:
    """Return a kernel of a .cubin or .ptx for an architecture such as `sm_90`.

    CompileError for a file that is none, one for another GPU, and a symbol that it does not have.
    """
    try:
        data = (Path(foreign.folder) / source).read_bytes()
    except OSError as error:
        raise CompileError(f"{source} cannot be read: {error}") from error
    if len(data) > MAX_BYTES:
        raise CompileError(f"{source} is larger than {MAX_BYTES >> 20} MiB")
    number = int(re.sub(r"\D", "", arch) or 0)
    return (
        _ptx(source, data, symbol, arch, number)
        if source.endswith(".ptx")
        else _cubin(source, data, symbol, arch, number)
    )


def _cubin(source: str, data: bytes, symbol: str, arch: str, number: int) -> CompiledKernel:
    try:
        target, names = elf.architecture(data), elf.kernels(data)
    except ValueError as error:
        raise CompileError(f"{source} is no CUBIN ({error}); make one with nvcc -cubin, or name a .ptx") from error
    if target // 10 != number // 10 or target > number:
        raise CompileError(f"{source} is for sm_{target}, and this GPU is {arch}: compile it for {arch}, or to .ptx")
    _require(source, symbol, names)
    registers, shared, frame = elf.usage(data, symbol)
    figures = KernelResources(
        symbol, elf.code_sha256(data, symbol), registers, 0 if frame == 0 else None, shared, frame
    )
    return CompiledKernel(source, symbol, arch, data, symbol, figures, cached=True)


def _ptx(source: str, data: bytes, symbol: str, arch: str, number: int) -> CompiledKernel:
    text = data.decode("ascii", "replace")
    target = _TARGET.search(text)
    if target is None:
        raise CompileError(f"{source} is no PTX: it has no .target")
    if int(target[1]) > number:
        raise CompileError(f"{source} is for sm_{target[1]} and later, and this GPU is {arch}")
    _require(source, symbol, [match[1] for match in _ENTRY.finditer(text)])
    figures = KernelResources(symbol, hashlib.sha256(data).hexdigest(), 0, None, 0)
    return CompiledKernel(source, symbol, arch, data + b"\0", symbol, figures, cached=True)


def _require(source: str, symbol: str, names: Sequence[str]) -> None:
    if symbol not in names:
        near = difflib.get_close_matches(symbol, names, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(names[:5]) or 'none'}"
        raise CompileError(f"{source} has no kernel {symbol}; {hint}")


def ptx_parameters(text: str, symbol: str) -> tuple[int, ...] | None:
    """Return the sizes of a kernel's parameters as PTX declares them; None where that cannot be read."""
    for match in _ENTRY.finditer(text):
        if match[1] == symbol:
            listed = match[2] or ""
            found = [
                int(parameter["type"][1:]) // 8 * int(parameter["count"] or 1)
                for parameter in _PARAMETER.finditer(listed)
                if parameter["type"]
            ]
            return tuple(found) if len(found) == listed.count(".param") else None
    return None
