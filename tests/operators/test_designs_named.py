"""The variants after other libraries' designs tell where they are from, what they take, and what was weak there."""

from __future__ import annotations

import json

import pytest

from gpubench.kernels.sources import default_tree
from gpubench.operators import OPERATORS
from tests.suite.test_list_command import run

NAMES = {
    "cumsum": (
        *("lookback_1d", "lookback_1d_deterministic", "sklansky_rows", "sklansky_rows_unsigned", "serial_columns"),
        *(f"sklansky_rows_x{threads}" for threads in (16, 32, 64, 128, 256, 512)),
        "auto_pytorch",
    ),
    "elementwise": (
        *("vectorized", "vectorized_older", "vectorized_2", "vectorized_4", "vectorized_8", "unrolled", "strided"),
        *("casting", "unrolled_older", "auto_pytorch", "auto_pytorch_older"),
    ),
    "sum": ("reduce_config", "reduce_config_width_first", "auto_pytorch"),
    "index_add": (
        *("small_index", "large_index", "uncollapsed", "oneflow", "sorted_deterministic", "auto_pytorch"),
        *("small_index_multiplied", "large_index_multiplied", "small_index_spread"),
    ),
}
DESIGNS = [(operator, name) for operator, names in NAMES.items() for name in names]


@pytest.mark.parametrize(("operator", "name"), DESIGNS)
def test_a_line_names_source_and_limits(capsys: pytest.CaptureFixture[str], operator: str, name: str) -> None:
    """`list --variants --json` has each under its name: whose design it is, then, after a semicolon, what it takes."""
    told = run(capsys, "list", "--variants", "--json", "--operator", operator, "--contender", f"gpubench:{name}")
    (row,) = json.loads(told)
    source, _, limits = row["origin"].partition("; ")
    assert any(library in source for library in ("PyTorch", "CUB", "OneFlow"))
    assert limits
    assert "\n" not in row["summary"] + row["origin"]


@pytest.mark.parametrize("operator", NAMES)
def test_their_sources_stand_apart(operator: str) -> None:
    """What is compiled for another library's design lies in a folder `seeds`, and nothing of ours does."""
    for variant in OPERATORS[operator].variants:
        folders = {source.split("/")[1] == "seeds" for source, _ in variant.instances("float32")}
        assert folders <= {variant.name in NAMES[operator]}, variant.name


@pytest.mark.parametrize(("operator", "name"), DESIGNS)
def test_a_header_names_source_and_weak_spots(operator: str, name: str) -> None:
    """Each source that the variant compiles begins with its data's way, where it is from and what it keeps."""
    variant = next(variant for variant in OPERATORS[operator].variants if variant.name == name)
    for path in {source for source, _ in variant.instances("float32")}:
        header = default_tree().read(path).split("#include")[0]
        assert "// Data: " in header or "\n// Data" in header or "The host reorders" in header
        assert "// Origin: " in header or "// Source: " in header
        assert "eak spots kept:" in header or "eak spots, kept:" in header
