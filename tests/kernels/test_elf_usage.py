"""Figures read from machine code, for compilers that print no report."""

from __future__ import annotations

import pytest

from gpubench.kernels import nvrtc, resources
from gpubench.kernels.elf import usage
from gpubench.kernels.sources import default_tree

pytest.importorskip("cupy_backends", reason="NVRTC comes with the extra cuda13")


@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
@pytest.mark.parametrize(
    ("source", "kernel"),
    [
        ("cumsum/naive.cu", "gpubench::cumsum::naive<float, float>"),
        (
            "elementwise/naive.cu",
            "gpubench::elementwise::naive1<gpubench::functions::sin, double, double, double>",
        ),
    ],
)
def test_machine_code_says_what_the_report_says(arch: str, source: str, kernel: str) -> None:
    """Registers, shared memory and stack frame read from the CUBIN equal those of the compiler's own report."""
    output = nvrtc.compile_program(default_tree().program(source), (kernel,), arch)
    symbol = output.lowered_names[kernel]
    told = resources.parse(output.log).get(symbol)
    if told is None:
        pytest.skip("this NVRTC prints no report")
    assert usage(output.cubin, symbol)[:2] == (told.registers, told.shared_bytes)
    assert (usage(output.cubin, symbol)[2] > 0) == (told.stack_bytes > 0)


def test_broken_machine_code_is_a_value_error() -> None:
    """Bytes that are no CUBIN are refused, never misread."""
    with pytest.raises(ValueError, match="not an ELF file"):
        usage(b"\x7fELF", "kernel")
