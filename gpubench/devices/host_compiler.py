"""The system's C++ compiler: kernels and the simulator's runtime become shared libraries, cached by content."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import platform
import re
import shlex
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gpubench.children import Done, Limits, most_compiler_bytes, run
from gpubench.devices import host_cache
from gpubench.errors import CompileError, NoDeviceError, UsageError
from gpubench.files import fingerprint
from gpubench.kernels.sources import default_tree

Build = Literal["fast", "checked", "sanitize"]

_UNDEFINED = (
    "-fsanitize=signed-integer-overflow,shift,bounds,alignment,null,integer-divide-by-zero,unreachable,return,bool,enum,"
    "pointer-overflow"
)
_COMMON = (
    "-std=c++20",
    "-fPIC",
    "-g1",
    "-w",
    "-fvisibility=hidden",
    "-fno-strict-aliasing",
    "-fno-exceptions",
    "-fasynchronous-unwind-tables",
)
FLAGS: dict[Build, tuple[str, ...]] = {
    # No vectors: a thread is one lane and gains nothing by them, and with them g++ 12.2 gets a sum over rows wrong.
    "fast": ("-O2", "-fno-tree-vectorize", "-fwrapv", "-ffp-contract=off"),
    # The hooks of the thread sanitizer, answered by our own runtime: see target/host/access.hpp.
    "checked": ("-O1", "-ffp-contract=off", "-fsanitize=thread", _UNDEFINED),
    "sanitize": ("-O1", "-ffp-contract=off", "-fno-omit-frame-pointer", "-fsanitize=address", _UNDEFINED),
}
_RUNTIME = ("-std=c++20", "-O2", "-g1", "-fPIC", "-w", "-shared", "-pthread")
_SHOWN_ERRORS = 5
_REPORTING = {  # few errors, each at the line that the author wrote, not at the macro's
    "g++": (f"-fmax-errors={_SHOWN_ERRORS}", "-ftrack-macro-expansion=0"),
    "clang": (f"-ferror-limit={_SHOWN_ERRORS}",),
}
_OLDEST = {"g++": 12, "clang": 14}
_LONGEST_MESSAGE = 4000
_COMPILE_S = 300.0
_READ_BY_COMPILERS = (
    "CPATH",
    "CPLUS_INCLUDE_PATH",
    "LIBRARY_PATH",
    "COMPILER_PATH",
    "GCC_EXEC_PREFIX",
    "CCC_OVERRIDE_OPTIONS",
)
_SHORT_S = 30.0


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C++20 compiler: the words that call it, what it is, and the first line that it says about itself.

    `programs`: fingerprints of what runs when it is called, to tell builds of one version apart.
    """

    command: tuple[str, ...]
    family: Literal["g++", "clang"]
    version: str
    programs: tuple[str, ...] = ()

    @property
    def identity(self) -> tuple[str, ...]:
        """All that tells it from another."""
        return (*self.command, self.version, *self.programs)


@functools.cache
def find_compiler() -> Compiler:
    """Return the compiler of the environment variable CXX, else g++, else clang++. NoDeviceError when none will do."""
    named = os.environ.get("CXX")
    reasons: list[str] = []
    for words in [_words(named)] if named else [["g++"], ["clang++"]]:
        found = _try(words)
        if isinstance(found, Compiler):
            return found
        reasons.append(found)
    raise NoDeviceError(
        "The host device compiles the kernels with a C++20 compiler, and there is none: "
        + "; ".join(reasons)
        + ". Install the package g++ (12 or later; Debian and Ubuntu: apt install g++, Fedora: dnf install gcc-c++) "
        "or clang (14 or later), or name one in the environment variable CXX."
    )


def _words(named: str) -> list[str]:
    """Return the words of CXX. UsageError when a quote is open."""
    try:
        return shlex.split(named)
    except ValueError as error:
        raise UsageError(f"The environment variable CXX is {named!r}, which is no command line: {error}.") from error


