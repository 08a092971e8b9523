#!/usr/bin/env python3
"""Compare the machine code of every kernel instance in this tree with that of a revision: what did a change change?

    scripts/cubin_hashes.py --against main --operator cumsum -k rows
    scripts/cubin_hashes.py --against v0.1 --all --renamed turned_=transposed_

An instance is what a variant names for a dtype. Its hash covers instructions, constants and shared memory. It leaves
out line tables and the kernel's own name, so a kernel that was renamed or moved keeps its hash. Without --all only a
sample of dtypes is compiled. No GPU is needed.
The exit code is 1 when code differs, or when an instance is there on one side only.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from gpubench.errors import GpubenchError  # noqa: E402 - the checkout must be found first
from gpubench.kernels import cache, nvrtc  # noqa: E402
from gpubench.kernels.elf import code_sha256  # noqa: E402
from gpubench.kernels.sources import Program, SourceTree  # noqa: E402

SAMPLE = ("float32", "bfloat16", "float64", "int8", "int32", "complex128")
BATCH = 12

LISTING = """
import json
from gpubench.operators import OPERATORS
print(json.dumps([
    (name, variant.name, dtype, source, kernel)
    for name, operator in OPERATORS.items() for variant in operator.variants for dtype in operator.dtypes
    for source, kernel in dict.fromkeys(variant.instances(dtype))
]))
"""


@dataclass(frozen=True)
class Instance:
    """One kernel of one source file."""

    source: str
    kernel: str


@dataclass(frozen=True)
class Job:
    """Some instances of one program."""

    program: Program
    kernels: tuple[str, ...]
    arch: str


def instances(root: Path, options: argparse.Namespace) -> dict[Instance, str]:
    """Return the instances of a tree that the filters keep, each with its operator."""
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, "-c", LISTING], env=environment, cwd=root, capture_output=True, text=True, check=True
    )
    wanted = re.compile(options.expression)
    dtypes = options.dtypes.split(",") if options.dtypes else SAMPLE
    return {
        Instance(source, kernel): operator
        for operator, variant, dtype, source, kernel in json.loads(done.stdout)
        if (options.all or dtype in dtypes)
        and options.operator in (None, operator)
        and wanted.search(f"{variant} {source} {kernel}")
    }


def jobs(root: Path, found: Iterable[Instance], arch: str) -> list[Job]:
    """Return the work: programs of up to BATCH instances."""
    tree = SourceTree(root / "cuda_src")
    sources: dict[str, list[str]] = {}
    for instance in found:
        sources.setdefault(instance.source, []).append(instance.kernel)
    result = []
    for source, kernels in sources.items():
        program, ordered = tree.program(source), sorted(kernels)
        result += [Job(program, tuple(ordered[at : at + BATCH]), arch) for at in range(0, len(ordered), BATCH)]
    return result


def hashes_of(job: Job) -> dict[Instance, str]:
    """Compile a job, or take its hashes from the cache."""
    entry = cache.key(
        job.program, job.kernels, f"nameless hashes {job.arch}", nvrtc.options(job.program), nvrtc.identity()
    )
    found = cache.load(entry)
    if found is None:
        output = nvrtc.compile_program(job.program, job.kernels, job.arch)
        hashes = {name: code_sha256(output.cubin, output.lowered_names[name], named=False) for name in job.kernels}
        cache.store(entry, hashes, b"")
    else:
        hashes = found[0]
    return {Instance(job.program.name, name): hashes[name] for name in job.kernels}


def compiled(work: Sequence[Job], processes: int) -> dict[Instance, str]:
    """Return the hash of every instance."""
    result: dict[Instance, str] = {}
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        for done, hashes in enumerate(pool.map(hashes_of, work), 1):
            result.update(hashes)
            print(f"\r{done} of {len(work)} programs", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return result


def checkout(revision: str, folder: str) -> Path:
    """Put the code of a revision into a folder."""
    archive = subprocess.run(
        ["git", "archive", revision, "gpubench", "cuda_src"], cwd=ROOT, check=True, capture_output=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
    return Path(folder)


def renamed(kernel: str, pairs: Sequence[str]) -> str:
    """Return the name that a kernel of the revision has here."""
    for pair in pairs:
        old, new = pair.split("=")
        kernel = kernel.replace(old, new)
    return kernel


def compare(before: dict[str, str], after: dict[str, str]) -> int:
    """Print what differs, then how much does not; return 1 where anything differs."""
    changed = [name for name in after if name in before and before[name] != after[name]]
    gone, new = [name for name in before if name not in after], [name for name in after if name not in before]
    for word, names in (("changed", changed), ("gone", gone), ("new", new)):
        for name in names:
            print(f"{word}\t{name}")
    same = len(after) - len(changed) - len(new)
    print(f"{same} instances have the same machine code, {len(changed)} another, {len(gone)} gone, {len(new)} new")
    return 1 if changed or gone or new else 0


def parsed() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", metavar="REVISION", help="without it, the hashes of this tree are printed")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--operator")
    parser.add_argument("--dtypes", metavar="NAMES", help=f"separated by commas; without it {','.join(SAMPLE)}")
    parser.add_argument("--all", action="store_true", help="all dtypes")
    parser.add_argument("-k", dest="expression", default="", help="a pattern that variant, file or kernel has")
    parser.add_argument("--renamed", action="append", default=[], metavar="OLD=NEW", help="in names of kernels")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    return parser.parse_args()


def main() -> int:
    """Compile what differs in text, compare all."""
    options = parsed()
    here = instances(ROOT, options)
    after = compiled(jobs(ROOT, here, options.arch), options.jobs)
    if options.against is None:
        for instance, code in after.items():
            print(f"{code[:16]}\t{instance.source}\t{instance.kernel}")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        there = checkout(options.against, folder)
        before = compiled(jobs(there, instances(there, options), options.arch), options.jobs)
    return compare(
        {renamed(instance.kernel, options.renamed): code for instance, code in before.items()},
        {instance.kernel: code for instance, code in after.items()},
    )


if __name__ == "__main__":
    try:
        sys.exit(main())
    except GpubenchError as error:
        sys.exit(str(error))
