"""Kernels of the user's own on a real GPU, in every form: machine code, PTX, shared libraries, Python on each library.

Run with: pytest tests/gpu/test_own.py -o addopts=-q
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpubench.devices.cuda import CudaDevice
from gpubench.kernels import nvrtc
from gpubench.kernels.foreign import compile_foreign, parameters_of
from gpubench.kernels.sources import Program
from gpubench.model import Foreign
from gpubench.names import AUTO
from gpubench.suite.expand import load_suite
from tests.own.bed import on_device, written

pytestmark = pytest.mark.gpu
EXAMPLES = Path(__file__).parents[2] / "examples"

SCAN = """extern "C" __global__ void scan(const float* x, float* y, long long rows, int row_size) {
  const long long row = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int i = 0; i < row_size; ++i) y[row * row_size + i] = sum += x[row * row_size + i];
}
"""
CASES = "  - {operator: cumsum, shape: [[300, 100], [64, 1]], contenders: ['own:*']}\n"
LAUNCH = "entry: scan, arguments: [x, y, rows, int32(row_size)], grid: 'ceil_div(rows, 64)', block: 64"
LIBRARY = """
#include <dlfcn.h>
#include "ptx.h"
typedef int (*function)();
static function of(const char* name) { return (function)dlsym(dlopen("libcuda.so.1", RTLD_NOW), name); }
extern "C" int scan(const float* x, float* y, long long rows, int row_size, void* stream) {
  static void *module, *kernel;
  int code = 0;
  if (!kernel) {
    code = ((int (*)(void**, const void*))of("cuModuleLoadData"))(&module, ptx);
    if (!code) code = ((int (*)(void**, void*, const char*))of("cuModuleGetFunction"))(&kernel, module, "scan");
    if (code) return code;
  }
  void* arguments[] = {&x, &y, &rows, &row_size};
  typedef unsigned u;
  typedef int (*launch)(void*, u, u, u, u, u, u, u, void*, void**, void**);
  const u blocks = (rows + 63) / 64;
  return ((launch)of("cuLaunchKernel"))(kernel, blocks, 1, 1, 64, 1, 1, 0, stream, arguments, nullptr);
}
"""


def arch_of(device: CudaDevice) -> str:
    """Return the architecture's name."""
    return device.info.arch


def ptx_of(device: CudaDevice) -> str:
    """Return the PTX of SCAN."""
    binding: Any = nvrtc.binding()
    handle = binding.createProgram(SCAN, "scan.cu", (), ())
    binding.compileProgram(handle, [f"-arch={arch_of(device).replace('sm', 'compute')}"])
    text: str = binding.getPTX(handle).decode()
    return text.rstrip("\0")


def statuses(device: CudaDevice, folder: Path, kernels: str, files: dict[str, str | bytes]) -> dict[str, str | None]:
    """Run a suite's kernels; return the message of each that is not right, None for the others."""
    found: dict[str, str | None] = {}
    for record in on_device(device, written(folder, kernels, files, CASES)):
        told = None if record.status in ("ok", "noisy") else f"{record.status}: {record.message}"
        found[record.contender] = found.get(record.contender) or told
    return found


def test_machine_code_in_every_form_is_right(device: CudaDevice, tmp_path: Path) -> None:
    """A source, its CUBIN and its PTX give right answers; the sizes of parameters are those that the driver knows."""
    cubin = nvrtc.compile_program(Program("scan.cu", SCAN, ()), (), arch_of(device)).cubin
    kernels = (
        f"  - {{name: text, operator: cumsum, source: scan.cu, {LAUNCH}}}\n"
        f"  - {{name: code, operator: cumsum, binary: scan.cubin, {LAUNCH}}}\n"
        f"  - {{name: later, operator: cumsum, binary: scan.ptx, {LAUNCH}}}\n"
    )
    files: dict[str, str | bytes] = {"scan.cu": SCAN, "scan.cubin": cubin, "scan.ptx": ptx_of(device)}
    assert statuses(device, tmp_path, kernels, files) == {"own:text": None, "own:code": None, "own:later": None}
    driver = pytest.importorskip("cuda.bindings.driver")
    for file in ("scan.cu", "scan.cubin", "scan.ptx"):
        compiled = compile_foreign(Foreign(str(tmp_path)), file, "scan", arch_of(device))
        _, module = driver.cuModuleLoadData(compiled.cubin)
        _, function = driver.cuModuleGetFunction(module, compiled.lowered_name.encode())
        known = [driver.cuFuncGetParamInfo(function, place) for place in range(4)]
        assert parameters_of(compiled) == tuple(size for _, _, size in known), file


