from __future__ import annotations

from gpubench.kernels.resources import Usage, parse

# Recorded from NVRTC 12.4 for sm_75: constant banks are listed, barriers are not.
CUDA_12_4 = """\
ptxas warning : Value of threads per SM for entry spiller is out of range. .minnctapersm will be ignored
ptxas info    : 284 bytes gmem, 40 bytes cmem[4]
ptxas info    : Compiling entry function 'spiller' for 'sm_75'
ptxas info    : Function properties for spiller
ptxas         .     1472 bytes stack frame, 1692 bytes spill stores, 1740 bytes spill loads
ptxas info    : Used 64 registers, 1472 bytes cumulative stack size, 8192 bytes smem, 360 bytes cmem[0], 32 bytes cmem[2]
ptxas info    : Function properties for __internal_trig_reduction_slowpathd
ptxas         .     0 bytes stack frame, 92 bytes spill stores, 80 bytes spill loads
ptxas info    : Compiling entry function '_Z4copyPf' for 'sm_75'
ptxas info    : Function properties for _Z4copyPf
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 32 registers, 664 bytes cmem[0], 8 bytes cmem[2]
"""  # noqa: E501 - a recording keeps its lines

# Recorded from NVRTC 13.5 for sm_90: barriers and the time of compilation are listed.
CUDA_13_5 = """\
ptxas info    : 284 bytes gmem
ptxas info    : Compiling entry function 'spiller' for 'sm_90'
ptxas info    : Function properties for spiller
ptxas         .     1824 bytes stack frame, 2324 bytes spill stores, 2536 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 1824 bytes cumulative stack size, 8192 bytes smem
ptxas info    : Compile time = 53.912 ms
ptxas info    : Function properties for __internal_trig_reduction_slowpathd
ptxas         .     0 bytes stack frame, 104 bytes spill stores, 80 bytes spill loads
ptxas info    : Compiling entry function 'k_i16' for 'sm_90'
ptxas info    : Function properties for k_i16
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 128 bytes smem
ptxas info    : Compile time = 6.829 ms
"""

# The form without the dots at the line's start, as ptxas writes it on a console.
CONSOLE = """\
ptxas info    : Compiling entry function '_Z1kPf' for 'sm_80'
ptxas info    : Function properties for _Z1kPf
    16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 255 registers, 352 bytes cmem[0]
"""


def test_cuda_12_logs_are_understood() -> None:
    """Registers, spills (of called functions too), stack and shared memory come out of a CUDA 12 log."""
    assert parse(CUDA_12_4) == {
        "spiller": Usage(registers=64, spill_bytes=1692 + 1740 + 92 + 80, stack_bytes=1472, shared_bytes=8192),
        "_Z4copyPf": Usage(registers=32),
    }


def test_cuda_13_logs_are_understood() -> None:
    """The same from a CUDA 13 log; one kernel's figures never leak into the next."""
    assert parse(CUDA_13_5) == {
        "spiller": Usage(registers=32, spill_bytes=2324 + 2536 + 104 + 80, stack_bytes=1824, shared_bytes=8192),
        "k_i16": Usage(registers=32, shared_bytes=128),
    }


def test_console_form_is_understood() -> None:
    """Indentation in place of dots changes nothing."""
    assert parse(CONSOLE) == {"_Z1kPf": Usage(registers=255, spill_bytes=12, stack_bytes=16)}


def test_a_log_without_kernels_gives_nothing() -> None:
    """Warnings, empty logs and figures that belong to no kernel are passed over."""
    assert parse("") == {}
    assert parse("warning: unused variable\nptxas info    : Used 10 registers\n") == {}
