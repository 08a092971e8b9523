"""What an entry of a tuning was made for, as one hash: kernels with all that they include, and what was declared."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterable

from gpubench.errors import CompileError, UsageError
from gpubench.kernels.sources import default_tree
from gpubench.operators.constants import Regime

MISSING = "missing"
"""In place of the hash of a source that is not there any more."""


def sources_sha256(sources: Iterable[str], regime: Regime) -> str:
    """Return the hash of kernel sources under cuda_src, their headers, and the regime with its constants.

    What a rule does beside its constants is left out: other rules make other plans, and the constants stay what was
    measured on these kernels.
    """
    declared = [
        regime.when,
        [[constant.name, constant.shipped, constant.others] for constant in regime.tune],
        regime.constraints,
    ]
    parts = [json.dumps(declared), *(_program(name) for name in sorted(set(sources)))]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def files_sha256(hashes: Iterable[str], regime: Regime) -> str:
    """Return the same for a kernel that a suite brings, from the hashes of its files."""
    declared = [
        regime.when,
        [[constant.name, constant.shipped, constant.others] for constant in regime.tune],
        regime.constraints,
    ]
    return hashlib.sha256("\n".join([json.dumps(declared), *sorted(hashes)]).encode()).hexdigest()


def _program(source: str) -> str:
    tree = default_tree()
    return _hash(str(tree.root), source)


@functools.lru_cache(maxsize=512)
def _hash(root: str, source: str) -> str:
    del root  # the key of the cache
    try:
        program = default_tree().program(source)
    except (UsageError, CompileError):
        return f"{source} {MISSING}"
    digest = hashlib.sha256(program.text.encode())
    for name, text in sorted(program.headers):
        digest.update(f"\0{name}\0{text}".encode())
    return f"{source} {digest.hexdigest()}"
