"""What tests of charts need around them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpubench.views.style import styled


@pytest.fixture
def drawing() -> Iterator[None]:
    """Draw in the project's style."""
    with styled():
        yield
