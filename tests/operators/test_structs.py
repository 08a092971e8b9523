"""The structs that kernels take by value have on the host the layout that the GPU's compiler gives them."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

import pytest

import gpubench.operators
from gpubench.kernels.sources import default_tree
from gpubench.operators.structs import INTEGER_DIVIDER, STRIDED, Struct, row_places, strided
from tests.host.assertions import refused


def _structs() -> Iterator[Struct]:
    """Yield every struct that a module of the operators defines, by itself or in a table."""
    for module in pkgutil.walk_packages(gpubench.operators.__path__, "gpubench.operators."):
        for value in vars(importlib.import_module(module.name)).values():
            rows: Any = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else (value,)
            yield from (row for row in rows if isinstance(row, Struct))


STRUCTS = {struct.cpp: struct for struct in _structs()}
SOURCES = sorted({struct.source for struct in STRUCTS.values()})


def _offsets(one: Struct) -> dict[str, int]:
    """Return the bytes before each field, in order."""
    return {name: row[1] for name, row in (one.dtype.fields or {}).items()}


def _assertions(one: Struct) -> str:
    """Say in C++ what numpy holds of the struct."""
    lines = [f"static_assert(sizeof({one.cpp}) == {one.dtype.itemsize});"]
    lines += [f"using Struct = {one.cpp};"]
    lines += [f"static_assert(__builtin_offsetof(Struct, {name}) == {at});" for name, at in _offsets(one).items()]
    return "namespace { namespace layout_" + re.sub(r"\W", "_", one.cpp) + " {\n" + "\n".join(lines) + "\n} }\n"


@pytest.mark.parametrize("source", SOURCES)
def test_every_field_stands_where_the_compiler_puts_it(source: str) -> None:
    """Size of each struct and offset of each field; the host's compiler lays structs out as NVRTC does."""
    text = "".join(_assertions(struct) for struct in STRUCTS.values() if struct.source == source)
    assert refused((source,), text) == ""


@pytest.mark.parametrize("template", sorted({cpp.partition("<")[0] for cpp in STRUCTS}))
def test_an_assertion_stands_beside_the_struct(template: str) -> None:
    """Who changes the struct in C++ meets the host's size and last offset at once, whatever compiles it."""
    wanted = []
    for struct in (struct for struct in STRUCTS.values() if struct.cpp.partition("<")[0] == template):
        bare = struct.cpp.removeprefix(template.rpartition("::")[0] + "::")
        last, offset = list(_offsets(struct).items())[-1]
        wanted.append(f"GPUBENCH_LAYOUT({bare}, {struct.dtype.itemsize}, {last}, {offset});")
    tree = default_tree()
    text = tree.read(struct.source if (tree.root / struct.source).is_file() else f"include/{struct.source}")
    assert any(line in text for line in wanted), wanted


def test_values_are_checked() -> None:
    """A field too few, one too many and a number that is too large are errors; padding is zero; bytes read back."""
    with pytest.raises(TypeError, match="has the fields divisor, magic, shift"):
        INTEGER_DIVIDER.value(divisor=1, magic=1)
    with pytest.raises(TypeError, match="has the fields"):
        INTEGER_DIVIDER.value(divisor=1, magic=1, shift=0, more=1)
    with pytest.raises(OverflowError):
        INTEGER_DIVIDER.value(divisor=2**32, magic=1, shift=0)
    with pytest.raises(ValueError, match="2 sizes but"):
        strided((2, 3), (1,))
    with pytest.raises(ValueError, match="3 kinds"):
        row_places(1, ((2, 3), (2, 7), (2, 15)))
    assert STRIDED.read(strided((3, 4), (8, 1)).data) == {
        "dims": 2,
        "padding": 0,
        "sizes": [3, 4, 1, 1, 1, 1, 1, 1],
        "strides": [8, 1, 0, 0, 0, 0, 0, 0],
    }
