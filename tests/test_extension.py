"""Adding one more thing takes the files that CONTRIBUTING.md says, and every command and test then knows of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpubench.devices.host_compiler import find_compiler
from gpubench.errors import NoDeviceError
from tests.extension import (
    ROOT,
    TOYS,
    Checkout,
    add_function,
    add_operator,
    add_peer,
    add_variant,
    copy,
)

SUITE = str(TOYS / "toys.yaml")
QUICK = ("--rounds", "2", "--min-samples", "3", "--time-limit", "0.05", "-q")
OURS = "gpubench:naive,gpubench:two_lines"
PEER_ON_A_DEVICE = f"""
from dataclasses import replace
from gpubench.devices.fake import FakeDevice
from gpubench.devices.fake_script import parse_script
from gpubench.engine.pipeline import Pipeline
from gpubench.model import Ceiling
from gpubench.suite.expand import load_suite

device = FakeDevice(parse_script({{"times": [{{"us": 20.0, "spread": 0.001}}]}}))
device.info = replace(device.info, kind="cuda", simulated=False)
case = load_suite({SUITE!r}).cases[0]
found = []
Pipeline(device).run(case, ("toy", "gpubench:naive"), Ceiling(1000.0), 0, lambda *_: None, found.append)
assert {{record.contender: record.status for record in found}} == {{"toy": "ok", "gpubench:naive": "ok"}}, found
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Return a checkout with all four toys."""
    made = copy(tmp_path_factory.mktemp("extension"))
    for add in (add_function, add_variant, add_operator, add_peer):
        add(made)
    return made


@pytest.fixture(scope="module")
def results(checkout: Checkout) -> tuple[str, str]:
    """Return two results of the toys' suite, run on the host device."""
    try:
        find_compiler()
    except NoDeviceError as error:
        pytest.skip(str(error))
    for name in ("a.json", "b.json"):
        checkout.run("run", SUITE, "--device", "host", "-o", name, *QUICK)
    return "a.json", "b.json"


def test_what_is_added_is_what_the_table_says(tmp_path: Path) -> None:
    """A function is 2 files, a variant 3 and at most 150 lines, a peer 2, an operator its package and 3 more."""
    made = copy(tmp_path)

    def added_by(add: object) -> dict[str, int]:
        made.files.clear()
        add(made)  # type: ignore[operator] # one of the functions below
        return dict(made.files)

    assert len(added_by(add_function)) == 2
    variant = added_by(add_variant)
    assert len(variant) == 3
    assert sum(variant.values()) <= 150
    peer = added_by(add_peer)
    assert sorted(peer.values())[0] == 1
    assert len(peer) == 2
    outside = {path for path in added_by(add_operator) if not path.startswith("gpubench/operators/reverse/")}
    assert outside == {"gpubench/operators/__init__.py", "cuda_src/reverse/naive.cu", "suites/reverse.yaml"}
    table = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for row in ("| elementwise function | 2 files:", "| variant of a kernel | 3 files:", "| operator | a package"):
        assert row in table


def test_they_are_listed(checkout: Checkout) -> None:
    """Cases, variants, functions and the editors' schema name them."""
    cases = json.loads(checkout.run("list", SUITE, "--json"))
    assert {case["operator"] for case in cases} == {"elementwise", "cumsum", "reverse"}
    assert "toy" in cases[0]["contenders"]
    variants = json.loads(checkout.run("list", "--variants", "--json"))
    names = {(row["operator"], row["contender"]) for row in variants}
    assert {("cumsum", "gpubench:two_lines"), ("reverse", "gpubench:naive")} <= names
    (cube,) = (row for row in json.loads(checkout.run("list", "--functions", "--json")) if row["function"] == "cube")
    assert cube["libraries"] == ["toy"]
    assert '"cube"' in checkout.run("schema")


def test_they_are_run_and_right(results: tuple[str, str], checkout: Checkout) -> None:
    """Every contender of ours gives right answers on the host; the peer says why it has none there."""
    records = json.loads((checkout.root.parent / results[0]).read_text(encoding="utf-8"))["records"]
    statuses = {(record["case"]["id"], record["contender"]): record["status"] for record in records}
    toy = {key for key in statuses if key[1] == "toy"}
    assert len(toy) == 2
    assert {statuses[key] for key in toy} == {"unsupported"}
    assert {status for key, status in statuses.items() if key not in toy} <= {"ok", "noisy"}
    assert ("cumsum/5x33/dim=1/float32", "gpubench:two_lines") in statuses


def test_they_are_checked(results: tuple[str, str], checkout: Checkout) -> None:
    """`check` runs them under several orders of threads."""
    del results  # which has compiled most of it
    assert "All answers are right" in checkout.run("check", SUITE, "--contender", OURS)


def test_they_are_shown_plotted_and_compared(results: tuple[str, str], checkout: Checkout) -> None:
    """Views know nothing by name, so they need nothing."""
    shown = checkout.run("show", results[0])
    assert all(name in shown for name in ("elementwise/cube", "two_lines", "reverse/1000", "toy"))
    files = checkout.run("plot", results[0], "-o", "charts").split()
    assert any("reverse" in name for name in files)
    assert "reverse/1000/int16" in checkout.run("compare", *results, codes=(0, 1, 3))


def test_the_peer_is_timed_and_checked_on_a_device(checkout: Checkout) -> None:
    """On a device that it takes, the toy library's answer is timed and held against the reference like ours."""
    checkout.run(PEER_ON_A_DEVICE, module="")


def test_every_test_meets_them(results: tuple[str, str], checkout: Checkout) -> None:
    """The tests of that checkout pass with no edit: they find the toys in the registries."""
    del results
    files = ("test_plans", "test_gpu_matrix", "test_designs_named", "test_elementwise")
    paths = [f"tests/operators/{name}.py" for name in files]
    suites = ["tests/suite/test_shipped_suites.py", "tests/suite/test_list_command.py", "tests/test_architecture.py"]
    checkout.run("-p", "no:cacheprovider", *paths, *suites, "-k", "not documented", module="pytest")
    found = checkout.run(
        "-p", "no:cacheprovider", "tests/host/test_every_variant.py", "-k", "reverse or two_lines", module="pytest"
    )
    assert "...." in found
