#!/usr/bin/env python3
"""Compile one instance of every kernel by the oldest NVRTC that pyproject.toml allows: newer ones take more.

    scripts/oldest_nvrtc.py [--arch sm_90] [--dtypes float32,int16]

The compiler is installed beside .venv's packages, not among them. No GPU is needed. The exit code is 1 when a kernel
does not compile.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import re
import subprocess
import sys
import tomllib
from concurrent.futures import ProcessPoolExecutor
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from gpubench.errors import GpubenchError  # noqa: E402 - the checkout must be found first

DTYPES = ("float32", "bfloat16", "int8")


def oldest() -> tuple[str, str]:
    """Return the package and the version (12.8, say) that the installed CuPy's extra begins with."""
    extra = (
        "cuda12" if any(distribution.name == "cupy-cuda12x" for distribution in metadata.distributions()) else "cuda13"
    )
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    needed = next(line for line in extras[extra] if line.startswith("nvidia-cuda-nvrtc"))
    found = re.match(r"([\w-]+)>=(\d+)(?:\.(\d+))?", needed)
    assert found is not None, needed
    return found[1], f"{found[2]}.{found[3] or 0}"


def install(package: str, version: str) -> Path:
    """Return the folder with that compiler's libraries, installed if it was not."""
    folder = Path(sys.prefix) / f"nvrtc-{version}"
    if not folder.is_dir():
        options = ("--quiet", "--disable-pip-version-check", "--root-user-action=ignore", "--no-deps")
        part = folder.with_name(f"{folder.name}.part")
        command = [sys.executable, "-m", "pip", "install", *options, f"{package}=={version}.*", "--target", str(part)]
        subprocess.run(command, check=True)
        part.rename(folder)
    return next(folder.rglob("libnvrtc.so*")).parent


def preload(libraries: str) -> None:
    """Load that compiler before anything looks for another."""
    for pattern in ("libnvrtc-builtins.so*", "libnvrtc.so*"):
        ctypes.CDLL(str(next(Path(libraries).glob(pattern))), mode=ctypes.RTLD_GLOBAL)


def programs(dtypes: tuple[str, ...]) -> dict[str, list[str]]:
    """Return for each source the first instance of each kernel for each dtype."""
    from gpubench.operators import OPERATORS

    found: dict[tuple[str, str, str], str] = {}
    for operator in OPERATORS.values():
        for variant in operator.variants:
            for dtype in set(dtypes) & set(operator.dtypes):
                for source, kernel in variant.instances(dtype):
                    found.setdefault((source, kernel.partition("<")[0], dtype), kernel)
    result: dict[str, list[str]] = {}
    for (source, _, _), kernel in sorted(found.items()):
        result.setdefault(source, []).append(kernel)
    return {source: list(dict.fromkeys(kernels)) for source, kernels in result.items()}


def compiled(work: tuple[str, list[str], str, str]) -> str:
    """Return what the compiler says against one source; nothing when all is well."""
    source, kernels, arch, version = work
    from gpubench.kernels import nvrtc
    from gpubench.kernels.sources import default_tree

    loaded = ".".join(str(part) for part in nvrtc.version())
    assert loaded == version, f"NVRTC {loaded} was loaded, {version} was wanted"
    try:
        nvrtc.compile_program(default_tree().program(source), kernels, arch)
    except GpubenchError as error:
        return f"{source}: {error}"
    return ""


def main() -> int:
    """Compile everything; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--arch", default="sm_90", help="architecture (default: sm_90)")
    parser.add_argument("--dtypes", default=",".join(DTYPES), help=f"dtypes (default: {','.join(DTYPES)})")
    options = parser.parse_args()
    package, version = oldest()
    libraries = str(install(package, version))
    os.environ["LD_LIBRARY_PATH"] = libraries  # for the children: NVRTC looks there for its builtins
    found = programs(tuple(options.dtypes.split(",")))
    work = [(source, kernels, options.arch, version) for source, kernels in found.items()]
    context = get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), mp_context=context, initializer=preload, initargs=(libraries,)) as pool:
        wrong = [said for said in pool.map(compiled, work) if said]
    print(
        "\n".join([*wrong, f"NVRTC {version}, {options.arch}: {len(work) - len(wrong)} of {len(work)} sources compile"])
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        raise SystemExit(main())
    except GpubenchError as error:
        print(error, file=sys.stderr)
        raise SystemExit(int(error.exit_code)) from None
