"""The parameters of a case as plain values by name, and its neighbours: cases that differ in one of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpubench import dtypes
from gpubench.errors import ParameterError, UnsupportedError
from gpubench.layout import Layout
from gpubench.model import Case, Json
from gpubench.operators import operator
from gpubench.operators.parameters import input_label, layout_label, to_json

Value = int | str
SIZE = "size "
"""How the names of sizes begin: `size 0` is that of the slowest dim."""
LAYOUTS = ("layout", "source_layout")
WORDS: Mapping[str, tuple[Json, ...]] = {
    "dtype": ("float32", "bfloat16", "float64", "int32", "int8", "complex64"),
    "pattern": ("uniform", "sorted", "same"),
    "index_dtype": ("int64", "int32"),
}
"""What is tried of parameters that are no numbers."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A case that differs from another in one parameter, which has this value."""

    parameter: str
    value: Value
    case: Case


def values(case: Case) -> dict[str, Value]:
    """Return the parameters of a case by name, the sizes of the largest shape among them."""
    params = case.params
    found: dict[str, Value] = {"dtype": case.dtype}
    for name, value in params.items():
        if name == "shape" and value is not None:
            found |= {f"{SIZE}{dim}": size for dim, size in enumerate(value)}
        elif name == "inputs":
            found |= {f"{SIZE}{dim}": size for dim, size in enumerate(_broadcast(value))}
            found |= {f"operand {place}": _operand_word(operand) for place, operand in enumerate(value)}
        elif name in LAYOUTS and value is not None:
            found[name] = _layout_word(value)
        elif isinstance(value, bool) or not isinstance(value, int | float):
            found |= {} if value in (None, {}, []) and name != "dim" else {name: _word(value)}
        else:
            found[name] = value if isinstance(value, int) else str(value)
    if "dim" in found:
        found["dim"] = _word(params["dim"])
    return found


def with_value(case: Case, parameter: str, value: Json) -> Case | None:
    """Return the case with another value of one parameter, as a suite writes it; None where that has no meaning."""
    params: dict[str, Any] = {**case.params}
    dtype = case.dtype
    if parameter == "dtype":
        dtype = value
    elif parameter.startswith(SIZE):
        _set_size(params, int(parameter.removeprefix(SIZE)), value)
    elif parameter.startswith("operand "):
        place = int(parameter.removeprefix("operand "))
        params["inputs"] = [
            {**operand, **(value if at == place else {})} for at, operand in enumerate(params["inputs"])
        ]
    else:
        params[parameter] = value
    one = operator(case.operator)
    try:
        normal = one.normalise(one.parse(params), dtype)
        label = one.label(normal, dtype) + input_label(case.distribution, case.seed)
        made = replace(case, id=label, dtype=dtype, params=to_json(normal))
        one.problem(made)
    except (ParameterError, UnsupportedError):
        return None
    return made


def memory_bytes(case: Case) -> int:
    """Return the bytes that the operands of a case take."""
    operands = operator(case.operator).problem(case).operands
    return sum(operand.view.storage * dtypes.dtype(operand.dtype).itemsize for operand in operands)


def neighbours(case: Case, most_bytes: int) -> list[Neighbour]:
    """Return the cases one step away: numbers one and two more and less, half and double, other words.

    Those that would take more than `most_bytes` are left out.
    """
    found: list[Neighbour] = []
    for parameter, value in values(case).items():
        tried = _numbers(value) if isinstance(value, int) else _words(case, parameter)
        found += _made(case, parameter, tried, most_bytes)
    return found


def further(case: Case, parameter: str, tested: Sequence[int], most_bytes: int, *, up: bool) -> list[Neighbour]:
    """Return the neighbour beyond the numbers of a parameter tested so far: half of the least, or double the most."""
    number = 2 * max(tested) if up else min(tested) // 2
    odd = (max(tested) if up else min(tested)) % 2
    return _made(case, parameter, [number | odd], most_bytes) if number >= 1 or odd else []


