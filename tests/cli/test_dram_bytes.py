"""The count of DRAM bytes: ncu's own table is read right, and a run that counted nothing is not zero bytes."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

TABLE = """==PROF== Connected to process 123
==PROF== Profiling "carry_forward" - 0: 0%....50%....100% - 1 pass
"ID","Process ID","Kernel Name","dram__bytes_read.sum","dram__bytes_write.sum","smsp__inst_executed.sum"
"","","","byte","byte","inst"
"0","123","block_sums","1,000","24","70"
"1","123","scan","2,500","3,000","1,000"
"""


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """Load the script as a module."""
    path = Path(__file__).parents[2] / "scripts" / "dram_bytes.py"
    spec = importlib.util.spec_from_file_location("dram_bytes", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_kernels_of_a_plan_are_added_up(script: ModuleType) -> None:
    """Bytes and instructions of all launches count; units, thousands and ncu's own words do not get in the way."""
    assert script.counted(TABLE.splitlines()) == {"read": 3500, "written": 3024, "instructions": 1070}


@pytest.mark.parametrize("output", ["", "==ERROR== No kernels were profiled\n", TABLE.split('"0"')[0]])
def test_no_kernel_is_no_count(script: ModuleType, output: str) -> None:
    """An empty table is an error, not a kernel that moves nothing."""
    with pytest.raises(ValueError, match="no kernel"):
        script.counted(output.splitlines())
