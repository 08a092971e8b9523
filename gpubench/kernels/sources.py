"""Where cuda_src lies, and what one source needs to compile: its own text and that of every header it includes.

Only files under the root of a source tree are ever read: names are relative, `..` and links that lead outside are
refused, and so is any `#include` that is not the plain quoted name of a file in the tree. The compiler gets all texts
in memory and needs no search path.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path, PurePosixPath

from gpubench.errors import CompileError, UsageError

OVERRIDE = "GPUBENCH_CUDA_SRC"
"""Environment variable: a cuda_src folder to use in place of the package's own, as for comparing two checkouts."""

SECOND = "GPUBENCH_CUDA_SRC_B"
"""Environment variable: the cuda_src folder of sources named `@b/...`, for running two checkouts in one process."""

SECOND_PREFIX = "@b/"

MAX_FILE_BYTES = 1 << 20

CHECKS = "arguments"
"""The name of the text that stands behind a foreign source and asserts its parameters' types."""

HOST_ONLY = "gpubench/target/host"
"""Headers whose names begin so serve the host simulator: the GPU's compiler never reads them."""

_DIRECTIVE = re.compile(r"^[ \t]*(?:#|%:|\?\?=)[ \t]*(?:include|import|include_next|embed)\b(.*)$", re.MULTILINE)
_QUOTED = re.compile(r'\s*"([^"\\]+)"\s*(?://.*|/\*.*)?$')


@dataclass(frozen=True, slots=True)
class Program:
    """One source with the headers it reaches, each as (name in the `#include`, text), in the order they were met.

    `options` are the compiler's, beside those that every kernel has.
    """

    name: str
    text: str
    headers: tuple[tuple[str, str], ...]
    options: tuple[str, ...] = ()

    @property
    def file_names(self) -> frozenset[str]:
        """The names under which a compiler reports the files."""
        return frozenset((self.name, CHECKS, *(name for name, _ in self.headers)))


@dataclass(frozen=True)
class SourceTree:
    """A cuda_src folder. Includes are looked up in `include/`, then in the folder itself."""

    root: Path

    @cached_property
    def _real_root(self) -> Path:
        return self.root.resolve()

    def path(self, source: str) -> Path:
        """Return the real path of a file named relative to the root.

        UsageError when the name is absolute, leads outside the tree (by `..` or a link) or names no file.
        """
        pure = PurePosixPath(source)
        if pure.is_absolute() or ".." in pure.parts or "\\" in source or "\0" in source:
            raise UsageError(f"{source!r} is not the name of a kernel source: names are relative to {self.root}.")
        try:
            real = self._real_root.joinpath(pure).resolve(strict=True)
        except (OSError, RuntimeError) as error:
            raise UsageError(f"There is no kernel source {source!r} in {self.root}.") from error
        if not real.is_relative_to(self._real_root) or not real.is_file():
            raise UsageError(f"{source!r} leads outside {self.root}; kernel sources must lie in it.")
        return real

    def read(self, source: str) -> str:
        """Return the text of a file of the tree. UsageError when it cannot be read as UTF-8 or is over 1 MiB."""
        path = self.path(source)
        try:
            if path.stat().st_size > MAX_FILE_BYTES:
                raise UsageError(f"{source} is larger than {MAX_FILE_BYTES} bytes, which no kernel source is.")
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"The kernel source {source} cannot be read: {error}") from error

    def program(self, source: str) -> Program:
        """Return the source with all its headers. CompileError for an `#include` of anything but a file of the tree."""
        text = self.read(source)
        found: dict[str, str] = {}
        waiting = _includes(source, text)
        while waiting:
            name, origin = waiting.pop(0)
            if name in found or name.startswith(HOST_ONLY):
                continue
            found[name] = self._header(name, origin)
            waiting += _includes(name, found[name])
        return Program(source, text, tuple(found.items()))

    def _header(self, name: str, origin: str) -> str:
        """Return the text of an included file; `origin` is where the include stands."""
        places = [folder + name for folder in ("include/", "") if self.root.joinpath(folder + name).is_file()]
        if not places:
            raise CompileError(f"{origin}: there is no {name!r} in {self.root}/include or {self.root}.")
        try:
            return self.read(places[0])
        except UsageError as error:
            raise CompileError(f"{origin}: cannot include {name!r}: {error}") from error


def _includes(name: str, text: str) -> list[tuple[str, str]]:
    """Return (included name, `file:line`) of each include of a text."""
    spliced = text.replace("\\\r\n", "").replace("\\\n", "")
    result = []
    for match in _DIRECTIVE.finditer(spliced):
        origin = f"{name}:{spliced.count(chr(10), 0, match.start()) + 1}"
        quoted = _QUOTED.match(match.group(1))
        if quoted is None:
            raise CompileError(
                f'{origin}: {match.group(0).strip()[:80]}: kernels include only files of their own tree, as "name".'
            )
        result.append((quoted.group(1), origin))
    return result


def package_root() -> Path:
    """Return the cuda_src folder that belongs to this package: inside it in a wheel, beside it in a checkout."""
    package = Path(str(resources.files("gpubench")))
    for candidate in (package / "cuda_src", package.parent / "cuda_src"):
        if (candidate / "include" / "gpubench" / "platform.cuh").is_file():
            return candidate
    raise UsageError(f"The kernel sources (cuda_src) are missing beside {package}. Install gpubench again.")


def default_tree() -> SourceTree:
    """Return the tree named by GPUBENCH_CUDA_SRC, else the package's own. UsageError when it is no such folder."""
    return _named_tree(OVERRIDE) or SourceTree(package_root())


def tree_of(source: str) -> tuple[SourceTree, str]:
    """Return the tree that a launch's source lies in, and its name there: `@b/...` lies in GPUBENCH_CUDA_SRC_B."""
    if not source.startswith(SECOND_PREFIX):
        return default_tree(), source
    tree = _named_tree(SECOND)
    if tree is None:
        raise UsageError(f"{source}: {SECOND} does not say where the second cuda_src folder is.")
    return tree, source.removeprefix(SECOND_PREFIX)


def _named_tree(variable: str) -> SourceTree | None:
    named = os.environ.get(variable)
    if not named:
        return None
    root = Path(named)
    if not (root / "include" / "gpubench" / "platform.cuh").is_file():
        raise UsageError(f"{variable}={named}: not a cuda_src folder (no include/gpubench/platform.cuh in it).")
    return SourceTree(root)
