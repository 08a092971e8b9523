"""Plain CUDA on the host device: right answers unchanged, faults named by the user's lines, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpubench.errors import UnsupportedError
from gpubench.kernels.plain_cuda import for_host
from tests.own.bed import on_host, written

KERNEL = """  - name: block_scan
    operator: cumsum
    source: scan.cu
    entry: "block_scan<{T}>"
    arguments: [x, y, int32(row_size)]
    grid: rows
    block: 64
    when: inner == 1
"""
SCAN = """#include <cuda_fp16.h>
#include <cstdint>
#include "warp.cuh"
constexpr int WARPS = 2;
__device__ int launches;
template <class T>
__global__ void __launch_bounds__(64) block_scan(const T* __restrict__ x, T* __restrict__ y, int row_size) {
  __shared__ float totals[WARPS], unused[2][33];
  const int lane = threadIdx.x & 31, warp = threadIdx.x / warpSize;
  const int64_t row = blockIdx.x * (int64_t)row_size;
  float carry = 0.0f;
  for (int start = 0; start < row_size; start += blockDim.x) {
    const int i = start + threadIdx.x;
    float value = warp_scan(i < row_size ? float(__ldg(x + row + i)) : 0.0f);
    if (lane == 31) totals[warp] = value;
    __syncthreads();  // line 16
    float before = carry;
    for (int w = 0; w < WARPS; ++w) {
      if (w < warp) before += totals[w];
      carry += totals[w];
    }
    if (i < row_size) y[row + i] = T(value + before);
    __syncthreads();  // line 23
  }
  if (threadIdx.x == 0) atomicAdd(&launches, 1);
}
"""
WARP = """#pragma once
__device__ inline float warp_scan(float value) {
  for (int step = 1; step < 32; step *= 2) {
    float other = __shfl_up_sync(0xffffffff, value, step);
    if ((threadIdx.x & 31) >= step) value += other;
  }
  return value;
}
"""
FILES = {"scan.cu": SCAN, "warp.cuh": WARP}
CASES = "  - {operator: cumsum, shape: [[3, 100]], dtype: [float32, float16], contenders: ['own:*']}\n"


@pytest.mark.parametrize("schedule", ["forward", "random:1"])
def test_plain_cuda_runs_unchanged(tmp_path: Path, schedule: str) -> None:
    """Shuffles, shared arrays, half, an atomic and a header of one's own: right under several orders of threads."""
    records = on_host(written(tmp_path, KERNEL, FILES, CASES), schedule)
    assert [record.status for record in records] == ["ok", "ok"]
    kernel = records[0].kernel or {}
    assert kernel["variant"] == "block_scan"
    assert kernel["launches"][0]["source"] == "scan.cu"


@pytest.mark.parametrize(
    ("before", "after", "told", "line"),
    [
        ("__syncthreads();  // line 16", "", "uninitialised read of shared memory|race on shared", "scan.cu:20"),
        ("    __syncthreads();  // line 23\n", "", "race on shared memory", "scan.cu:1"),
        ("if (i < row_size) y[row + i]", "y[row + i + 1]", "race on global memory|out of bounds", "scan.cu:22"),
        ("totals[warp] = value", "totals[warp + 2] = value", "out of bounds", "scan.cu:15"),
        ("if (lane == 31) totals[warp] = value;", "if (lane == 31) return;", "divergent barrier", "scan.cu:16"),
    ],
)
def test_a_fault_is_named_by_the_users_line(tmp_path: Path, before: str, after: str, told: str, line: str) -> None:
    """A missing barrier, a stray write or an early return ends with what it is, and where in the user's file."""
    files = {name: text.replace(before, after) for name, text in FILES.items()}
    assert files != FILES
    found = [on_host(written(tmp_path, KERNEL, files), schedule)[0] for schedule in ("forward", "reverse")]
    bad = [record for record in found if record.status != "ok"]
    assert bad
    message = bad[0].message or ""
    assert bad[0].status == "device_error"
    assert any(part in message for part in told.split("|")), message
    assert line in message
    assert "/" not in message.partition(" at ")[2].partition(":")[0]


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ('  asm volatile("membar.gl;");', "asm"),
        ("  auto group = cooperative_groups::this_thread_block();", "cooperative_groups"),
        ("  nvcuda::wmma::fragment<int> f;", "nvcuda"),
        ("  cub::WarpScan<float> s;", "cub"),
        ("  __shfl(1.0f, 0);", "__shfl"),
        ("  unsigned m = __activemask();", "__activemask"),
        ("  cuda::atomic<int> a;", "cuda"),
    ],
)
def test_what_cannot_be_simulated_is_unsupported_with_word_and_line(tmp_path: Path, line: str, word: str) -> None:
    """It is no failure of the kernel: the status says so, and the message where."""
    text = SCAN.replace("  const int lane", f"{line}\n  const int lane")
    [record] = on_host(written(tmp_path, KERNEL, {**FILES, "scan.cu": text}))
    assert record.status == "unsupported"
    assert (record.message or "").startswith(f"scan.cu:9: {word} (")


def test_comments_and_literals_are_no_code() -> None:
    """A word in a comment, a text or a raw text is not met; lines stay where they were."""
    text = '// asm\n/* cub::x\n*/ const char* a = "asm <<<"; auto b = R"(asm\n__shared__ int c[3];)";\n'
    assert for_host("k.cu", text) == text
    with pytest.raises(UnsupportedError, match=r"k\.cu:5: asm"):
        for_host("k.cu", text + " asm;")


@pytest.mark.parametrize(
    ("declaration", "holds"),
    [
        ("__shared__ float a[4][5];", "using gpubench_a_t = float[4][5];"),
        ("__shared__ Pair<int, float> a[2], b;", "using gpubench_b_t = Pair<int, float>;"),
        ("extern __shared__ __align__(16) unsigned char m[];", "unsigned char* const m ="),
        ("static __shared__ typename X<T>::type a;", "using gpubench_a_t = typename X<T>::type;"),
        ("alignas(16) __shared__ float a\n[\n4];", "= float[ 4];"),
    ],
)
def test_declarations_of_shared_memory_are_rewritten_on_their_lines(declaration: str, holds: str) -> None:
    """Each form becomes the simulator's, with as many lines as before."""
    found = for_host("k.cu", f"void f() {{\n{declaration}\n}}\n")
    assert holds in found
    assert found.count("\n") == 3 + declaration.count("\n")
    outside = for_host("k.cu", "namespace a {\nextern __shared__ int m[];\n}\n")
    assert "DynamicShared<int> m;" in outside


def test_kernels_on_the_host_ask_for_the_larger_permission(tmp_path: Path) -> None:
    """What may run on a GPU alone is native code here: it is refused even where a worker was told to run it."""
    [record] = on_host(written(tmp_path, KERNEL, FILES), permission="kernels")
    assert record.status == "unsupported"
    assert "--allow-code" in (record.message or "")
