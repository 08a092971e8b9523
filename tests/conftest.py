"""What all tests share: patience with a busy machine, and kernel sources that may be broken."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from gpubench.kernels.sources import default_tree

settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.fixture
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of cuda_src that a test may break.

    It is always at the same place, so that what no test breaks, as the simulator's runtime, is compiled once.
    """
    root = tmp_path_factory.getbasetemp() / "sources" / "cuda_src"
    shutil.rmtree(root, ignore_errors=True)
    return Path(shutil.copytree(default_tree().root, root))
