"""What may stand under `kernels` and `operators` of a suite: the models of a user's own implementations."""

from __future__ import annotations

import typing
from typing import Annotated, Any

from pydantic import PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from gpubench import dtypes
from gpubench.own.definitions import Arrays, is_inside
from gpubench.own.expression import LONGEST
from gpubench.suite.types import (
    TRUTH,
    WHOLE,
    Type_,
    choice,
    found,
    list_of,
    mapping_of,
    number,
    strict_model,
    text,
    whole,
)

NAME = text(r"[a-z][a-z0-9_]{0,59}", "a name of small letters, digits and _, such as my_scan")
CONSTANT = text(r"[A-Za-z][A-Za-z0-9_]{0,39}", "a name such as ITEMS")
LINE = text(r"[ -~]{1,400}", "a line of plain ASCII")


def _expression(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | float) or (isinstance(value, str) and 0 < len(value) <= LONGEST):
        return value
    raise PydanticCustomError(
        "suite", "{message}", {"message": f"found {found(value)}; allowed is a number or an expression"}
    )


def _file(value: Any, suffixes: tuple[str, ...]) -> Any:
    name = value.partition(":")[0] if isinstance(value, str) else ""
    if isinstance(value, str) and is_inside(name) and name.endswith(suffixes):
        return value
    allowed = f"the name of a {' or '.join(suffixes) or 'file'} in the suite's folder, without .."
    raise PydanticCustomError("suite", "{message}", {"message": f"found {found(value)}; allowed is {allowed}"})


def file(*suffixes: str) -> Type_:
    """Return the type of names of files in the suite's folder, with one of these suffixes."""
    return Annotated[Any, PlainValidator(lambda value: _file(value, suffixes)), WithJsonSchema({"type": "string"})]


def function(suffix: str) -> Type_:
    """Return the type of `file.py:function`."""

    def validate(value: Any) -> Any:
        _file(value, (suffix,))
        if not value.partition(":")[2].isidentifier():
            message = f"found {found(value)}; allowed is file{suffix}:function"
            raise PydanticCustomError("suite", "{message}", {"message": message})
        return value

    return Annotated[Any, PlainValidator(validate), WithJsonSchema({"type": "string"})]


EXPRESSION = Annotated[Any, PlainValidator(_expression), WithJsonSchema({"type": ["string", "number", "boolean"]})]


def _extent() -> Type_:
    """Return the type of a grid or a block: an expression, or up to three."""

    def validate(value: Any) -> Any:
        for item in value if isinstance(value, list) else [value]:
            _expression(item)
        if isinstance(value, list) and not 1 <= len(value) <= 3:
            message = f"found {found(value)}; allowed are 1 to 3 expressions: x, y, z"
            raise PydanticCustomError("suite", "{message}", {"message": message})
        return value

    one: dict[str, Any] = {"type": ["string", "number", "boolean"]}
    schema = {"anyOf": [one, {"type": "array", "items": one, "minItems": 1, "maxItems": 3}]}
    return Annotated[Any, PlainValidator(validate), WithJsonSchema(schema)]


EXTENT = _extent()

_LAUNCH: dict[str, tuple[Type_, Any]] = {
    "entry": (LINE, None),
    "arguments": (list_of(EXPRESSION, at_most=64), None),
    "grid": (EXTENT, None),
    "block": (EXTENT, None),
    "shared_bytes": (EXPRESSION, 0),
    "waits_for_blocks": (TRUTH, False),
}

STEP = strict_model(
    "Step",
    "A launch, or a memset of bytes of an operand or of the workspace.",
    {**_LAUNCH, "memset": (NAME, None), "bytes": (EXPRESSION, None), "value": (whole(0, 255), 0)},
)

ACCURACY = strict_model(
    "OwnAccuracy",
    "What the check may allow: roundings on the longest path to an output, and the dtype that they are made in.",
    {
        "accumulator": (choice(dtypes.NAMES), ...),
        "additions": (EXPRESSION, ...),
        "growth": (choice(("sqrt", "linear")), "sqrt"),
    },
)

KERNEL = strict_model(
    "Kernel",
    "A kernel of your own: an implementation of `operator`, called own:NAME among the contenders. One of source (.cu), "
    "binary (.cubin, .ptx), python (file.py:function) and library (.so) says where it is.",
    {
        "name": (NAME, ...),
        "operator": (NAME, ...),
        "source": (file(".cu"), None),
        "binary": (file(".cubin", ".ptx"), None),
        "python": (function(".py"), None),
        "library": (file(".so"), None),
        **_LAUNCH,
        "steps": (list_of(STEP, at_least=1, at_most=32), None),
        "arrays": (choice(typing.get_args(Arrays)), "cupy"),
        "symbol": (text(r"[A-Za-z_]\w{0,199}", "the name of a function"), None),
        "signature": (LINE, None),
        "when": (EXPRESSION, 1),
        "layouts": (choice(("contiguous", "any")), "contiguous"),
        "constants": (mapping_of(WHOLE), {}),
        "tune": (mapping_of(list_of(WHOLE, at_least=1, at_most=1000)), {}),
        "constraints": (list_of(EXPRESSION, at_most=64), []),
        "regimes": (mapping_of(EXPRESSION), {}),
        "options": (list_of(LINE, at_most=32), []),
        "workspace_bytes": (EXPRESSION, 0),
        "workspace_zeroed": (TRUTH, False),
        "accuracy": (ACCURACY, None),
    },
)

OPERAND = strict_model(
    "OwnOperand",
    "An operand: in is read, out written, inout both. Sizes are expressions over the operator's axes.",
    {
        "role": (choice(("in", "out", "inout")), ...),
        "shape": (list_of(EXPRESSION), ...),
        "dtype": (choice((*dtypes.NAMES, "{dtype}")), "{dtype}"),
    },
)

_BY_DTYPE: Type_ = mapping_of(number(0.0, 1e6), at_most=2 * len(dtypes.NAMES))
TOLERANCE = strict_model(
    "Tolerance",
    "|found - wanted| <= atol + rtol * |wanted|, each by dtype.",
    {"rtol": (_BY_DTYPE, {}), "atol": (_BY_DTYPE, {})},
)

_FACTS: dict[str, tuple[Type_, Any]] = {
    "name": (NAME, ...),
    "operands": (mapping_of(OPERAND), ...),
    "dtypes": (list_of(choice(dtypes.NAMES), at_least=1, at_most=len(dtypes.NAMES)), None),
    "tolerance": (TOLERANCE, {}),
    "reads": (EXPRESSION, None),
    "writes": (EXPRESSION, None),
}

OPERATOR_FACTS = strict_model("OperatorFacts", "What is declared of an operator beside its reference.", _FACTS)

OPERATOR = strict_model(
    "OwnOperator",
    "An operator of your own. Its axes are the names in its operands' shapes; a case gives each a number.",
    {**_FACTS, "reference": (function(".py"), ...)},
)