def _try(words: Sequence[str]) -> Compiler | str:
    """Return the compiler that these words call, or why it will not do."""
    if not words or shutil.which(words[0]) is None:
        return f"{' '.join(words) or 'CXX'} was not found"
    done = _run([*words, "--version"])
    if done.code:
        return f"{words[0]} --version failed ({done.broken or done.output[:200].strip() or f'code {done.code}'})"
    said = done.output
    first = said.splitlines()[0] if said else ""
    family: Literal["g++", "clang"] = "clang" if "clang" in first else "g++"
    number = re.search(r"(\d+)\.\d+", first.rpartition(")")[2] or first) or re.search(r"(\d+)\.\d+", first)
    if number is None or int(number[1]) < _OLDEST[family]:
        return f"{words[0]} is {first!r}, and {family} {_OLDEST[family]} is the oldest that will do"
    return Compiler(tuple(words), family, first, _programs(words))


def _programs(words: Sequence[str]) -> tuple[str, ...]:
    """Return the fingerprints of a compiler: of the program that is called and of the one that does the work."""
    found = []
    for place in (shutil.which(words[0]), _run([*words, "-print-prog-name=cc1plus"], errors=False).output.strip()):
        with contextlib.suppress(OSError):
            found.append(fingerprint(Path(place or "").resolve(strict=True)))
    return tuple(found)


# --- Libraries -------------------------------------------------------------------------------------------------------


def cuda_src() -> Path:
    """Return the folder of the kernel sources."""
    return default_tree().root


def runtime_library(ucontext: bool = False) -> Path:
    """Compile the simulator's runtime and return its library. `ucontext` takes the portable, slow switch of fibers."""
    source = cuda_src() / "include/gpubench/target/host/runtime.cpp"
    flags = (*_RUNTIME, "-D_FORTIFY_SOURCE=0", *(("-DGPUBENCH_HOST_UCONTEXT=1",) if ucontext else ()))
    files = sorted(path for path in source.parent.iterdir() if path.is_file())
    return _library("runtime", [*flags, str(source), "-ldl"], files, link=None)


@dataclass(frozen=True, slots=True)
class ForeignBuild:
    """What a source that is not ours needs: a header before it, text behind it, and options."""

    prelude: str
    checks: str
    options: tuple[str, ...]


def kernel_library(source: Path, kernels: Sequence[str], build: Build, foreign: ForeignBuild | None = None) -> Path:
    """Compile one source for the kernel name expressions given, and return the library.

    It exports `gpubench_kernel_N` and `gpubench_sizes_N` for the Nth of them. CompileError with the first errors.
    """
    text = [f'#include "{source}"', '#include "gpubench/target/host/entry_point.hpp"']
    if foreign is not None:
        text = [f'#include "{foreign.prelude}"', *text, foreign.checks, '#line 1 "entry"']
    text += [f"GPUBENCH_ENTRY_POINT({number}, {kernel})" for number, kernel in enumerate(kernels)]
    root = _tree_above(source)
    include = root / "include"
    flags = [
        *_COMMON,
        *FLAGS[build],
        *_REPORTING[find_compiler().family],
        "-I",
        str(include),
        "-I",
        str(root),
        *(foreign.options if foreign is not None else ()),
        "-x",
        "c++",
        "-c",
        "-",
    ]
    link = ["-shared"]
    if build == "sanitize":
        link += ["-fsanitize=address", *(["-shared-libasan"] if find_compiler().family == "clang" else [])]
    files = _closure(source, include)
    if foreign is not None:
        files = sorted({*files, *_closure(include / foreign.prelude, include)})
    return _library(source.stem, flags, files, link=link, text="\n".join(text) + "\n")


def _tree_above(source: Path) -> Path:
    """Return the cuda_src folder that a source lies in (there may be two), the default one for a source outside."""
    return next(
        (folder for folder in source.parents if (folder / "include/gpubench/platform.cuh").is_file()), cuda_src()
    )


def _closure(source: Path, include: Path) -> list[Path]:
    """Return the source and every file of ours that it includes, directly or not."""
    found: dict[Path, None] = {}
    waiting = [source, include / "gpubench/target/host/entry_point.hpp"]
    while waiting:
        path = waiting.pop().resolve()
        if path in found or not path.is_file():
            continue
        found[path] = None
        names = re.findall(r'^\s*#\s*include\s*"([^"]+)"', path.read_text(), re.MULTILINE)
        for name in names:
            waiting += [path.parent / name, include / name, include.parent / name]
    return sorted(found)


