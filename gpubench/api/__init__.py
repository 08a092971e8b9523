"""gpubench from Python: the same runs, records and views as on the command line, in notebooks, scripts and tests.

    import gpubench as gb

    @gb.contender("cumsum", arrays="torch")
    def mine(x, y, *, dim): ...

    result = gb.run(gb.suite("peers"), contenders=[mine, "gpubench:auto", "torch"], keep="cumsum and float32")
    result.table()

docs/python.md has every function with examples.
"""

from gpubench.api.contenders import Operator, contender, operator
from gpubench.api.result import Compared, Result, read
from gpubench.api.run import case, run, suite

__all__ = ["Compared", "Operator", "Result", "case", "contender", "operator", "read", "run", "suite"]
