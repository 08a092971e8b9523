"""What the tests on a GPU share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpubench.devices import open_device
from gpubench.devices.cuda import CudaDevice
from gpubench.errors import NoDeviceError


@pytest.fixture(scope="module")
def device() -> Iterator[CudaDevice]:
    """Open the first GPU; skip where there is none."""
    try:
        opened = open_device("cuda:0")
    except NoDeviceError as error:
        pytest.skip(str(error))
    assert isinstance(opened, CudaDevice)
    yield opened
    opened.close()