def _library(name: str, flags: list[str], files: Iterable[Path], link: list[str] | None, text: str = "") -> Path:
    """Return the library for these inputs, compiled unless the cache has it."""
    compiler = find_compiler()
    known = [path.resolve() for path in files]
    key = hashlib.sha256()
    for part in (*compiler.identity, platform.machine(), *_environment(), *flags, *(link or []), text):
        key.update(part.encode("utf-8", "surrogateescape") + b"\0")
    for path in known:
        key.update(f"{path}\0".encode("utf-8", "surrogateescape") + hashlib.sha256(path.read_bytes()).digest())

    def make(made: Path) -> str:
        needs, half_way = made.with_suffix(".d"), made.with_suffix(".o")
        first = made if link is None else half_way
        _call([*compiler.command, *flags, "-MD", "-MF", str(needs), "-o", str(first)], text)
        if link is not None:
            _call([*compiler.command, *link, str(half_way), "-o", str(made)], "")
        return needs.read_text(encoding="utf-8", errors="surrogateescape")

    return host_cache.library(f"{name}-{key.hexdigest()[:32]}.so", known, make)


def _environment() -> list[str]:
    """Return the variables that change what a compiler reads."""
    return [f"{name}={os.environ[name]}" for name in _READ_BY_COMPILERS if name in os.environ]


def _call(command: list[str], text: str) -> None:
    """Call the compiler. CompileError with its first errors, paths shortened to those inside cuda_src."""
    done = _run(command, _COMPILE_S, text=text)
    if done.broken == "time":
        raise CompileError(f"The C++ compiler did not end within {_COMPILE_S:g} s.")
    if done.broken == "memory":
        raise CompileError(f"The C++ compiler took more than {most_compiler_bytes() / 1e9:.3g} GB of memory: killed.")
    if done.code:
        raise CompileError(_first_errors(done.output) or f"{command[0]} ended with code {done.code}.")


def _run(command: Sequence[str], seconds: float = _SHORT_S, *, text: str = "", errors: bool = True) -> Done:
    """Run a tool within limits, without the sanitizer that this process may have loaded: its shadow breaks them."""
    plain = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD" or "asan" not in value}
    most = most_compiler_bytes()
    return run(command, Limits(most, most, seconds), text=text, errors=errors, env=plain)


def _first_errors(said: str) -> str:
    lines = said.replace(f"{cuda_src()}{os.sep}", "").splitlines()
    errors = [line for line in lines if re.search(r"\berror:", line)]
    return "\n".join((errors or lines)[:_SHOWN_ERRORS])[:_LONGEST_MESSAGE]


def sanitizer_library() -> Path:
    """Return the compiler's AddressSanitizer library, which a process must load first. NoDeviceError without it."""
    compiler = find_compiler()
    name = "libasan.so" if compiler.family == "g++" else f"libclang_rt.asan-{platform.machine()}.so"
    said = _run([*compiler.command, f"-print-file-name={name}"], errors=False).output.strip()
    if not Path(said).is_absolute() or not Path(said).exists():
        raise NoDeviceError(f"{compiler.version} has no {name}: install the compiler's sanitizer libraries.")
    return Path(said).resolve()


def sanitizer_environment() -> dict[str, str]:
    """Return what a process must be started with that will load kernels of the build `sanitize`. NoDeviceError."""
    options = "detect_leaks=0:detect_stack_use_after_return=0:allocator_may_return_null=1:abort_on_error=1:symbolize=1"
    return {"LD_PRELOAD": str(sanitizer_library()), "ASAN_OPTIONS": options}


# --- Places in a library ---------------------------------------------------------------------------------------------


def source_lines(library: Path, offsets: Sequence[int]) -> list[str]:
    """Return the source lines (`file:line`, innermost first) of the calls before these offsets; empty when unknown."""
    if not offsets or shutil.which("addr2line") is None:
        return []
    asked = ["addr2line", "-i", "-e", str(library), *(hex(offset - 1) for offset in offsets)]
    try:
        said = _run(asked, errors=False).output
    except OSError:
        return []
    lines = [shorten(re.sub(r" \(.*\)$", "", line)) for line in said.splitlines()]
    return [line for line in lines if "?" not in line and "<stdin>" not in line]


def shorten(path: str) -> str:
    """Return a path as a reader knows it: relative to the folder of the kernel sources, if it lies there."""
    return os.path.normpath(path).removeprefix(f"{cuda_src()}{os.sep}")
