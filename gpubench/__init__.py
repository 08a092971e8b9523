"""gpubench tells the truth about memory-bound GPU kernels: it times, checks and compares suites of operators."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Return a name of the Python API, which is imported when it is first used."""
    api = import_module("gpubench.api")  # imports nothing of its own before a name is used
    if name not in api.__all__:
        raise AttributeError(f"module 'gpubench' has no attribute {name!r}")
    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted((*globals(), *import_module("gpubench.api").__all__))
