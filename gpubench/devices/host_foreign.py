"""A user's plain CUDA on the host device: files made ready for the simulator, in a folder named by their contents."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import tempfile
from pathlib import Path

from gpubench.errors import CompileError, UnsupportedError
from gpubench.files import replace
from gpubench.kernels import cache
from gpubench.kernels.foreign import explained, texts_beside
from gpubench.kernels.plain_cuda import for_host
from gpubench.kernels.prebuilt import PREBUILT
from gpubench.model import Foreign
from gpubench.own.options import for_host as options_for_host

PRELUDE = "gpubench/target/host/cuda/names.hpp"
_PREFIX = re.compile(r"\S*/own-sources/[0-9a-f]{64}/")


def shorten_own(text: str) -> str:
    """Return text with the paths of users' sources as their authors know them: by their names beside the suite."""
    return _PREFIX.sub("", text)


def prepared(foreign: Foreign, source: str) -> tuple[Path, tuple[str, ...]]:
    """Return the source that the simulator takes, and the compiler's options for it.

    UnsupportedError, with word and line, for what the simulator cannot run; CompileError for an include that leads out.
    """
    if source.endswith(PREBUILT):
        raise UnsupportedError(f"{source} is machine code of a GPU; the host device compiles a .cu")
    texts = texts_beside(foreign, source)
    ready = {name: for_host(name, text, frozenset(texts)) for name, text in texts.items()}
    digest = hashlib.sha256()
    for name, text in sorted(ready.items()):
        digest.update(f"{name}\0{len(text)}\0{text}".encode("utf-8", "surrogateescape"))
    root = _folder() / digest.hexdigest()
    for name, text in ready.items():
        _write(root / name, text.encode("utf-8", "surrogateescape"))
    return root / source, ("-I", str(root), *options_for_host(foreign.options))


def told(error: CompileError, foreign: Foreign, source: str, kernel: str) -> CompileError:
    """Return a compiler's error in the user's terms: one line where the suite is at fault."""
    return explained(CompileError(shorten_own(str(error))), kernel, source, texts_beside(foreign, source)[source])


def _write(path: Path, data: bytes) -> None:
    with contextlib.suppress(OSError):
        if path.read_bytes() == data:
            return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace(path, data, mode=0o600)


def _folder() -> Path:
    place = cache.folder()
    if place is not None:
        with contextlib.suppress(OSError):
            (place / "own-sources").mkdir(mode=0o700, parents=True, exist_ok=True)
            if os.access(place / "own-sources", os.W_OK):
                return place / "own-sources"
    return Path(_private().name) / "own-sources"


@functools.cache
def _private() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="gpubench-")
