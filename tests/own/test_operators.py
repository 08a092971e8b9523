"""Operators, Python functions and shared libraries of one's own: right ones pass, each mistake is one line."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from gpubench.errors import SuiteError
from gpubench.model import Record
from tests.own.bed import on_host, written

OPERATOR = """operators:
  - name: scaled
    operands:
      x: {role: in, shape: [rows, cols]}
      y: {role: out, shape: [rows]}
    reference: what.py:scaled
    dtypes: [float32, float16, int32]
    tolerance: {rtol: {float32: 1.0e-6}, atol: {float32: 1.0e-6}}
    writes: rows * itemsize
"""
KERNEL = """  - name: plain
    operator: scaled
    source: plain.cu
    entry: "plain<{T}>"
    arguments: [x, y, cols]
    grid: rows
    block: 1
"""
SOURCE = """template <class T> __global__ void plain(const T* x, T* y, long long cols) {
  T sum = T(0);
  for (long long i = 0; i < cols; ++i) sum = sum + x[blockIdx.x * cols + i];
  y[blockIdx.x] = sum + sum;
}
"""
REFERENCE = "def scaled(x, *, cols):\n    assert x.shape[1] == cols\n    return 2 * x.sum(axis=1)\n"
CASES = "  - {operator: scaled, rows: 5, cols: [7, 8], dtype: float32}\n"
FILES = {"plain.cu": SOURCE, "what.py": REFERENCE}
PYTHON = """  - name: function
    operator: scaled
    python: mine.py:function
    arrays: numpy
"""


def test_a_declared_operator_is_one_like_ours(tmp_path: Path) -> None:
    """Ids, bytes, contenders by default, and answers held against the reference and the stated tolerance."""
    suite = written(tmp_path, KERNEL, FILES, CASES, OPERATOR)
    assert [case.id for case in suite.cases] == ["scaled/rows=5/cols=7/float32", "scaled/rows=5/cols=8/float32"]
    assert suite.cases[0].contenders == ("own:plain", "numpy")
    records = on_host(suite)
    assert [(record.contender, record.status) for record in records] == [("numpy", "ok"), ("own:plain", "ok")] * 2
    assert records[0].bytes == 5 * 7 * 4 + 5 * 4


def test_an_answer_beyond_the_tolerance_is_wrong(tmp_path: Path) -> None:
    """The bound is atol + rtol * |reference|, and one rounding of the dtype: a thousandth more is told."""
    suite = written(tmp_path, KERNEL, {**FILES, "plain.cu": SOURCE.replace("sum + sum;", "sum + sum + T(0.001f);")},
                    CASES, OPERATOR)  # fmt: skip
    wrong = [record for record in on_host(suite) if record.contender == "own:plain"]
    assert {record.status for record in wrong} == {"wrong"}
    exact = written(tmp_path, KERNEL, {**FILES, "plain.cu": SOURCE.replace("+ sum;", "+ sum + T(1);")},
                    CASES.replace("float32", "int32"), OPERATOR)  # fmt: skip
    assert {record.status for record in on_host(exact) if record.contender == "own:plain"} == {"wrong"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("def scaled(x):\n    return x\n", "the reference what.py:scaled returned shape [5, 7], and y has [5]"),
        ("def scaled(x):\n    return None\n", "the reference what.py:scaled returned"),
        ("def scaled(x, y):\n    return x\n", "the reference what.py:scaled failed: TypeError"),
        ("def scaled(x):\n    return x[:, 0] * 1j\n", "returned complex128, and y is float32"),
        ("def scald(x):\n    return x\n", "what.py has no function scaled; did you mean scald?"),
        ("import missing_package_of_mine\n", "what.py cannot be imported: ModuleNotFoundError"),
        ("def scaled(x)\n", "what.py cannot be imported: SyntaxError"),
        ("raise SystemExit(3)\n", "what.py cannot be imported: SystemExit: 3 (what.py:1)"),
    ],
)
def test_a_wrong_reference_is_one_line(tmp_path: Path, text: str, told: str) -> None:
    """Shape, dtype, signature, name and import of the reference: told for every contender, and no traceback."""
    suite = written(tmp_path, KERNEL, {**FILES, "what.py": text}, CASES.replace("[7, 8]", "7"), OPERATOR)
    for record in on_host(suite):
        assert record.status == "compile_error"
        assert told in (record.message or "")
        assert "\n" not in (record.message or "")


def function(folder: Path, text: str) -> Record:
    """Run a Python function of the suite's own, and return its record."""
    suite = written(folder, PYTHON, {**FILES, "mine.py": text}, CASES.replace("[7, 8]", "7"), OPERATOR)
    return next(record for record in on_host(suite) if record.contender == "own:function")


