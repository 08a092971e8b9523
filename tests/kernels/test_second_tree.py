"""Kernels from a second cuda_src folder in one process."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gpubench.errors import UsageError
from gpubench.kernels.sources import SECOND, package_root, tree_of


def test_names_choose_their_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`@b/` names lie in the second folder, under their plain names, all others in the first."""
    other = tmp_path / "cuda_src"
    shutil.copytree(package_root(), other)
    (other / "cumsum" / "naive.cu").write_text('#include "gpubench/platform.cuh"\n// edited\n')
    monkeypatch.setenv(SECOND, str(other))
    tree, name = tree_of("@b/cumsum/naive.cu")
    assert name == "cumsum/naive.cu"
    assert "// edited" in tree.program(name).text
    tree, name = tree_of("cumsum/naive.cu")
    assert "// edited" not in tree.program(name).text


def test_a_second_tree_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without the second folder, or with a wrong one, the error names the variable."""
    monkeypatch.delenv(SECOND, raising=False)
    with pytest.raises(UsageError, match=SECOND):
        tree_of("@b/cumsum/naive.cu")
    monkeypatch.setenv(SECOND, str(tmp_path))
    with pytest.raises(UsageError, match=SECOND):
        tree_of("@b/cumsum/naive.cu")
    with pytest.raises(UsageError, match="not the name"):
        tree_of("../x.cu")[0].path("../x.cu")
