"""gpubench from Python: the same runs, records and views as on the command line, in notebooks, scripts and tests.

    import gpubench as gb

    @gb.contender("cumsum", arrays="torch")
    def mine(x, y, *, dim): ...

    result = gb.run(gb.suite("peers"), contenders=[mine, "gpubench:auto", "torch"], keep="cumsum and float32")
    result.table()

docs/python.md has every function with examples. A name's module is imported when it is first used, so that a command
may use one module of this package without the others.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpubench.api.contenders import contender
    from gpubench.api.operators import Operand, Operator, Tolerance, operator
    from gpubench.api.result import Compared, Result, read
    from gpubench.api.runs import case, run, suite

__all__ = [
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
]

_MODULES = {
    "contender": "contenders",
    **dict.fromkeys(("Operand", "Operator", "Tolerance", "operator"), "operators"),
    **dict.fromkeys(("Compared", "Result", "read"), "result"),
    **dict.fromkeys(("case", "run", "suite"), "runs"),
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'gpubench.api' has no attribute {name!r}")
    return getattr(import_module(f"gpubench.api.{_MODULES[name]}"), name)