def test_a_python_function_writes_returns_or_prepares(tmp_path: Path) -> None:
    """All three forms give right answers; a helper beside it that the suite lists can be imported."""
    for number, text in enumerate(
        (
            "def function(x, y, *, cols):\n    y[:] = 2 * x.sum(axis=1)\n",
            "def function(x, y):\n    return 2 * x.sum(axis=1)\n",
            "def function(x, y):\n    def run():\n        y[:] = 2 * x.sum(axis=1)\n    return run\n",
        )
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        record = function(folder, text)
        assert record.status == "ok", record.message
        assert len(str((record.kernel or {})["cubin_sha256"])) == 64


@pytest.mark.parametrize(
    ("text", "status", "told"),
    [
        ("def function(x):\n    pass\n", "compile_error", "TypeError"),
        ("def function(x, y):\n    return y.missing\n", "compile_error", "AttributeError"),
        ("def function(x, y):\n    return x\n", "compile_error", "it returned shape"),
        ("def function(x, y):\n    raise NotImplementedError('not this')\n", "unsupported", "not this"),
        ("def function(x, y):\n    y[:] = 1\n", "wrong", "the output differs"),
        ("def functio(x, y):\n    pass\n", "compile_error", "did you mean functio?"),
        ("def function(x, y):\n    raise SystemError('odd')\n", None, "odd"),
    ],
)
def test_a_failing_python_function_is_one_line(tmp_path: Path, text: str, status: str | None, told: str) -> None:
    """What it raises becomes its record's message, with its own line where there is one."""
    record = function(tmp_path, text)
    assert record.status == status or status is None
    assert record.status not in ("ok", "noisy")
    assert told in (record.message or "")


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")
def test_a_shared_library_is_called_by_its_signature(tmp_path: Path) -> None:
    """Addresses, typed numbers and the returned code; a missing symbol and a code are one line each."""
    source = tmp_path / "mine.c"
    source.write_text(
        "int twice(const float* x, float* y, long long rows, int cols, void* stream) {\n"
        "  for (long long r = 0; r < rows; ++r) { float s = 0; for (int i = 0; i < cols; ++i) s += x[r * cols + i];"
        " y[r] = 2 * s; }\n  return stream ? 9 : 0; }\nint fails(void) { return 7; }\n"
    )
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(tmp_path / "mine.so"), str(source)], check=True)
    line = "  - {{name: {0}, operator: scaled, library: mine.so, symbol: {0}, signature: '{1}'}}\n"
    kernels = line.format("twice", "(x, y, rows, int32(cols), stream) -> int32") + line.format("fails", "() -> int32")
    suite = written(tmp_path, kernels + line.format("absent", "() -> void"), FILES, CASES, OPERATOR)
    found = {record.contender: record for record in on_host(suite) if "cols=7" in record.case.id}
    assert found["own:twice"].status == "ok"
    assert found["own:fails"].message == "fails of mine.so returned 7 (code 7)"
    assert 'mine.so has no symbol absent; a C++ function needs extern "C"' in (found["own:absent"].message or "")


OPERATOR_MISTAKES = [
    ("role: out", "role: in", "an operator writes one operand (out or inout); found 0"),
    ("name: scaled", "name: cumsum", "the name cumsum is taken"),
    ("shape: [rows, cols]", "shape: [dtype, cols]", "the name dtype is taken"),
    ("shape: [rows]", "shape: [rows()]", "there is no function rows"),
    ("reference: what.py:scaled", "reference: what.py", "allowed is file.py:function"),
    ("reference: what.py:scaled", "reference: /tmp/what.py:scaled", "in the suite's folder"),
    ("writes: rows * itemsize", "writes: rows * itmsize", "did you mean itemsize?"),
    ("{float32: 1.0e-6}, atol", "{float23: 1.0e-6}, atol", "there is no dtype float23. Did you mean float32?"),
]


@pytest.mark.parametrize(("before", "after", "told"), OPERATOR_MISTAKES, ids=lambda text: text[:20])
def test_a_mistake_in_an_operator_is_told_at_its_place(tmp_path: Path, before: str, after: str, told: str) -> None:
    """Roles, names, shapes, the reference and the tolerance are checked when the suite is read."""
    with pytest.raises(SuiteError) as caught:
        written(tmp_path, "", {}, CASES, OPERATOR.replace(before, after))
    assert any(told in str(problem) for problem in caught.value.problems), str(caught.value)


def test_axes_are_checked_like_any_parameter(tmp_path: Path) -> None:
    """A missing, negative or unknown axis is a mistake of the case."""
    for case, told in (("rows: 5", "the key cols is missing"), ("rows: -1, cols: 3", "allowed is 0 to"),
                       ("rows: 1, cols: 3, depth: 4", "there is no key 'depth'")):  # fmt: skip
        with pytest.raises(SuiteError, match=told):
            written(tmp_path, "", {}, f"  - {{operator: scaled, {case}}}\n", OPERATOR)
