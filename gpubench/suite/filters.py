"""Choosing among the cases of a suite: an expression over the case id, and patterns for operator, dtype, contender.

An expression is words joined by `and`, `or`, `not` and parentheses; a word is true when it is part of the case id,
upper and lower case alike: `-k "cumsum and not (float16 or dim=0)"`. A dtype's alias, such as fp16, stands for
the dtype. `not` binds tightest, then `and`, then `or`. Everything but white space and parentheses belongs to words. The
three operators cannot themselves be looked for.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase

from gpubench.dtypes import canonical
from gpubench.errors import UsageError
from gpubench.model import Case
from gpubench.suite.read import printable

MAX_EXPRESSION = 2000
MAX_NESTING = 50

Test = Callable[[str], bool]


def select(
    cases: Sequence[Case],
    *,
    expression: str | None = None,
    operators: Sequence[str] = (),
    dtypes: Sequence[str] = (),
    contenders: Sequence[str] = (),
) -> tuple[Case, ...]:
    """Return the cases that match everything asked for, in order; their contenders are cut down to those asked for.

    Patterns are those of file names (`float*`); several of one kind are alternatives. Each filter that leaves nothing
    of what the one before it left is a UsageError, with the nearest names, and so is a pattern that fits no case at
    all: of two names of which one is misspelled, the other must not pass for both.
    """
    kept = tuple(cases)
    dtypes = [canonical(name) for name in dtypes]
    _all_fit("--operator", operators, dict.fromkeys(case.operator for case in kept))
    _all_fit("--dtype", dtypes, dict.fromkeys(case.dtype for case in kept))
    _all_fit("--contender", contenders, dict.fromkeys(name for case in kept for name in case.contenders))
    if expression is not None:
        matches = compile_expression(expression)
        kept = _narrow(
            kept, [case for case in kept if matches(case.id)], f"-k {expression!r}", _words(kept), expression
        )
    if operators:
        fitting = [case for case in kept if _any_match(case.operator, operators)]
        names = dict.fromkeys(case.operator for case in kept)
        kept = _narrow(kept, fitting, f"--operator {','.join(operators)}", names, *operators)
    if dtypes:
        fitting = [case for case in kept if _any_match(case.dtype, dtypes)]
        kept = _narrow(
            kept, fitting, f"--dtype {','.join(dtypes)}", dict.fromkeys(case.dtype for case in kept), *dtypes
        )
    if contenders:
        names = dict.fromkeys(name for case in kept for name in case.contenders)
        cut = [_with_contenders(case, contenders) for case in kept]
        fitting = [case for case in cut if case.contenders]
        kept = _narrow(kept, fitting, f"--contender {','.join(contenders)}", names, *contenders)
    return kept


def _all_fit(option: str, patterns: Sequence[str], names: Iterable[str]) -> None:
    """UsageError for the first of several patterns that fits none of the names; a lone one is told of by `_narrow`."""
    allowed = list(names)
    for pattern in patterns if len(patterns) > 1 and allowed else ():
        if not any(fnmatchcase(name, pattern) for name in allowed):
            hint = _hint(_nearest(pattern, allowed), allowed)
            raise UsageError(f"{printable(f'{option} {pattern}', 200)} matches nothing here. {hint}")


def _hint(near: Iterable[str], allowed: Sequence[str]) -> str:
    names = list(near)
    return f"The nearest there: {', '.join(names)}." if names else f"There is: {', '.join(allowed[:12])}."


def _any_match(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _with_contenders(case: Case, patterns: Sequence[str]) -> Case:
    return dataclasses.replace(case, contenders=tuple(name for name in case.contenders if _any_match(name, patterns)))


def _narrow(
    before: Sequence[Case], after: Sequence[Case], what: str, names: Iterable[str], *asked: str
) -> tuple[Case, ...]:
    """Return `after`; UsageError when it is empty although something was there before."""
    if after or not before:
        return tuple(after)
    allowed = list(names)
    near = dict.fromkeys(
        name for text in asked for word in re.findall(r"[^\s()]+", text) for name in _nearest(word, allowed)
    )
    raise UsageError(f"{printable(what, 200)} matches none of the {len(before)} cases. {_hint(near, allowed)}")


def _nearest(word: str, allowed: Sequence[str]) -> list[str]:
    if word in _OPERATORS or len(word) > 100:
        return []
    return difflib.get_close_matches(word, allowed, n=3, cutoff=0.5)


def _words(cases: Iterable[Case]) -> list[str]:
    """Return the parts of all case ids, for hints."""
    return list(dict.fromkeys(part for case in cases for part in case.id.split("/")))


# --- The expression --------------------------------------------------------------------------------------------------

_OPERATORS = ("and", "or", "not")


def compile_expression(expression: str) -> Test:
    """Return the test of a case id that an expression describes; UsageError, with the place, when it is wrong."""
    if len(expression) > MAX_EXPRESSION:
        raise UsageError(f"-k takes an expression of at most {MAX_EXPRESSION} characters, found {len(expression)}.")
    parser = _Parser(expression)
    test = parser.either()
    if parser.word:
        raise parser.error(f"{parser.word!r} stands where and, or or the end is expected")
    return test


class _Parser:
    """Reads: either = both {or both}; both = unit {and unit}; unit = not unit | ( either ) | word."""

    def __init__(self, expression: str) -> None:
        self.expression = expression
        self.tokens = [(match[0], match.start()) for match in re.finditer(r"[()]|[^\s()]+", expression)]
        self.depth = 0

    @property
    def word(self) -> str:
        """The next token, empty at the end."""
        return self.tokens[0][0] if self.tokens else ""

    def take(self) -> str:
        """Return the next token and go on."""
        return self.tokens.pop(0)[0]

    def error(self, what: str) -> UsageError:
        """Return an error that says where it is."""
        column = self.tokens[0][1] + 1 if self.tokens else len(self.expression) + 1
        return UsageError(f"-k {printable(self.expression, 200)!r}, column {column}: {printable(what)}.")

    def either(self) -> Test:
        """Read terms joined by `or`."""
        tests = [self.both()]
        while self.word == "or":
            self.take()
            tests.append(self.both())
        return tests[0] if len(tests) == 1 else lambda case_id: any(test(case_id) for test in tests)

    def both(self) -> Test:
        """Read factors joined by `and`."""
        tests = [self.unit()]
        while self.word == "and":
            self.take()
            tests.append(self.unit())
        return tests[0] if len(tests) == 1 else lambda case_id: all(test(case_id) for test in tests)

    def unit(self) -> Test:
        """Read one word, a negation or a parenthesis."""
        if self.depth >= MAX_NESTING:
            raise self.error(f"nested deeper than {MAX_NESTING} levels")
        self.depth += 1
        test = self._unit()
        self.depth -= 1
        return test

    def _unit(self) -> Test:
        if self.word in ("", ")", "and", "or"):
            raise self.error(f"a word is missing before {self.word or 'the end'}")
        token = self.take()
        if token == "not":
            inner = self.unit()
            return lambda case_id: not inner(case_id)
        if token == "(":
            inside = self.either()
            if self.word != ")":
                raise self.error("a closing parenthesis is missing")
            self.take()
            return inside
        wanted = canonical(token.lower())
        return lambda case_id: wanted in case_id.lower()
