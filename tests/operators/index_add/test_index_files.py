"""Indices from a file of the user's own: found beside the suite only, read with care, named by their hash."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpubench.errors import SuiteError
from gpubench.model import Case
from gpubench.operators import OPERATORS
from gpubench.operators.index_add import given
from gpubench.suite.expand import load_suite

INDEX_ADD = OPERATORS["index_add"]


@pytest.fixture(autouse=True)
def _no_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(given.VARIABLE, "")


def cases(folder: Path, file: str, more: str = "") -> tuple[Case, ...]:
    """Write a suite beside the file and return its cases."""
    suite = folder / "own.yaml"
    suite.write_text(
        f"name: own\ncases:\n  - operator: index_add\n    shape: [100, 4]\n    indices: {{file: '{file}'}}\n{more}",
        encoding="utf-8",
    )
    return load_suite(str(suite)).cases


def mistake(folder: Path, file: str, more: str = "") -> str:
    """Return why the suite is refused."""
    with pytest.raises(SuiteError) as caught:
        cases(folder, file, more)
    return str(caught.value)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, ">i4"])
def test_a_case_has_the_file_s_indices_and_its_hash(tmp_path: Path, dtype: Any) -> None:
    """Number, name and hash stand in the case, and no path; the inputs are the file's, whatever integers it holds."""
    (tmp_path / "graph").mkdir()
    wanted = np.random.default_rng(1).integers(0, 100, 333)
    np.save(tmp_path / "graph" / "edges.npy", wanted.astype(dtype))
    (case,) = cases(tmp_path, "graph/edges.npy")
    digest = hashlib.sha256((tmp_path / "graph" / "edges.npy").read_bytes()).hexdigest()
    assert case.params["indices"] == 333
    assert case.params["pattern"] == {
        "file": "graph/edges.npy",
        "sha256": digest,
        "distinct": np.unique(wanted).size,
        "most": np.bincount(wanted).max(),
    }
    assert str(tmp_path) not in str(case)
    problem = INDEX_ADD.problem(case)
    assert np.array_equal(INDEX_ADD.inputs(problem)["index"], wanted)
    assert problem.assumed == {}


def test_a_file_that_changed_is_not_taken_for_the_same(tmp_path: Path) -> None:
    """What was hashed is what is run."""
    np.save(tmp_path / "edges.npy", np.arange(50))
    (case,) = cases(tmp_path, "edges.npy")
    np.save(tmp_path / "edges.npy", np.arange(51))
    with pytest.raises(ValueError, match="have they changed"):
        INDEX_ADD.inputs(INDEX_ADD.problem(case))


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (np.array([3, 100]), "has the index 100; allowed are 0 to 99"),
        (np.array([-1, 5]), "has the index -1; allowed are 0 to 99"),
        (np.array([[1], [2]]), "must hold integers along one dim"),
        (np.array([1.5]), "must hold integers along one dim"),
        (np.array([2**63], np.uint64), "holds numbers beyond"),
        (np.array([{"a": 1}], object), "is no npy file of numbers"),
    ],
)
def test_other_files_are_refused_by_name(tmp_path: Path, array: Any, reason: str) -> None:
    """Indices outside, other dims and types, and pickled objects, which are never loaded."""
    np.save(tmp_path / "edges.npy", array, allow_pickle=True)
    assert reason in mistake(tmp_path, "edges.npy")


def test_what_is_not_inside_the_folder_is_refused(tmp_path: Path) -> None:
    """No absolute path, no way up, no link out; no text that only looks like npy; no pattern beside it."""
    inner = tmp_path / "inner"
    inner.mkdir()
    np.save(tmp_path / "edges.npy", np.arange(5))
    (inner / "link.npy").symlink_to(tmp_path / "edges.npy")
    (inner / "text.npy").write_bytes(b"\x93NUMPY\x01\x00\xff\xff{'descr'")
    np.save(inner / "good.npy", np.arange(5))
    assert "must name a file in the suite's folder" in mistake(inner, "../edges.npy")
    assert "must name a file in the suite's folder" in mistake(inner, str(tmp_path / "edges.npy"))
    assert "leads out of the suite's folder" in mistake(inner, "link.npy")
    assert "there is no file" in mistake(inner, "none.npy")
    assert "is no npy file of numbers" in mistake(inner, "text.npy")
    assert "cannot be read" in mistake(tmp_path, "inner")
    assert "no meaning beside indices from a file" in mistake(inner, "good.npy", "    pattern: zipf\n")
