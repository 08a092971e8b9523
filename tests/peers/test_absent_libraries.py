"""Peers are optional: nothing imports a library before it is asked to, and one that is missing is a plain line."""

from __future__ import annotations

import importlib
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from gpubench.errors import MissingExtraError, UnsupportedError, UsageError
from gpubench.libraries import PACKAGES
from gpubench.peers import PEERS, base, load

ROOT = Path(__file__).parents[2]

OFFER_EVERYTHING = """
import sys
from gpubench.operators import OPERATORS
from gpubench.peers import PEERS, load, refusal
from tests.engine.bed import case

for name in PEERS:
    peer = load(name)
    for operator in OPERATORS:
        one = case(operator)
        refusal(peer, OPERATORS[operator].problem(one))
print(sorted({"torch", "triton", "jax", "cupy", "cuda", "cupti"} & set(sys.modules)))
"""


def test_no_library_is_imported_before_it_is_loaded() -> None:
    """Naming peers and asking what they offer imports none of their libraries."""
    done = subprocess.run([sys.executable, "-c", OFFER_EVERYTHING], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every import of a library fail."""

    def refuse(name: str) -> Any:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(importlib, "import_module", refuse)


@pytest.mark.parametrize("name", [name for name in PEERS if name in PACKAGES])
def test_a_missing_library_is_one_line_that_names_an_extra_which_exists(
    name: str, request: pytest.FixtureRequest
) -> None:
    """The command installs what an extra of this project lists, and asks no index for the name `gpubench`."""
    peer = load(name)
    request.getfixturevalue("nothing_installed")
    with pytest.raises(MissingExtraError) as caught:
        peer.load()
    message = str(caught.value)
    assert "is not installed" in message
    assert "\n" not in message
    asked = shlex.split(message.partition(" install ")[2])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert asked in project["optional-dependencies"].values()
    assert "gpubench" not in message.partition("with: ")[2].replace(str(ROOT), "")


@pytest.mark.parametrize(
    "error",
    [
        OSError("libcudart.so.13: cannot open shared object file: No such file or directory"),
        ImportError("libcupti.so.13: cannot open shared object file"),
        ModuleNotFoundError("No module named 'cuda.bindings'", name="cuda.bindings"),
        RuntimeError("Failed to detect the CUDA version\n and many more lines"),
    ],
)
def test_a_library_that_is_there_but_does_not_load_is_not_called_absent(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half an installation is skipped like none, and the line says what its own error was."""

    def refuse(_: str) -> Any:
        raise error

    monkeypatch.setattr(importlib, "import_module", refuse)
    with pytest.raises(MissingExtraError, match="cannot be loaded") as caught:
        base.library("cuda.compute", "cuda-cccl", "cub")
    message = str(caught.value)
    assert str(error).splitlines()[0] in message
    assert message.endswith("pip install 'cuda-cccl[cu13]>=1.0'")
    assert "\n" not in message


def test_an_unknown_peer_is_answered_with_those_that_exist() -> None:
    """A typing error is not a missing library."""
    with pytest.raises(UsageError, match=r"'torhc'.*torch"):
        load("torhc")


@pytest.mark.parametrize("error", [TypeError, ValueError, NotImplementedError, IndexError, KeyError])
def test_a_refusal_is_unsupported_in_the_library_s_first_words(error: type[Exception]) -> None:
    """A long message of a library becomes one short line."""

    def refuse() -> None:
        raise error("\n  no kernel for this dtype\n" + "trace\n" * 500)

    with pytest.raises(UnsupportedError, match=r"cupy refuses: .*no kernel for this dtype") as caught:
        base.attempt("cupy", refuse)
    assert "\n" not in str(caught.value)
