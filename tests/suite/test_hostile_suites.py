"""Hostile suites: any bytes give a SuiteError or a correct read, in bounded time and memory."""

from __future__ import annotations

import time
import tracemalloc

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gpubench.errors import SuiteError
from gpubench.suite.expand import MAX_CASES, Suite, expand
from gpubench.suite.locate import shipped_suites
from gpubench.suite.read import MAX_BYTES, MAX_MISTAKES, parse
from tests.suite.samples import mistakes

SMOKE = shipped_suites()["smoke"].read_bytes()


def read_or_refuse(data: bytes) -> Suite | None:
    """Expand the bytes; None when they are refused, with sane mistakes."""
    try:
        suite = expand(data, "f")
    except SuiteError as error:
        refused = error
    else:
        assert suite.cases
        assert len({case.id for case in suite.cases}) == len(suite.cases)
        return suite
    assert 1 <= len(refused.problems) <= MAX_MISTAKES + 1
    for problem in refused.problems:
        assert problem.line >= 1
        assert problem.column >= 1
        assert str(problem).isprintable()
        assert len(str(problem)) < 2000
    return None


N = MAX_BYTES
BOMBS = {
    "list": b"[" + b"1," * (N // 2 - 1),
    "depth": b"[" * N,
    "keys": b"".join(b"a%d: 1\n" % i for i in range(80_000)),
    "one key again and again": b"{" + b"a," * (N // 2 - 1),
    "anchors and tags": b"? &b !c d\n: &e !f g\n" * (N // 20),
    "documents": b"---\n" * (N // 4),
    "comments": b"#\n" * (N // 2),
    "a word": b"a: " + b"x" * (N - 3),
    "a number": b"a: " + b"9" * (N - 3),
    "folded lines": b"a: " + b"x\n  " * (N // 4 - 2),
    "billion laughs": b"a: &a [1,1,1,1,1,1,1,1,1]\n" + b"b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n" * 20_000,
    "placeholders": b"name: x\ncases: [{operator: cumsum, shape: [" + b'"{n}",' * 40_000 + b"]}]",
    "cases": b"name: x\ncases:\n" + b"- {operator: sum, shape: [1], x: 1}\n" * 5_000,
    "not a case": b"name: x\ncases: [" + b"1," * 45_000 + b"]",
    "not a shape": b"name: x\ncases: [{operator: cumsum, shape: [" + b"a," * 45_000 + b"]}]",
    "shapes": b"name: x\ncases: [{operator: cumsum, shape: [" + b"[1]," * 20_000 + b"]}]",
    "too long": b"a" * (N + 1),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs_are_refused_quickly(bomb: str) -> None:
    """The largest and worst files that the size limit lets through take seconds and little memory, and say why not."""
    start = time.process_time()
    assert read_or_refuse(BOMBS[bomb]) is None
    assert time.process_time() - start < 10


def test_memory_is_bounded() -> None:
    """A suite of two thousand shapes stays below 16 MB."""
    tracemalloc.start()
    try:
        read_or_refuse(b"name: x\ncases: [{operator: cumsum, shape: [[1]" + b",[1]" * 2_000 + b"]}]")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 16 * 2**20


PRODUCT = "name: x\ncases: [{operator: cumsum, shape: [" + ", ".join(f'"{{{v}}}"' for v in "abcdefgh") + "]"


@pytest.mark.parametrize(
    ("rest", "what"),
    [
        (", " + ", ".join(f"{v}: {{range: [1, 10000]}}" for v in "abcdefgh"), f"at most {MAX_CASES:,}"),
        (", a: {range: [0, 4e18]}, " + ", ".join(f"{v}: [1]" for v in "bcdefgh"), "a range of more than"),
        (", a: {range: [0, 1e300]}, " + ", ".join(f"{v}: [1]" for v in "bcdefgh"), "not a range"),
        (", " + ", ".join(f"{v}: 4e18" for v in "abcdefgh"), "at most 1,099,511,627,776 are allowed"),
    ],
)
def test_small_files_cannot_ask_for_endless_work(rest: str, what: str) -> None:
    """Products of ranges, endless ranges and impossible sizes are refused before anything is made of them."""
    start = time.process_time()
    [only] = mistakes(PRODUCT + rest + "}]")
    assert what in only
    assert time.process_time() - start < 1


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=400))
@example(b"\xef\xbb\xbf")
@example(b"%YAML 3.0\n---\n")
@example(b"!")
@example(b"? ? ?")
@example(b"a: |9\n x")
@example(b"%TAG ! x\n--- a")
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """No bytes escape as another error than SuiteError."""
    read_or_refuse(data)


WORDS = [
    "name",
    "cases",
    "operator",
    "cumsum",
    "sum",
    "elementwise",
    "index_add",
    "shape",
    "dim",
    "layout",
    "zip",
    "n",
    "{n}",
    '"{n}"',
    "[",
    "]",
    "{",
    "}",
    ":",
    ",",
    "-",
    "?",
    "&",
    "*",
    "!",
    "|",
    ">",
    "'",
    '"',
    "#",
    "%",
    "@",
    "`",
    "0",
    "1",
    "-1",
    "1e3",
    ".inf",
    "010",
    "1:30",
    "no",
    "true",
    "null",
    "~",
    "<<",
    "---",
    "...",
    "pow2",
    "range",
    "log",
    "all",
    "transposed",
    "contiguous",
    "permute",
    "step",
    "expand",
    "offset",
    "inputs",
    "function",
    "add",
    "dtype",
    "float32",
    "seed",
    "timing",
    "timeout",
    "peers",
    "contenders",
    "defaults",
    "pattern",
    "indices",
    "alpha",
    "below",
    "duplicates",
    "\\ud800",
    "\\x00",
]
YAML_BITS = st.sampled_from([*WORDS, "", "\n", "\t", "\r\n"])


@settings(max_examples=150, deadline=None)
@given(st.lists(YAML_BITS, max_size=60))
def test_shuffled_suite_words_are_read_or_refused(bits: list[str]) -> None:
    """Words of the language in any order neither crash the parser nor what comes after it."""
    read_or_refuse(" ".join(bits).encode())
    read_or_refuse(("name: x\ncases:\n  - {operator: sum, " + " ".join(bits)).encode())


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_damaged_suites_are_read_or_refused(data: st.DataObject) -> None:
    """A real suite with a few bytes changed, cut out or doubled is read or refused."""
    damaged = bytearray(SMOKE[: data.draw(st.integers(1, len(SMOKE)), "length")])
    for _ in range(data.draw(st.integers(1, 4), "changes")):
        place = data.draw(st.integers(0, len(damaged) - 1), "place")
        damaged[place : place + data.draw(st.integers(0, 3), "cut")] = data.draw(st.binary(max_size=3), "put in")
        if not damaged:
            return
    read_or_refuse(bytes(damaged))


scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["contiguous", "transposed", "all", "{n}", "{m}", "uniform", "float32", "no", "", "add", "copy"])
)
small = st.integers(-2, 9)
values = st.recursive(
    scalars | small,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["shape", "permute", "step", "expand", "offset", "dtype", "below", "pow2", "range", "log"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)
KEYS = [
    "shape",
    "dim",
    "layout",
    "keepdim",
    "function",
    "inputs",
    "out_dtype",
    "scalars",
    "indices",
    "pattern",
    "index_dtype",
    "alpha",
    "source_layout",
    "dtype",
    "input",
    "seed",
    "contenders",
    "peers",
    "timing",
    "timeout",
    "zip",
    "n",
    "m",
    "unknown",
]


@settings(max_examples=250, deadline=None)
@given(
    st.sampled_from(["cumsum", "sum", "elementwise", "index_add"]),
    st.dictionaries(st.sampled_from(KEYS), values, max_size=6),
    st.lists(small, max_size=4) | values,
)
def test_wrong_values_are_refused_not_fallen_over(operator: str, entry: dict[str, object], shape: object) -> None:
    """Values of every wrong type, size and nesting under every key give mistakes or cases, nothing else."""
    import json

    case = {"shape": shape, "function": "add", **entry, "operator": operator}
    if operator != "elementwise" and "function" not in entry:
        del case["function"]
    read_or_refuse(json.dumps({"name": "x", "cases": [case]}).encode())


def test_mistakes_are_cut_off_with_a_count() -> None:
    """A file wrong on every line reports the first mistakes in order, and how many more there are."""
    found = mistakes(b"name: x\ncases: [{operator: sum, shape: [2]}]\n" + b"a: &x 1\n" * 300)
    assert len(found) == MAX_MISTAKES + 1
    assert found[-1].endswith("more mistakes from here on")


def test_nothing_of_a_message_can_act_on_a_terminal() -> None:
    """Control characters of a suite arrive escaped in the messages."""
    found = mistakes('name: x\n"\\e[31mred\\u202e": 1\ncases: [{operator: "\\e]8;;http://x\\a"}]\n')
    assert len(found) >= 2
    assert all(line.isprintable() for line in found)
    assert "\\x1b[31mred\\u202e" in found[0]


def test_reading_stops_at_the_node_limit() -> None:
    """Data beyond the limit is never built."""
    document = parse(BOMBS["list"], "f")
    assert len(document.data) <= 50_000


@pytest.mark.parametrize("key", ["<script>", "<", "<case0>", "<<<"])
def test_a_foreign_key_may_look_like_anything(key: str) -> None:
    """A key that does not exist is named in its mistake, whatever it begins with."""
    for text in (
        f'{{"{key}": 1, name: x, cases: [{{operator: sum, shape: [1]}}]}}',
        f'name: x\ncases: [{{operator: sum, shape: [1], "{key}": 1}}]',
    ):
        assert any(repr(key) in mistake for mistake in mistakes(text))