def test_machine_code_that_does_not_fit_is_a_line(device: CudaDevice, tmp_path: Path) -> None:
    """Another architecture's CUBIN, PTX that the driver cannot take, and an argument of the wrong size."""
    other = nvrtc.compile_program(Program("scan.cu", SCAN, ()), (), "sm_80").cubin
    wide = LAUNCH.replace("int32(row_size)", "row_size")
    kernels = (
        f"  - {{name: old, operator: cumsum, binary: scan.cubin, {LAUNCH}}}\n"
        f"  - {{name: odd, operator: cumsum, binary: scan.ptx, {LAUNCH}}}\n"
        f"  - {{name: wide, operator: cumsum, source: scan.cu, {wide}}}\n"
    )
    broken = ptx_of(device).replace("ret;", "retreat;")
    files: dict[str, str | bytes] = {"scan.cu": SCAN, "scan.cubin": other, "scan.ptx": broken}
    told = statuses(device, tmp_path, kernels, files)
    assert "scan.cubin is for sm_80" in str(told["own:old"])
    assert "write int32(row_size)" in str(told["own:wide"])
    print(told["own:odd"])
    assert str(told["own:odd"]).startswith("compile_error: ")


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
def test_a_shared_library_launches_on_the_timed_stream(device: CudaDevice, tmp_path: Path) -> None:
    """Host code that launches a kernel of its own by the driver; a code that it returns is a line."""
    (tmp_path / "ptx.h").write_text(f'static const char* ptx = R"ptx({ptx_of(device)})ptx";')
    (tmp_path / "mine.cpp").write_text(LIBRARY)
    subprocess.run(["g++", "-w", "-shared", "-fPIC", "-o", "mine.so", "mine.cpp", "-ldl"], check=True, cwd=tmp_path)
    signature = "(x, y, rows, int32(row_size), stream) -> int32"
    line = f"  - {{{{name: {{0}}, operator: cumsum, library: mine.so, symbol: {{0}}, signature: '{signature}'}}}}\n"
    assert statuses(device, tmp_path, line.format("scan"), {}) == {"own:scan": None}
    wrong = line.format("scan").replace("rows, int32(row_size)", "2147483647 * 64 + 1, int32(0)")
    assert "scan of mine.so returned 1" in str(statuses(device, tmp_path, wrong, {})["own:scan"])


def test_a_write_64_elements_past_the_end_is_told(device: CudaDevice, tmp_path: Path) -> None:
    """The answer itself is right; the guard behind the operand is not what it was."""
    beyond = SCAN.replace(
        "  if (row >= rows) return;", "  if (row == 0) y[rows * row_size + 63] = 1;\n  if (row >= rows) return;"
    )
    line = f"  - {{name: beyond, operator: cumsum, source: scan.cu, {LAUNCH}}}\n"
    told = statuses(device, tmp_path, line, {"scan.cu": beyond})["own:beyond"]
    assert told is not None
    assert told.startswith("wrong: ")
    assert "4 bytes behind the end of y were changed, the nearest 252 bytes away" in told


@pytest.mark.parametrize("example", ["scan/scan", "softmax/softmax", "triton/add", "numba/add", "cubin/add"])
def test_an_example_is_right(device: CudaDevice, example: str) -> None:
    """Every kernel of the examples takes its cases, and its answers are right."""
    needs = {"triton": "triton", "numba": "numba.cuda"}
    pytest.importorskip(needs.get(example.split("/")[0], "numpy"))
    if example.startswith("numba") and not hasattr(np, "row_stack"):
        pytest.skip("numba-cuda up to 0.30.4 needs NumPy below 2.5 (examples/numba/README.md)")
    suite = load_suite(EXAMPLES / f"{example}.yaml")
    records = [record for record in on_device(device, suite) if record.contender not in (AUTO, "numpy")]
    assert len(records) == len(suite.cases)
    for record in records:
        assert record.status in ("ok", "noisy"), (record.case.id, record.contender, record.message)


@pytest.mark.parametrize("tool", ["ncu", "compute-sanitizer"])
@pytest.mark.parametrize("contender", [AUTO, "own:row_scan"])
def test_a_case_runs_under_a_profiler(tool: str, contender: str) -> None:
    """`gpubench profile` runs the one kernel, the answer is right, and the tool has seen it."""
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    line = [sys.executable, "-m", "gpubench", "profile", "cumsum/64x1000/dim=1/float32", "--tool", tool]
    more = ["--suite", str(EXAMPLES / "scan/scan.yaml"), "--contender", contender, "--allow-kernels"]
    options = ["--", "--set", "basic"] if tool == "ncu" else []
    done = subprocess.run([*line, *more, *options], capture_output=True, text=True, check=False)
    told = done.stdout + done.stderr
    assert done.returncode == 0, told
    assert f"{contender}: right" in told
    seen = {"ncu": "row_scan" if contender != AUTO else "block_rows", "compute-sanitizer": "ERROR SUMMARY: 0 errors"}
    assert seen[tool] in told
    print(told[-600:])
