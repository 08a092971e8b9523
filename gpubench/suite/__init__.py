"""From a suite file to cases: read (safe YAML), schema (what may be written), expand (axes to cases), filters."""

import sys
import types
from importlib import import_module
from typing import Any


class _Package(types.ModuleType):
    """The package as a function, too: `gpubench.suite("smoke")` is that of the Python API (`gpubench.api`)."""

    def __call__(self, given: Any) -> Any:
        """Return the suite; see `gpubench.api.runs.suite`."""
        return import_module("gpubench.api").suite(given)


sys.modules[__name__].__class__ = _Package
