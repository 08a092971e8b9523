"""gpubench tells the truth about memory-bound GPU kernels: it times, checks and compares suites of operators."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_API = (
    "Compared",
    "Operand",
    "Operator",
    "Result",
    "Tolerance",
    "case",
    "contender",
    "operator",
    "read",
    "run",
    "suite",
)


def __getattr__(name: str) -> Any:
    """Return a name of the Python API, which is imported when it is first used."""
    if name not in _API:
        raise AttributeError(f"module 'gpubench' has no attribute {name!r}")
    return getattr(import_module("gpubench.api"), name)


def __dir__() -> list[str]:
    return sorted((*globals(), *_API))
