"""Filters: an expression or a pattern keeps exactly the cases that it describes, and never runs code."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpubench.errors import UsageError
from gpubench.model import Case
from gpubench.suite.filters import compile_expression, select
from tests.suite.samples import cases_of

IDS = ("cumsum/4x8/dim=0/float32", "cumsum/4x8/dim=1/float16", "sum/16/dim=all/float32", "index_add/9/n=4/zipf/int8")
CASES = tuple(
    Case(
        case_id,
        case_id.split("/")[0],
        case_id.split("/")[-1],
        {},
        contenders=("gpubench:auto", "gpubench:naive", "numpy"),
    )
    for case_id in IDS
)


def kept(expression: str) -> list[int]:
    """Return the positions of the cases that an expression keeps."""
    return [IDS.index(case.id) for case in select(CASES, expression=expression)]


@pytest.mark.parametrize(
    ("expression", "positions"),
    [
        ("sum", [0, 1, 2]),
        ("cumsum", [0, 1]),
        ("CumSum", [0, 1]),
        ("not cumsum", [2, 3]),
        ("cumsum and dim=0", [0]),
        ("dim=0 or zipf", [0, 3]),
        ("not dim=0 and float32", [2]),
        ("not (dim=0 or zipf)", [1, 2]),
        ("zipf or cumsum and float16", [1, 3]),
        ("(zipf or cumsum) and float16", [1]),
        ("not not 4x8", [0, 1]),
        ("((sum))", [0, 1, 2]),
        ("sum/16", [2]),
    ],
)
def test_expressions_read_as_pytest_reads_them(expression: str, positions: list[int]) -> None:
    """Words are parts of the id; not binds before and, and before or; parentheses group."""
    assert kept(expression) == positions


words = st.sampled_from(["sum", "float32", "dim=0", "zipf", "x"])
expressions = st.recursive(
    words,
    lambda inner: st.one_of(
        inner.map(lambda expression: f"not {expression}"),
        inner.map(lambda expression: f"({expression})"),
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(" ".join),
    ),
    max_leaves=12,
)


@given(expressions, st.sampled_from(IDS))
def test_expressions_agree_with_python(expression: str, case_id: str) -> None:
    """Python's own and, or, not of the same words give the same answer."""
    spaced = expression.replace("(", " ( ").replace(")", " ) ").split()
    python = " ".join(token if token in {"and", "or", "not", "(", ")"} else str(token in case_id) for token in spaced)
    assert compile_expression(expression)(case_id) == eval(python)


@given(
    st.text(max_size=40)
    | st.lists(st.sampled_from(["a", "(", ")", "and", "or", "not", " "]), max_size=20).map(" ".join)
)
def test_any_text_is_an_expression_or_a_usage_error(text: str) -> None:
    """No text makes the parser fall over."""
    message = ""
    try:
        compile_expression(text)("a")
    except UsageError as error:
        message = str(error)
    assert message.isprintable()


@pytest.mark.parametrize(
    ("expression", "where"),
    [
        ("", "column 1: a word is missing before the end"),
        ("a and", "column 6: a word is missing before the end"),
        ("a or or b", "column 6: a word is missing before or"),
        ("(a", "column 3: a closing parenthesis is missing"),
        ("a)", "column 2: ')' stands where"),
        ("a b", "column 3: 'b' stands where"),
        ("(" * 500 + "a", "nested deeper"),
        ("not " * 499 + "a", "nested deeper"),
        ("a" * 3000, "at most 2000 characters"),
    ],
)
def test_wrong_expressions_point_at_the_place(expression: str, where: str) -> None:
    """A syntax mistake names its column and what is wrong, however deep it is nested."""
    with pytest.raises(UsageError) as caught:
        compile_expression(expression)
    assert where in str(caught.value)


def test_patterns_select_operator_dtype_and_contender() -> None:
    """Kinds are joined by and, values of a kind by or; contenders are cut down to those asked for."""
    assert [case.id for case in select(CASES, operators=["*sum"], dtypes=["float16", "int8"])] == [IDS[1]]
    found = select(CASES, contenders=["gpubench:*"], operators=["sum"])
    assert [case.contenders for case in found] == [("gpubench:auto", "gpubench:naive")]


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ({"expression": "cumsom"}, "cumsum"),
        ({"operators": ["index-add"]}, "index_add"),
        ({"dtypes": ["float64"]}, "float32"),
        ({"contenders": ["gpubench:navie"]}, "gpubench:naive"),
        ({"contenders": ["qqq"]}, "There is: gpubench:auto, gpubench:naive, numpy."),
    ],
)
def test_matching_nothing_names_the_nearest(filters: dict[str, object], message: str) -> None:
    """A filter that leaves nothing is a usage error that says which names come near, or which there are."""
    with pytest.raises(UsageError, match="matches none of the 4 cases") as caught:
        select(CASES, **filters)  # type: ignore[arg-type] # one of the keyword arguments each
    assert message in str(caught.value)


def test_no_filter_keeps_all() -> None:
    """Without filters the cases come back as they are."""
    assert select(CASES) == CASES


def test_short_names_of_dtypes_choose_the_dtype() -> None:
    """`--dtype bf16` and `-k "cumsum and fp16"` choose what the long names do, and the hint of a typo stays."""
    cases = cases_of("operator: cumsum, shape: [[4], [5]], dtype: [float16, bfloat16, int32]")
    for short, name in (("bf16", "bfloat16"), ("fp16", "float16"), ("f16", "float16"), ("i32", "int32")):
        assert select(cases, dtypes=[short]) == select(cases, dtypes=[name])
        assert select(cases, expression=f"4 and {short}") == select(cases, expression=f"4 and {name}")
    assert len(select(cases, dtypes=["bf16", "i32"])) == 4
    with pytest.raises(UsageError, match="The nearest there: bfloat16"):
        select(cases, dtypes=["bfloat"])
