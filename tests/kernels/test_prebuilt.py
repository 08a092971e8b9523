"""Machine code that a user brings: what its own tables say of a kernel, and what is refused before it is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpubench.errors import CompileError
from gpubench.kernels import nvrtc
from gpubench.kernels.elf import complete
from gpubench.kernels.foreign import compile_foreign, parameters_of
from gpubench.model import Foreign

SOURCE = """struct Pair { double a; int b; };
extern "C" __global__ void work(const float* x, float* y, long long n, int c, Pair p, char z) {
  y[0] = x[n] + c + p.b + z;
}
extern "C" __global__ void none() {}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the same two kernels as PTX for 8.0 and later, and as machine code for 9.0 and for 8.0."""
    binding, place = nvrtc.binding(), tmp_path_factory.mktemp("code")
    for arch, name in (("compute_80", "work.ptx"), ("sm_90", "work.cubin"), ("sm_80", "old.cubin")):
        program = binding.createProgram(SOURCE, "work.cu", [], [])
        binding.compileProgram(program, [f"-arch={arch}"])
        made = binding.getPTX(program) if name.endswith("ptx") else complete(binding.getCUBIN(program))
        (place / name).write_bytes(made.encode() if isinstance(made, str) else made)
    (place / "torn.cubin").write_bytes((place / "work.cubin").read_bytes()[:200])
    (place / "text.ptx").write_text("no PTX")
    return place


@pytest.mark.parametrize("name", ["work.cubin", "work.ptx"])
def test_sizes_of_parameters_are_read_from_the_code(folder: Path, name: str) -> None:
    """Pointers, numbers and a struct, in the order of the parameters; a kernel without any has none."""
    foreign = Foreign(str(folder))
    assert parameters_of(compile_foreign(foreign, name, "work", "sm_90")) == (8, 8, 8, 4, 16, 1)
    assert parameters_of(compile_foreign(foreign, name, "none", "sm_90")) == ()


@pytest.mark.parametrize(
    ("name", "symbol", "told"),
    [
        ("work.cubin", "wrk", "work.cubin has no kernel wrk; did you mean work?"),
        ("work.ptx", "wrk", "work.ptx has no kernel wrk; did you mean work?"),
        ("old.cubin", "work", "old.cubin is for sm_80, and this GPU is sm_90"),
        ("torn.cubin", "work", "torn.cubin is no CUBIN"),
        ("text.ptx", "work", "text.ptx is no PTX"),
        ("absent.cubin", "work", "absent.cubin cannot be read"),
    ],
)
def test_code_that_cannot_run_is_one_line(folder: Path, name: str, symbol: str, told: str) -> None:
    """Another GPU's code, a torn file and an unknown symbol are told before the driver is asked."""
    with pytest.raises(CompileError) as caught:
        compile_foreign(Foreign(str(folder)), name, symbol, "sm_90")
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
