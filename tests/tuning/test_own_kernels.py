"""A suite's own kernel can be tuned like ours: its `tune`, constraints and regimes make a space."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpubench.errors import UnsupportedError
from gpubench.model import Plan
from gpubench.operators import operator
from gpubench.tuning.regimes import regimes_of, require_candidates
from gpubench.tuning.space import Space, Subject, spaces
from tests.own.bed import written
from tests.tuning.test_space import h200

KERNEL = """  - name: scan
    operator: cumsum
    source: scan.cu
    entry: "scan<{T}, {ITEMS}>"
    arguments: [x, y, rows, int32(row_size)]
    grid: ceil_div(rows, WARPS)
    block: [32, WARPS]
    constants: {ITEMS: 4}
    tune: {ITEMS: [2, 4, 8], WARPS: [4, 8]}
    constraints: ["ITEMS * WARPS <= 32", "ITEMS * 32 <= row_size"]
    regimes: {short: row_size <= 100}
"""
CASES = "  - {operator: cumsum, shape: [[4096, 100], [4096, 1000]], dim: 1, contenders: ['own:scan']}\n"


def found(folder: Path) -> list[Space]:
    """Return the kernel's spaces over the suite's cases."""
    suite = written(folder, KERNEL, {}, CASES)
    [origin] = suite.brings
    return spaces(Subject(operator("cumsum"), origin.brought.kernels[0], str(folder)), suite.cases, h200())


def test_tune_constraints_and_regimes_make_spaces(tmp_path: Path) -> None:
    """Each regime has its cases and the configurations that its cases' sizes allow, `constants` the shipped values."""
    short, rest = found(tmp_path)
    assert [short.regime.name, rest.regime.name] == ["short", "all"]
    assert [case.id for case in short.cases] == ["cumsum/4096x100/dim=1/float32"]
    names = [entrant.name for entrant in rest.entrants]
    assert names[0] == "own:scan@shipped"
    assert set(names[1:]) == {
        "own:scan@WARPS=8",
        "own:scan@ITEMS=2",
        "own:scan@ITEMS=2+WARPS=8",
        "own:scan@ITEMS=8",
    }
    assert {entrant.name for entrant in short.entrants} == {
        "own:scan@shipped",
        "own:scan@ITEMS=2",
        "own:scan@ITEMS=2+WARPS=8",
    }


def test_constants_change_the_launch(tmp_path: Path) -> None:
    """The instance and the block follow the constants of a configuration."""
    _, rest = found(tmp_path)
    case = rest.cases[0]
    plan = rest.subject.plan(operator("cumsum").problem(case), h200(), {"ITEMS": 2, "WARPS": 8})
    assert isinstance(plan, Plan)
    [launch] = plan.launches
    assert launch.kernel == "scan<float, 2>"
    assert launch.block == (32, 8, 1)


def test_only_declared_values_may_be_asked_for(tmp_path: Path) -> None:
    """A contender's name cannot give an own kernel a constant that its suite does not list."""
    suite = written(tmp_path, KERNEL, {}, CASES)
    regimes = regimes_of(None, suite.brings[0].brought.kernels[0])
    require_candidates({"ITEMS": 8}, regimes, "own:scan")
    with pytest.raises(UnsupportedError, match="ITEMS of own:scan may be 4, 2, 8, not 3"):
        require_candidates({"ITEMS": 3}, regimes, "own:scan")
