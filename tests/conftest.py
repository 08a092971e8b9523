"""What all tests share: patience with a busy machine, a terminal's signals, and kernel sources that may be broken."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from gpubench.kernels.sources import default_tree

settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

# Under nohup, or as a script's background job, these are ignored, and commands that tests interrupt would inherit that.
for _signal, _usual in ((signal.SIGHUP, signal.SIG_DFL), (signal.SIGINT, signal.default_int_handler)):
    if signal.getsignal(_signal) is signal.SIG_IGN:
        signal.signal(_signal, _usual)


@pytest.fixture
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of cuda_src that a test may break.

    It is always at the same place, so that what no test breaks, as the simulator's runtime, is compiled once.
    """
    root = tmp_path_factory.getbasetemp() / "sources" / "cuda_src"
    shutil.rmtree(root, ignore_errors=True)
    return Path(shutil.copytree(default_tree().root, root))
