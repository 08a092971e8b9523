"""Errors between processes: a pool's worker raises one, the process that waits for it shows it."""

from __future__ import annotations

import pickle

import pytest

from gpubench.errors import (
    CompileError,
    DeviceError,
    GpubenchError,
    MissingExtraError,
    Mistake,
    ParameterError,
    SuiteError,
)


@pytest.mark.parametrize(
    "error",
    [
        CompileError("x.cu(3): expected a ;"),
        DeviceError("an illegal address", 700),
        MissingExtraError("cupy", "cuda13"),
        ParameterError("dim", "must be less than 2"),
        SuiteError([Mistake("a.yaml", 3, 1, "cases", "unknown key")]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_comes_out_of_another_process_as_it_was_raised(error: GpubenchError) -> None:
    """Class, message and what it carries: a pool whose error cannot be made anew dies with another one."""
    found = pickle.loads(pickle.dumps(error))
    assert type(found) is type(error)
    assert str(found) == str(error)
    assert vars(found) == vars(error)
