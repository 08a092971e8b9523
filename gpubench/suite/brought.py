"""What a suite brings, read from its `kernels` and `operators`: definitions, with every mistake at its place."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from typing import Any

from gpubench.dtypes import canonical
from gpubench.operators import OPERATORS
from gpubench.operators.base import Operator
from gpubench.operators.constants import MOST_CONFIGURATIONS
from gpubench.own.arguments import WORKSPACE, read_argument
from gpubench.own.definitions import Bound, Brought, Form, Kernel, OwnOperator, Step
from gpubench.own.expression import ExpressionError, read
from gpubench.own.options import option_mistake
from gpubench.own.plan import known_names
from gpubench.own.signature import signature_mistake
from gpubench.own.words import braced
from gpubench.suite.declared import declared, read_operator
from gpubench.suite.own_schema import KERNEL, OPERATOR
from gpubench.suite.read import Document, Path_
from gpubench.suite.types import did_you_mean
from gpubench.suite.validate import Checker

_FORMS: tuple[Form, ...] = ("source", "binary", "python", "library")
_LAUNCH_KEYS = ("entry", "arguments", "grid", "block")
_STEP_KEYS = (*_LAUNCH_KEYS, "shared_bytes", "waits_for_blocks")
_KERNEL_CHECKER = Checker(KERNEL)
_OPERATOR_CHECKER = Checker(OPERATOR)

Operators = Mapping[str, Operator[Any]]


def read_brought(document: Document) -> Brought:
    """Return what a suite brings; what is wrong is noted and left out."""
    top = document.data
    files = [name for name in top.get("files", []) if isinstance(name, str)] if isinstance(top, dict) else []
    found: list[OwnOperator] = []
    for path, entry in _entries(document, "operators", _OPERATOR_CHECKER):
        if (operator := read_operator(document, path, entry, [earlier.name for earlier in found])) is not None:
            found.append(operator)
    operators = {**OPERATORS, **declared(found)}
    kernels: list[Kernel] = []
    for path, entry in _entries(document, "kernels", _KERNEL_CHECKER):
        if (kernel := _kernel(document, path, entry, operators, [earlier.name for earlier in kernels])) is not None:
            kernels.append(kernel)
    return Brought(tuple(kernels), tuple(found), tuple(files))


def _entries(document: Document, key: str, checker: Checker) -> list[tuple[Path_, dict[str, Any]]]:
    """Return the well-formed entries of a list, with their places; faults of the others are told already."""
    listed = document.data.get(key) if isinstance(document.data, dict) else None
    entries = enumerate(listed) if isinstance(listed, list) else ()
    return [((key, at), entry) for at, entry in entries if isinstance(entry, dict) and checker.fits(entry)]


# --- Kernels ---------------------------------------------------------------------------------------------------------


def _kernel(
    document: Document, path: Path_, entry: Mapping[str, Any], operators: Operators, taken: Collection[str]
) -> Kernel | None:
    before = len(document.mistakes)
    if entry["name"] in taken:
        document.add((*path, "name"), f"there are two kernels called {entry['name']}")
    forms = [form for form in _FORMS if form in entry]
    if len(forms) != 1:
        document.add(path, f"a kernel has one of {', '.join(_FORMS)}; found {' and '.join(forms) or 'none'}")
    if entry["operator"] not in operators:
        hint = did_you_mean(entry["operator"], operators)
        document.add(
            (*path, "operator"), f"there is no operator {entry['operator']}; allowed: {', '.join(operators)}.{hint}"
        )
    if len(document.mistakes) > before:
        return None
    kernel = _Reader(document, path, entry, forms[0], operators[entry["operator"]]).kernel()
    return kernel if len(document.mistakes) == before else None


class _Reader:
    """Reads one kernel whose form and operator are known."""

    def __init__(
        self, document: Document, path: Path_, entry: Mapping[str, Any], form: Form, operator: Operator[Any]
    ) -> None:
        self._document = document
        self._path = path
        self._entry = entry
        self._form: Form = form
        self._operator = operator
        first = {name: values[0] for name, values in entry.get("tune", {}).items()}
        self._constants: dict[str, int] = {**first, **entry.get("constants", {})}
        self._names = known_names(operator, self._constants)

    def kernel(self) -> Kernel:
        """Return the kernel; mistakes go into the document."""
        entry = self._entry
        file, _, function = str(entry[self._form]).partition(":")
        self._check_constants()
        self._check_options()
        steps = self._steps() if self._form in ("source", "binary") else self._no_steps()
        accuracy = entry.get("accuracy")
        if accuracy is not None:
            self._expression(accuracy["additions"], "accuracy", "additions")
        return Kernel(
            entry["name"],
            entry["operator"],
            self._form,
            file,
            steps,
            function or str(entry.get("symbol") or ""),
            entry.get("arrays", "cupy"),
            str(entry.get("signature") or ""),
            self._expression(entry.get("when", 1), "when"),
            entry.get("layouts", "contiguous"),
            self._constants,
            tuple(entry.get("options", ())),
            self._expression(entry.get("workspace_bytes", 0), "workspace_bytes"),
            entry.get("workspace_zeroed", False),
            None
            if accuracy is None
            else Bound(canonical(accuracy["accumulator"]), str(accuracy["additions"]), accuracy.get("growth", "sqrt")),
            *self._tuning(),
        )

    def _tuning(self) -> tuple[dict[str, tuple[int, ...]], tuple[str, ...], dict[str, str]]:
        """Return what a tuner may choose, what must hold, and where values may differ."""
        tune = {name: tuple(values) for name, values in self._entry.get("tune", {}).items()}
        total = math.prod(map(len, tune.values()))
        if total > MOST_CONFIGURATIONS:
            message = f"these values make {total:,} configurations; at most {MOST_CONFIGURATIONS:,} can be tried"
            self._add(message, "tune")
        for key in ("constraints", "regimes"):
            if key in self._entry and not tune:
                self._add(f"{key} stands without tune, which says what can be chosen", key)
        listed = self._entry.get("constraints", ())
        constraints = tuple(self._expression(constraint, "constraints", at) for at, constraint in enumerate(listed))
        regimes = {}
        for name, when in self._entry.get("regimes", {}).items():
            if re.fullmatch(r"[a-z][a-z0-9-]{0,39}", name) is None or name == "all":
                self._add("a regime has a name of small letters, digits and -, and not all", "regimes", name)
            regimes[name] = self._expression(when, "regimes", name)
        return tune, constraints, regimes

    def _add(self, message: str, *below: str | int) -> None:
        self._document.add((*self._path, *below), message)

    def _check_constants(self) -> None:
        plain = known_names(self._operator)
        for name in self._constants:
            if name in plain or name in self._operator.operands or name in ("T", WORKSPACE):
                self._add(f"the name {name} is taken: it has a meaning for {self._operator.name}", "constants", name)

    def _check_options(self) -> None:
        options = self._entry.get("options", ())
        if options and self._form != "source":
            self._add("options are the compiler's; only a source is compiled", "options")
        for at, option in enumerate(options):
            self._braces(option, "options", at)
            if (mistake := option_mistake(option)) is not None:
                self._add(mistake, "options", at)

    def _no_steps(self) -> tuple[Step, ...]:
        for key in (*_STEP_KEYS, "steps"):
            if key in self._entry:
                self._add(f"{key} belongs to a source or a binary; a {self._form} is called", key)
        if self._form == "library":
            for key in ("symbol", "signature"):
                if key not in self._entry:
                    self._add(f"the key {key} is missing")
            signature = str(self._entry.get("signature", ""))
            if signature and (mistake := signature_mistake(signature, self._operator.operands, self._names)):
                self._add(mistake, "signature")
        return ()

    def _steps(self) -> tuple[Step, ...]:
        steps = self._entry.get("steps")
        if steps is None:
            return (self._launch(self._entry),)
        for key in _STEP_KEYS:
            if key in self._entry:
                self._add(f"{key} stands beside steps; write it in each step", key)
        return tuple(
            self._memset(step, "steps", at) if "memset" in step else self._launch(step, "steps", at)
            for at, step in enumerate(steps)
        )

    def _memset(self, step: Mapping[str, Any], *below: str | int) -> Step:
        for key in (key for key in _STEP_KEYS if key in step):
            self._add(f"{key} does not go with memset", *below, key)
        if step["memset"] not in (WORKSPACE, *self._operator.operands):
            self._add(f"memset takes {WORKSPACE} or an operand: {', '.join(self._operator.operands)}", *below, "memset")
        if "bytes" not in step:
            self._add("the key bytes is missing", *below)
        size = self._expression(step.get("bytes", 0), *below, "bytes")
        return Step(memset=step["memset"], bytes=size, value=step.get("value", 0))

    def _launch(self, step: Mapping[str, Any], *below: str | int) -> Step:
        for key in (key for key in _LAUNCH_KEYS if key not in step):
            self._add(f"the key {key} is missing", *below)
        entry = str(step.get("entry") or "")
        if self._form == "source":
            self._braces(entry, *below, "entry")
        return Step(
            entry,
            tuple(
                self._argument(argument, *below, "arguments", at)
                for at, argument in enumerate(step.get("arguments", ()))
            ),
            self._extent(step.get("grid", 1), *below, "grid"),
            self._extent(step.get("block", 1), *below, "block"),
            self._expression(step.get("shared_bytes", 0), *below, "shared_bytes"),
            step.get("waits_for_blocks", False),
        )

    def _argument(self, written: Any, *below: str | int) -> str:
        try:
            read_argument(written, self._operator.operands, self._names)
        except ExpressionError as error:
            self._add(str(error), *below)
        return str(written)

    def _extent(self, written: Any, *below: str | int) -> tuple[str, ...]:
        listed = written if isinstance(written, list) else [written]
        places = [(*below, at) if isinstance(written, list) else below for at in range(len(listed))]
        return tuple(self._expression(text, *place) for text, place in zip(listed, places, strict=True))

    def _expression(self, written: Any, *below: str | int) -> str:
        try:
            read(written, self._names)
        except ExpressionError as error:
            self._add(str(error), *below)
        return str(written)

    def _braces(self, written: str, *below: str | int) -> None:
        for inner in braced(written):
            if inner != "T" and inner.removeprefix("T_") not in self._operator.operands:
                self._expression(inner, *below)
        if re.sub(r"\{[^{}]*\}", "", written).count("{"):
            self._add("a brace is open; write {name}", *below)
