"""Short ways to make suites in tests."""

from __future__ import annotations

import pytest

from gpubench.errors import SuiteError
from gpubench.model import Case
from gpubench.suite.expand import Suite, expand


def suite(cases: str, head: str = "") -> Suite:
    """Expand a suite of which only the entries of `cases` are given (and further lines above it)."""
    return expand(f"name: test\n{head}\ncases:\n{cases}".encode(), "test.yaml")


def cases_of(entry: str, head: str = "") -> tuple[Case, ...]:
    """Return the cases of one entry, written as a flow mapping without its braces."""
    return suite(f"  - {{{entry}}}\n", head).cases


def ids(entry: str, head: str = "") -> list[str]:
    """Return the case ids of one entry."""
    return [case.id for case in cases_of(entry, head)]


def mistakes(text: str | bytes) -> list[str]:
    """Return the mistakes of a suite that must be refused, each as its line of the message."""
    with pytest.raises(SuiteError) as caught:
        expand(text.encode() if isinstance(text, str) else text, "test.yaml")
    assert str(caught.value).splitlines() == [str(problem) for problem in caught.value.problems]
    return [str(problem) for problem in caught.value.problems]


def mistake(entry: str, head: str = "") -> str:
    """Return the only mistake of one entry, without the file's name."""
    [only] = mistakes(f"name: test\n{head}\ncases:\n  - {{{entry}}}\n")
    return only.removeprefix("test.yaml:")
