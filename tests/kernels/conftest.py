"""What the tests of this folder share: a cache folder of their own, a small source tree, NVRTC if there is any."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpubench.errors import MissingExtraError
from gpubench.kernels import cache, nvrtc
from gpubench.kernels.sources import OVERRIDE, SourceTree


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep compiled kernels away from the user's own cache."""
    folder = tmp_path / "cache"
    monkeypatch.setenv(cache.FOLDER, str(folder))
    monkeypatch.delenv(OVERRIDE, raising=False)
    return folder


@pytest.fixture
def compiler() -> Any:
    """Skip where NVRTC is not installed; it comes with the extras cuda12 and cuda13."""
    try:
        return nvrtc.binding()
    except MissingExtraError as error:
        pytest.skip(f"needs NVRTC: {error}")


@pytest.fixture
def tree(tmp_path: Path) -> SourceTree:
    """Return a tree with one source, `demo/scale.cu`, that needs nothing of the platform."""
    root = tmp_path / "cuda_src"
    (root / "include" / "gpubench").mkdir(parents=True)
    (root / "include" / "gpubench" / "platform.cuh").write_text("#pragma once\n", encoding="utf-8")
    (root / "include" / "gpubench" / "factor.cuh").write_text(
        "#pragma once\ntemplate <class T> __device__ T factor() { return T(3); }\n", encoding="utf-8"
    )
    (root / "demo").mkdir()
    (root / "demo" / "scale.cu").write_text(
        '#include "gpubench/platform.cuh"\n#include "gpubench/factor.cuh"\n'
        "namespace demo {\ntemplate <class T>\n__global__ void scale(T* x) {\n"
        "    x[threadIdx.x] = x[threadIdx.x] * factor<T>();\n}\n}\n",
        encoding="utf-8",
    )
    return SourceTree(root)
