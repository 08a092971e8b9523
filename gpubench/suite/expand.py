"""From a suite file to its cases: the product of all axes, each point made into a normalised, labelled Case."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpubench.errors import Mistake, ParameterError, SuiteError
from gpubench.model import Case, Json
from gpubench.operators import bring, known
from gpubench.operators.drawing.numbers import GENERATOR
from gpubench.operators.drawing.wishes import Wishes
from gpubench.operators.index_add import given
from gpubench.own.definitions import Brought
from gpubench.suite.axes import Option
from gpubench.suite.brought import read_brought
from gpubench.suite.declared import declared
from gpubench.suite.locate import locate
from gpubench.suite.make import draw_cases, make_case
from gpubench.suite.plan import CasePlan, Defaults, Known, plan_case, read_defaults
from gpubench.suite.read import Document, Path_, parse, read_bytes
from gpubench.suite.schema import suite_checker
from gpubench.suite.validate import note

MAX_CASES = 20_000
ENOUGH_MISTAKES = 500


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite, read and expanded. `sha256` is that of the file's bytes; `peers` those asked for the whole suite;
    `entries` its random ones, in the order of the file.
    """

    name: str
    sha256: str
    path: str
    cases: tuple[Case, ...]
    peers: tuple[str, ...] = ()
    description: str = ""
    entries: tuple[CasePlan, ...] = ()
    brings: tuple[BroughtBy, ...] = ()

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the random entries."""
        return tuple(entry.wishes.seed for entry in self.entries if entry.wishes is not None)

    @property
    def identity(self) -> dict[str, Json]:
        """What a result file says of the suite: name, hash, and by what its random cases can be drawn again."""
        drawn = {"random": {"generator": GENERATOR, "seeds": list(self.seeds)}} if self.seeds else {}
        return {"name": self.name, "sha256": self.sha256, **drawn}


@dataclass(frozen=True, slots=True)
class BroughtBy:
    """What one suite file brings, and that file. `sha256` is that of the bytes that were read."""

    path: str
    sha256: str
    brought: Brought


def load_suite(suite: str | Path, seed: int | None = None) -> Suite:
    """Read and expand a suite given by path or by the name of a shipped one; `seed` replaces that of random entries.

    UsageError when there is no such file; SuiteError, with every mistake found, when something in it is wrong.
    """
    path = locate(str(suite))
    given.tell_folder(path.parent)
    return expand(read_bytes(path), str(path), seed)


def load_suites(suites: Sequence[str], seed: int | None = None) -> Suite:
    """Read and expand several suites as one: names joined by `+`, the hash taken over theirs, equal cases once.

    The mistakes of all files come in one SuiteError. Cases of one id that differ (in contenders or timing) are a
    mistake too, as results know a case by its id alone.
    """
    loaded: list[Suite] = []
    mistakes: list[Mistake] = []
    for text in dict.fromkeys(suites):
        try:
            loaded.append(load_suite(text, seed))
        except SuiteError as error:
            mistakes += error.problems
    found: dict[str, tuple[Case, str]] = {}
    for suite in loaded:
        for case in suite.cases:
            first, path = found.setdefault(case.id, (case, suite.path))
            if first != case:
                message = f"the case {case.id} is in {path} too, with other contenders or timing; run them one by one"
                mistakes.append(Mistake(suite.path, 1, 1, "", message))
    mistakes += _twice(loaded)
    if mistakes:
        raise SuiteError(mistakes)
    return loaded[0] if len(loaded) == 1 else _join(loaded, tuple(case for case, _ in found.values()))


def _twice(suites: Sequence[Suite]) -> list[Mistake]:
    """Return a mistake for each kernel or operator that two suites bring under one name."""
    first: dict[str, str] = {}
    found = []
    for origin in (origin for suite in suites for origin in suite.brings):
        kernels, operators = origin.brought.kernels, origin.brought.operators
        for name in (*(kernel.name for kernel in kernels), *(operator.name for operator in operators)):
            if first.setdefault(name, origin.path) != origin.path:
                message = f"{first[name]} brings a {name} too; run them one by one, or choose another name"
                found.append(Mistake(origin.path, 1, 1, "", message))
    return found


def _join(suites: Sequence[Suite], cases: tuple[Case, ...]) -> Suite:
    return Suite(
        name="+".join(suite.name for suite in suites),
        sha256=hashlib.sha256("".join(suite.sha256 for suite in suites).encode()).hexdigest(),
        path=" ".join(suite.path for suite in suites),
        cases=cases,
        peers=tuple(dict.fromkeys(peer for suite in suites for peer in suite.peers)),
        entries=tuple(entry for suite in suites for entry in suite.entries),
        brings=tuple(origin for suite in suites for origin in suite.brings),
    )


def expand(data: bytes, file: str, seed: int | None = None) -> Suite:
    """Return the suite that the bytes `data` of the file called `file` describe. SuiteError when they are wrong.

    seed: draw the random entries with it in place of their own.
    """
    document = parse(data, file)
    if not document.is_readable:
        document.check()
    note(document, (), suite_checker().faults(document.data))
    brought = read_brought(document)
    own = declared(brought.operators)
    bring(own)
    expansion = _Expansion(document, Known({**known(_operators(document.data)), **own}, brought.kernels), seed)
    cases = expansion.cases() if isinstance(document.data, dict) else ()
    document.check()
    top = document.data
    digest = hashlib.sha256(data).hexdigest()
    return Suite(
        name=top["name"],
        sha256=digest,
        path=file,
        cases=tuple(cases),
        peers=tuple(top.get("peers", ())),
        description=top.get("description", ""),
        entries=tuple(expansion.entries),
        brings=(BroughtBy(file, digest, brought),) if brought != Brought() else (),
    )


def _operators(data: Any) -> list[object]:
    """Return what the cases of a document name as their operators, whatever it is."""
    cases = data.get("cases") if isinstance(data, dict) else None
    return [case.get("operator") for case in cases if isinstance(case, dict)] if isinstance(cases, list) else []


class _Expansion:
    """One walk over the cases of a document. Mistakes go into the document."""

    def __init__(self, document: Document, known: Known, seed: int | None = None) -> None:
        self.document = document
        self.known = known
        self.seed = seed
        self.entries: list[CasePlan] = []
        self.found: dict[str, Case] = {}
        self.lines: dict[str, int] = {}

    def cases(self) -> tuple[Case, ...]:
        """Return all cases in the order of the file; the last axis of a case runs fastest."""
        top = self.document.data
        defaults = read_defaults(self.document, top.get("defaults", {}), top.get("peers", []))
        written = top.get("cases")
        for position, case in enumerate(written if isinstance(written, list) else []):
            plan = self._plan(defaults, case, position) if isinstance(case, dict) else None
            if plan is not None and not self._expand(plan):
                break
        return tuple(self.found.values())

    def _plan(self, defaults: Defaults, case: Mapping[str, Any], position: int) -> CasePlan | None:
        return plan_case(self.document, defaults, case, ("cases", position), self.known)

    def _expand(self, plan: CasePlan) -> bool:
        """Add the cases of one plan; False when it is no use to go on."""
        count = math.prod(len(axis.steps) for axis in plan.axes) if plan.wishes is None else plan.wishes.cases
        if len(self.found) + count > MAX_CASES:
            message = f"{count:,} more cases after {len(self.found):,}; a suite has at most {MAX_CASES:,}"
            self.document.add(plan.path, message)
            return False
        if plan.wishes is not None:
            self._draw(plan, plan.wishes)
            return True
        names = [name for axis in plan.axes for name in axis.names]
        for steps in itertools.product(*(axis.steps for axis in plan.axes)):
            self._add(plan, dict(zip(names, itertools.chain.from_iterable(steps), strict=True)))
            if len(self.document.mistakes) > ENOUGH_MISTAKES:
                return False
        return True

    def _draw(self, plan: CasePlan, wishes: Wishes) -> None:
        """Add the cases of a random entry, whose keys beside `random` are what is chosen from."""
        if plan.flawed:
            return
        wishes = wishes if self.seed is None else dataclasses.replace(wishes, seed=self.seed)
        cases, refusal = draw_cases(plan, wishes, self.found)
        self.entries.append(dataclasses.replace(plan, wishes=wishes))
        for case in cases:
            self.found[case.id] = case
            self.lines[case.id] = self.document.place(plan.path).line
        if refusal is not None:
            told = f"{wishes.cases} cases wanted, {len(cases)} found; refused, among others: {_text_of(refusal)}"
            path = (*plan.path, "random")
            key = _parts(refusal.field)[0]
            written = {name: axis.steps[0][0].path for axis in plan.axes for name in axis.names}
            self.document.add(written.get(key, path) if not cases else path, told)

    def _add(self, plan: CasePlan, chosen: Mapping[str, Option]) -> None:
        case = self._made(plan, chosen)
        if case is None or plan.flawed:
            return
        line = self.document.place(plan.path).line
        if case.id in self.found:
            self.document.add(plan.path, f"the case {case.id} is there already, from line {self.lines[case.id]}")
            return
        self.found[case.id] = case
        self.lines[case.id] = line

    def _made(self, plan: CasePlan, chosen: Mapping[str, Option]) -> Case | None:
        """Return the case; None, with every mistake noted, where the operator refuses it.

        An operator names the first key at fault. Where that key can be left out, it is asked again without it.
        """
        left = dict(chosen)
        while True:
            try:
                case = make_case(plan, {name: option.value for name, option in left.items()})
            except ParameterError as error:
                self.document.add(_blame(plan, left, error.field), _text_of(error))
                key = _parts(error.field)[0]
                if key not in left or key not in plan.optional:
                    return None
                del left[key]
            else:
                return case if len(left) == len(chosen) else None


def _text_of(error: ParameterError) -> str:
    return str(error).removeprefix(f"{error.field}: ")


def _parts(field: str) -> list[str]:
    """Return the keys and positions of a field such as `inputs.1.shape` or `inputs[1].shape`."""
    return field.replace("[", ".").replace("]", "").split(".")


def _blame(plan: CasePlan, chosen: Mapping[str, Option], field: str) -> Path_:
    """Return the path of the value that an operator refused: `inputs.1.shape` lies below the option of `inputs`."""
    head, *rest = _parts(field)
    if head not in chosen:
        return plan.path
    return (*chosen[head].path, *(int(part) if part.isdigit() else part for part in rest))
