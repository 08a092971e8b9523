"""`gpubench list --explain`: the launches and the configuration of a case, without a GPU."""

from __future__ import annotations

import json

import pytest

from gpubench.operators import OPERATORS
from tests.suite.test_list_command import run

CASE = "sum/16x128x64x128/dim=1/float32"


def test_the_configuration_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """Block, grid, vector and blocks an output of a worked example, from the id alone."""
    told = json.loads(run(capsys, "list", "--explain", CASE, "--json", "--contender", "gpubench:reduce_config"))
    (plan,) = told["plans"]
    config = plan["notes"]["config"]
    assert (config["block"], config["grid"], config["output_vec_size"]) == ([32, 4], [1024, 1], 4)
    assert config["ctas_per_output"] == 1
    assert plan["steps"][0]["block"] == [32, 4, 1]


def test_every_variant_is_told_or_says_why_not(capsys: pytest.CaptureFixture[str]) -> None:
    """As text: one paragraph a variant; the default is marked; a refusal has its reason."""
    case = "index_add/32768x1024/dim=0/n=1024/below=1024/float32"
    text = run(capsys, "list", "seeds", "--explain", case)
    assert all(f"gpubench:{variant.name}" in text for variant in OPERATORS["index_add"].variants)
    assert text.count("(gpubench:auto)") == 1
    assert "does not take it: 1024 indices" in text


def test_without_a_gpu_the_plans_are_said_to_be_for_another(capsys: pytest.CaptureFixture[str]) -> None:
    """The grid depends on the number of SMs, so a reader must know that they are assumed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gpubench.devices.list_devices", lambda: ([], []))
        text = run(capsys, "list", "--explain", CASE, "--contender", "gpubench:reduce_config")
    assert text.splitlines()[0] == f"{CASE} on NVIDIA H200 (132 SMs; assumed, for there is no GPU here)"


@pytest.mark.parametrize(
    "arguments",
    [
        ("list", "--explain", "sum/16x128x64x129/dim=1/float32"),
        ("list", "--explain", CASE, "--variants"),
        ("list", "--explain", CASE, "--dtype", "float16"),
        ("list", "--explain", CASE, "--contender", "gpubench:nothing"),
    ],
)
def test_what_cannot_be_explained_is_a_usage_error(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    """An unknown id (with near ones), and options that do not go with it."""
    told = run(capsys, *arguments, code=2)
    if arguments[-1].endswith("129/dim=1/float32"):
        assert CASE in told
