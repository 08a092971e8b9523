"""Operators declared from Python: found, checked and measured as those of a suite; mistakes name the fact at fault."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpubench as gb
from gpubench.errors import ParameterError, UsageError
from gpubench.operators import operator
from tests.engine.bed import script

FAST: dict[str, Any] = {"rounds": 2, "min_samples": 4, "max_samples": 8}
ROWS = {"x": gb.Operand("in", ["rows", "cols"]), "y": gb.Operand("out", ["rows", "cols"])}


@gb.operator(
    operands=ROWS,
    dtypes=["float32", "float16", "int32"],
    tolerance=gb.Tolerance(rtol={"float32": 1e-6, "fp16": 1e-3}),
    reads="rows * cols * itemsize",
)
def reversed_rows(x: Any, *, cols: int) -> Any:
    """Turn every row round."""
    assert x.shape[1] == cols
    return x[:, ::-1]


@gb.contender(reversed_rows, arrays="numpy")
def turned(x: Any, y: Any) -> None:
    """Do it."""
    y[...] = x[:, ::-1]


@gb.contender("reversed_rows", arrays="numpy")
def nearly_turned(x: Any, y: Any) -> None:
    """Be off by more than the tolerance in one element."""
    y[...] = x[:, ::-1]
    y[0, 0] *= 1.00001


@pytest.fixture
def device(tmp_path: Path) -> str:
    """Return a scripted device whose times count."""
    return script(tmp_path, info={"simulated": False}, times=[{"us": 20.0, "spread": 0.001}])


def test_a_declared_operator_is_timed_and_checked_by_its_reference(device: str) -> None:
    """One that is right is ok, one beyond the tolerance wrong with its place, and bytes are those declared."""
    one = gb.case(reversed_rows, rows=6, cols=7)
    assert (one.id, one.operator) == ("reversed_rows/rows=6/cols=7/float32", "reversed_rows")
    result = gb.run(one, contenders=[turned, nearly_turned, "numpy"], device=device, max_noise=1.0, **FAST)
    assert [record.status for record in result.records] == ["ok", "wrong", "ok"]
    assert "1 of 42 elements" in str(result.record("own:nearly_turned").message)
    assert result.records[0].bytes == 2 * 6 * 7 * 4
    assert reversed_rows(np.ones((1, 2)), cols=2).shape == (1, 2)


@pytest.mark.parametrize("dtype", ["float16", "int32"])
def test_each_dtype_has_its_own_tolerance(device: str, dtype: str) -> None:
    """Integers are exact; a short name of a dtype counts for the dtype."""
    one = gb.case("reversed_rows", rows=3, cols=5, dtype=dtype)
    result = gb.run(one, contenders=[turned], device=device, max_noise=1.0, **FAST)
    assert [record.status for record in result.records] == ["ok"]


def test_a_worker_is_not_asked_for_an_operator_that_only_this_process_knows(device: str) -> None:
    """Even where every contender is a library, the case runs where its reference is."""
    result = gb.run(gb.case(reversed_rows, rows=2, cols=2, contenders=["numpy"]), device=device, **FAST)
    assert [record.status for record in result.records] == ["ok"]
    assert result.set.extra["workers"] == 0


def test_a_suite_can_name_it(device: str) -> None:
    """Its axes are the keys of a case, with lists as for any operator."""
    suite = gb.suite({"name": "s", "cases": [{"operator": "reversed_rows", "rows": [2, 3], "cols": 4}]})
    assert [case.id for case in suite.cases] == [f"reversed_rows/rows={rows}/cols=4/float32" for rows in (2, 3)]
    result = gb.run(suite, contenders=[turned], device=device, **FAST)
    assert [record.status for record in result.records] == ["ok", "ok"]


def test_one_number_is_the_tolerance_of_every_output_dtype() -> None:
    """A number in place of a mapping counts for all dtypes that the output can have."""

    @gb.operator(operands=ROWS, dtypes=["float32", "float64"], tolerance=gb.Tolerance(1e-5, 1e-9), name="renamed")
    def unused(x: Any) -> Any:
        return x

    facts: Any = operator("renamed")
    assert facts.declared.tolerance.rtol == {"float32": 1e-5, "float64": 1e-5}
    assert facts.declared.tolerance.atol == {"float32": 1e-9, "float64": 1e-9}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"operands": {"x": gb.Operand("in", ["n"])}}, "operands: an operator writes one operand"),
        ({"operands": {**ROWS, "y": gb.Operand("out", ["rows +"])}}, r"operands\.y\.shape\[0\]: .*rows \+"),
        ({"dtypes": ["float23"]}, r"dtypes\[0\]: found the text 'float23'.* Did you mean float32"),
        ({"reads": "2 * depth"}, "reads: unknown name depth"),
        ({"tolerance": gb.Tolerance({"floot32": 1.0})}, r"tolerance\.rtol\.floot32: there is no dtype floot32"),
        ({"tolerance": gb.Tolerance(-1.0)}, r"tolerance\.rtol\.float32: found -1"),
        ({"name": "Softmax!"}, "name: found the text 'Softmax!'"),
        ({"name": "cumsum"}, "name: the name cumsum is taken"),
    ],
)
def test_a_fact_that_makes_no_sense_is_named(wrong: dict[str, Any], said: str) -> None:
    """One line with the fact and what is allowed, as for a suite."""
    with pytest.raises(ParameterError, match=said):
        gb.operator(**{"operands": ROWS, **wrong})(reversed_rows)


def test_mistakes_of_a_caller_are_told_before_anything_runs(device: str) -> None:
    """Nothing to declare, a function that is no operator, an axis that is missing, a reference of another shape."""
    with pytest.raises(ParameterError, match=r"operands: give them"):
        gb.operator()  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"@gb\.operator\(\.\.\.\)"):
        gb.case(print, rows=1)
    with pytest.raises(UsageError, match="cols"):
        gb.case(reversed_rows, rows=1)

    @gb.operator(operands=ROWS)
    def flat(x: Any) -> Any:
        return x.reshape(-1)

    @gb.contender(flat, arrays="numpy")
    def same(x: Any, y: Any) -> None:
        y[...] = x

    (record,) = gb.run(gb.case(flat, rows=2, cols=3), contenders=[same], device=device, **FAST).records
    assert record.status == "compile_error"
    assert record.message == "the reference flat returned shape [6], and y has [2, 3]"
