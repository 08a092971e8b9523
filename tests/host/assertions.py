"""What C++ says of the host's numbers: static assertions behind headers of cuda_src, held by the host's compiler."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable

import pytest

from gpubench.devices.host_compiler import cuda_src, find_compiler
from gpubench.errors import NoDeviceError


def refused(sources: Iterable[str], text: str) -> str:
    """Return the compiler's complaints about the text behind these files; nothing where all of it holds."""
    try:
        compiler = find_compiler()
    except NoDeviceError as error:
        pytest.skip(str(error))
    root = cuda_src()
    flags = ("-std=c++20", "-w", "-fsyntax-only", "-I", str(root / "include"), "-I", str(root), "-x", "c++", "-")
    includes = "".join(f'#include "{source}"\n' for source in sources)
    done = subprocess.run([*compiler.command, *flags], input=includes + text, capture_output=True, text=True)
    assert (done.returncode != 0) == ("error" in done.stderr), done.stderr
    return done.stderr