def between(case: Case, parameter: str, tested: Mapping[int, bool], most_bytes: int, *, up: bool) -> list[Neighbour]:
    """Return the neighbour halfway between the outermost number that loses and the next of its parity that does not."""
    way = 1 if up else -1
    last = max((number for number, loses in tested.items() if loses), key=lambda number: way * number)
    wins = [number for number, loses in tested.items() if not loses and way * (number - last) > 0]
    wins = [number for number in wins if number % 2 == last % 2]
    if not wins:
        return []
    step = (min(wins, key=lambda number: way * number) - last) // 2
    step -= step % 2 * way
    return _made(case, parameter, [last + step], most_bytes) if step else []


def _made(case: Case, parameter: str, tried: Sequence[Json], most_bytes: int) -> list[Neighbour]:
    found = {}
    for value in tried:
        made = with_value(case, parameter, value)
        if made is None or made.id == case.id or memory_bytes(made) > most_bytes:
            continue
        found[made.id] = Neighbour(parameter, values(made).get(parameter, "contiguous"), made)
    return list(found.values())


def _numbers(number: int) -> list[int]:
    """Return numbers near one. Half and double of an odd number are odd, so that they differ from it in size alone."""
    odd = number % 2
    near = [number - 2, number - 1, number + 1, number + 2, (number // 2) | odd, (2 * number) | odd]
    return sorted({candidate for candidate in near if candidate >= 1 and candidate != number})


def _words(case: Case, parameter: str) -> list[Json]:
    rank = sum(name.startswith(SIZE) for name in values(case))
    if parameter in LAYOUTS:
        return _layouts(rank)
    if parameter.startswith("operand "):
        spec = case.params["inputs"][int(parameter.removeprefix("operand "))]
        return [{"layout": layout} for layout in _layouts(len(spec["shape"]))]
    if parameter == "dim":
        own = case.params["dim"]
        return [dim if isinstance(own, int) else [dim] for dim in range(max(rank, 1))]
    return list(WORDS.get(parameter, ()))


def _layouts(rank: int) -> list[Json]:
    last: list[Json] = [{"permute": [*range(rank - 2), rank - 1, rank - 2]}] if rank > 1 else []
    return [{}, {"offset": 1}, *last]


def _set_size(params: dict[str, Any], dim: int, size: int) -> None:
    if not params.get("inputs"):
        params["shape"] = [size if place == dim else known for place, known in enumerate(params["shape"])]
        return
    rank = len(_broadcast(params["inputs"]))
    whole = _broadcast(params["inputs"])[dim]
    params["inputs"] = [
        {
            **operand,
            "shape": [
                size if place + rank - len(operand["shape"]) == dim and old == whole else old
                for place, old in enumerate(operand["shape"])
            ],
        }
        for operand in params["inputs"]
    ]


def _broadcast(inputs: Sequence[Mapping[str, Any]]) -> list[int]:
    rank = max(len(operand["shape"]) for operand in inputs)
    padded = [[1] * (rank - len(operand["shape"])) + list(operand["shape"]) for operand in inputs]
    return [math.prod({*sizes} - {1}) for sizes in zip(*padded, strict=True)]


def _operand_word(spec: Mapping[str, Any]) -> str:
    ones = ", ".join("1" if size == 1 else "n" for size in spec["shape"])
    sizes = "scalar" if not ones else f"of [{ones}]" if "1" in ones else ""
    return " ".join(filter(None, [sizes, spec.get("dtype") or "", _layout_word(spec["layout"])]))


def _layout_word(layout: Mapping[str, Any]) -> str:
    plain: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in layout.items()}
    return layout_label(Layout(**plain)) or "contiguous"


def _word(value: Json) -> str:
    """Return a parameter's value as a word: `0`, `0,2`, `below=3`."""
    return ",".join(_parts(value))


def _parts(value: Json) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from (f"{name}={item}" for name, item in value.items())
    elif isinstance(value, list | tuple):
        yield from (str(item) for item in value)
    else:
        yield str(value)
