"""The words that several modules share stand in one place, and a peer is asked only about what it knows."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from gpubench import dtypes, names
from gpubench.errors import UsageError
from gpubench.libraries import PEERS
from gpubench.operators import OPERATORS, bring, operator
from gpubench.peers import load

PACKAGE = Path(names.__file__).parent
SOURCES = [path for path in sorted(PACKAGE.rglob("*.py")) if path.name != "names.py"]
OTHER_WORDS = {"results/records.py": 1}
"""Groups of words that look like statuses: `noisy` and `throttled` are keys of a timing."""
NAMELESS = re.compile(r"\bfor \(?(?:\w+, \(?)*one\)?(?:, \w+\)?)* in\b|\blambda one\b")


def spelt(node: ast.AST) -> set[object]:
    """Return the texts that a display of a tuple, list or set holds."""
    if not isinstance(node, ast.Tuple | ast.List | ast.Set):
        return set()
    return {element.value for element in node.elts if isinstance(element, ast.Constant)}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_groups_of_statuses_and_our_contenders_are_spelt_nowhere_else(path: Path) -> None:
    """A group written out a second time misses the status that is added next."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    groups = [node.lineno for node in ast.walk(tree) if len(spelt(node) & set(names.STATUSES)) > 1]  # type: ignore[attr-defined]
    own = (names.OURS, names.OWN, names.AUTO, names.NAIVE)
    words = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Constant) and node.value in own]
    allowed = OTHER_WORDS.get(str(path.relative_to(PACKAGE)), 0)
    assert len(groups) == allowed, f"{path}: a group of statuses in lines {groups}; gpubench.names has them"
    assert not words, f"{path}: a contender's name in lines {words}; gpubench.names has it"


def test_every_status_has_its_place_in_every_group() -> None:
    """What is added to `Status` shows up here until somebody has said what it means."""
    assert sorted(names.WORST_FIRST) == sorted(names.STATUSES)
    assert sorted((*names.FINE, *names.FAILED, *names.REFUTED)) == sorted(names.STATUSES)


def test_contenders_are_ours_or_peers_or_on_the_host() -> None:
    """Numpy is no peer: neither a launch nor the device's ceiling says anything of its time."""
    assert names.is_ours(names.AUTO)
    assert not names.is_peer(names.AUTO)
    assert not names.is_peer(names.NUMPY)
    assert all(names.is_peer(name) for name in PEERS)
    assert names.variant_of(names.contender_of("naive")) == "naive"


def test_a_kernel_of_the_users_own_is_held_to_its_answer() -> None:
    """A user's kernel is a kernel, and neither one of ours nor a library whose answers may be less accurate."""
    name = names.OWN + "scan"
    assert names.is_own(name)
    assert names.is_kernel(name)
    assert not names.is_ours(name)
    assert not names.is_peer(name)
    assert names.is_kernel(names.AUTO)
    assert not names.is_own(names.AUTO)


def test_an_operator_of_the_users_own_is_found_but_replaces_none_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a suite declares is an operator like any; the name of one of ours stays ours."""
    monkeypatch.setattr("gpubench.operators._BROUGHT", {})
    bring({"softmax": OPERATORS["sum"]})
    assert operator("softmax") is OPERATORS["sum"]
    with pytest.raises(UsageError, match="cumsum is taken"):
        bring({"cumsum": OPERATORS["sum"]})
    assert operator("cumsum") is OPERATORS["cumsum"]


def test_no_alias_is_also_a_dtype_and_all_are_different() -> None:
    """An alias stands for one dtype."""
    assert not set(dtypes.ALIASES) & set(dtypes.NAMES)
    assert len(dtypes.ALIASES) == sum(len(row.aliases) for row in dtypes.DTYPES.values())
    assert dtypes.canonical("bf16") == "bfloat16"
    assert [dtypes.canonical(name) for name in dtypes.NAMES] == list(dtypes.NAMES)


def test_parts_are_half_of_a_complex_number() -> None:
    """Every other dtype is its own part."""
    for row in dtypes.DTYPES.values():
        parts = 2 if row.kind == "complex" else 1
        assert dtypes.dtype(row.part).itemsize * parts == row.itemsize


@pytest.mark.parametrize("peer", PEERS)
def test_peers_name_operators_that_exist_and_go_by_their_own_names(peer: str) -> None:
    """A misspelt operator would be unsupported for ever."""
    found = load(peer)
    assert found.name == peer
    assert found.operators
    assert set(found.operators) <= set(OPERATORS)


def test_loop_variables_have_the_name_of_what_they_hold() -> None:
    """A reader knows what a loop, or a function in line, is over: no variable of either is called `one`."""
    root = PACKAGE.parent
    files = [
        path
        for folder in (PACKAGE, *map(root.joinpath, ("scripts", "studies", "tests")))
        for path in folder.rglob("*.py")
    ]
    assert [str(path.relative_to(root)) for path in files if NAMELESS.search(path.read_text("utf-8"))] == []
    for target in ("one", "place, one", "name, (one, _)", "(one, us)"):
        assert NAMELESS.search(f"for {target} in")
    assert NAMELESS.search(" ".join(("lambda", "one")))
