"""What can be wrong with a kernel of one's own: each mistake is one line that names the fix, and none a crash."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpubench.errors import CompileError, SuiteError
from gpubench.kernels import nvrtc
from gpubench.kernels.arguments import require_fit
from gpubench.kernels.foreign import compile_foreign, parameters_of
from gpubench.model import Plan, Refused
from gpubench.operators import operator
from gpubench.own.plan import plan
from gpubench.suite.expand import load_suite
from gpubench.suite.explain import ASSUMED
from tests.own.bed import ONE_CASE, written

KERNEL = """  - name: scan
    operator: cumsum
    source: scan.cu
    entry: "scan<{T}, {ITEMS}>"
    arguments: [x, y, rows, int32(row_size)]
    grid: ceil_div(rows, 4)
    block: [32, 4]
    constants: {ITEMS: 4}
"""
SOURCE = """#include <cstdint>
template <class T, int ITEMS>
__global__ void scan(const T* x, T* y, int64_t rows, int row_size) { if (rows > row_size) y[0] = x[ITEMS]; }
extern "C" __global__ void plain(const float* x, float* y, long long n) { if (n > 0) y[0] = x[0]; }
"""

SUITE_MISTAKES = [
    ("int32(row_size)", "rowsize", "unknown name rowsize; did you mean row_size?"),
    ("[x, y,", "[x, z,", "unknown name z"),
    ("ceil_div(rows, 4)", "div_up(rows, 4)", "there is no function div_up"),
    ("ceil_div(rows, 4)", "rows / 4", "write // to divide"),
    ("{ITEMS}>", "{ITEM}>", "did you mean ITEMS?"),
    ("    grid: ceil_div(rows, 4)\n", "", "the key grid is missing"),
    ("    grid:", "    gird:", "Did you mean grid?"),
    ("operator: cumsum", "operator: cumsun", "Did you mean cumsum?"),
    ("source: scan.cu", "source: ../scan.cu", "in the suite's folder, without .."),
    ("source: scan.cu", "source: scan.cubin", "the name of a .cu"),
    ("source: scan.cu", "binary: scan.cubin\n    source: scan.cu", "found source and binary"),
    ("    block: [32, 4]\n", "    block: [1, 2, 3, 4]\n", "1 to 3 expressions"),
    ("constants: {ITEMS: 4}", "constants: {ITEMS: 4, rows: 3}", "the name rows is taken"),
    (
        "constants: {ITEMS: 4}",
        "constants: {ITEMS: 4}\n    options: [-I/etc]",
        "is not among those that a suite may set",
    ),
    ("constants: {ITEMS: 4}", "constants: {ITEMS: 4}\n    when: dtype = float32", "is no expression"),
    ("name: scan", "name: Scan!", "a name of small letters"),
    ("constants: {ITEMS: 4}", "tune: {ITEMS: []}", "at least 1"),
    ("constants: {ITEMS: 4}", "tune: {ITEMS: [2, 4], rows: [1]}", "the name rows is taken"),
    ("constants: {ITEMS: 4}", "tune: {ITEMS: [2, 4]}\n    constraints: [ITEM < 3]", "did you mean ITEMS?"),
    ("constants: {ITEMS: 4}", "constants: {ITEMS: 4}\n    constraints: [ITEMS < 3]", "stands without tune"),
    ("constants: {ITEMS: 4}", "tune: {ITEMS: [2]}\n    regimes: {all: rows > 3}", "and not all"),
    (
        "constants: {ITEMS: 4}",
        f"tune: {{ITEMS: {list(range(200))}, MORE: {list(range(200))}}}",
        "make 40,000 configurations; at most 10,000",
    ),
]


@pytest.mark.parametrize(("before", "after", "told"), SUITE_MISTAKES, ids=lambda text: text[:20])
def test_a_mistake_in_the_suite_is_told_at_its_place(tmp_path: Path, before: str, after: str, told: str) -> None:
    """Reading the suite finds it, with file, line and column, before anything is compiled."""
    with pytest.raises(SuiteError) as caught:
        written(tmp_path, KERNEL.replace(before, after), {})
    lines = [str(problem) for problem in caught.value.problems]
    assert any(told in line for line in lines), lines
    assert all(line.startswith(f"{tmp_path / 'mine.yaml'}:") and "\n" not in line for line in lines)


def compiled(folder: Path, kernel: str, source: str = SOURCE, dtype: str = "float32") -> Plan:
    """Plan the suite's kernel for its case, compile it for an H100 or H200 and hold its arguments against it."""
    suite = written(folder, kernel, {"scan.cu": source}, ONE_CASE.replace("]]", f"]], dtype: {dtype}"))
    [case], [origin] = suite.cases, suite.brings
    cumsum = operator("cumsum")
    made = plan(origin.brought.kernels[0], cumsum, cumsum.problem(case), ASSUMED, str(folder))
    assert not isinstance(made, Refused)
    for launch in made.launches:
        assert launch.foreign is not None
        require_fit(launch, parameters_of(compile_foreign(launch.foreign, launch.source, launch.kernel, "sm_90")))
    return made


def test_a_right_one_compiles_with_its_sizes(tmp_path: Path) -> None:
    """The arguments' bytes are those of the kernel's own parameters, whatever the dtype's name in CUDA."""
    nvrtc.binding()
    made = compiled(tmp_path, KERNEL)
    [launch] = made.launches
    assert (launch.kernel, launch.grid, launch.block) == ("scan<float, 4>", (1, 1, 1), (32, 4, 1))
    assert [len(getattr(argument, "data", bytes(8))) for argument in launch.arguments] == [8, 8, 8, 4]
    half = SOURCE.replace("#include <cstdint>", "#include <cstdint>\n#include <cuda_fp16.h>")
    assert compiled(tmp_path, KERNEL, half, "float16").launches[0].kernel == "scan<__half, 4>"


NAMED = '"scan<{T}, {ITEMS}>"'
FOUR, THIRD = "argument 4 of scan<float, 4>", "argument 3 of scan<float, 4>"
KERNEL_MISTAKES = [
    ("[x, y, rows, int32(row_size)]", "[x, y, rows]", "scan<float, 4> takes 4 parameters, and `arguments` gives 3"),
    ("int32(row_size)]", "row_size]", f"{FOUR} takes 4 bytes, and row_size gives 8: write int32(row_size)"),
    ("rows, int32", "int32(rows), int32", f"{THIRD} takes 8 bytes, and int32(rows) gives 4: write int64(rows)"),
    ("[x, y, rows", "[y, x, rows", "y, is written, but that parameter is const: is the order right?"),
    ("[x, y, rows,", "[x, rows, y,", "rows, is a number, but that parameter is a pointer"),
    ("int32(row_size)]", "float32(row_size)]", "is a float, and that parameter is not: write int32(...)"),
    (NAMED, "scam", "entry: scan.cu has no kernel scam; did you mean scan?"),
    (NAMED, "scan", "a template takes its arguments in angle brackets"),
    (NAMED, '"scan<{T}>"', "a template takes its arguments in angle brackets"),
    (NAMED, '"scan<double, 4>"', "argument 1 of scan<double, 4>, x, has elements of float32"),
    (NAMED, '"scan<{T}, 4>; int a"', "is no kernel's name"),
    ("ceil_div(rows, 4)", "rows - 3", "grid: rows - 3 is 0; a GPU takes 1 to"),
    ("[32, 4]", "[2048, 1]", "block: 2048 is 2048; a GPU takes 1 to 1024"),
]


@pytest.mark.parametrize(("before", "after", "told"), KERNEL_MISTAKES, ids=lambda text: text[:20])
def test_a_mistake_in_a_launch_is_a_line_before_the_launch(tmp_path: Path, before: str, after: str, told: str) -> None:
    """Count, size, order, type, template arguments and extents are held against the kernel itself."""
    with pytest.raises(CompileError) as caught:
        compiled(tmp_path, KERNEL.replace(before, after))
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_include_that_leads_out_is_refused_and_its_text_never_shown(tmp_path: Path) -> None:
    """Absolute names, `..`, macros and tricks of the preprocessor get no file of the machine into a message."""
    (tmp_path / "secret.h").write_text("SECRET WORDS\n")
    folder = tmp_path / "suite"
    folder.mkdir()
    for line in (
        f'#include "{tmp_path}/secret.h"',
        '#include "../secret.h"',
        "#define NAME <../secret.h>\n#include NAME",
        '#inc\\\nlude "../secret.h"',
        '%:include "../secret.h"',
        '/* */ # /* */ include "../secret.h"',
        'const char* a = R"()\\\n" /* )";\n#include "../secret.h"\n/* */',
        '#include_next "../secret.h"',
        '#embed "../secret.h"',
    ):
        with pytest.raises(CompileError) as caught:
            compiled(folder, KERNEL, f"{line}\n{SOURCE}")
        assert "SECRET" not in str(caught.value)
        assert "scan.cu:" in str(caught.value)


def test_the_compilers_own_errors_keep_the_users_lines(tmp_path: Path) -> None:
    """A slip in the source is told as the compiler does, by the name that its author gave the file."""
    with pytest.raises(CompileError, match=r"scan\.cu\(3\)"):
        compiled(tmp_path, KERNEL, SOURCE.replace("x[ITEMS]", "z[ITEMS]"))


def test_a_steps_launches_and_memsets_come_in_order(tmp_path: Path) -> None:
    """Several steps, a workspace and offsets in it are what a plan of ours is."""
    steps = """  - name: scan
    operator: cumsum
    source: scan.cu
    workspace_bytes: 4 * rows + 256
    steps:
      - {memset: workspace, bytes: 4 * rows}
      - {entry: plain, arguments: [x, workspace + 256, n], grid: sms, block: warp, shared_bytes: 2 * itemsize}
      - {entry: plain, arguments: [workspace, y, n], grid: 1, block: [pow2_at_least(rows)]}
"""
    made = compiled(tmp_path, steps)
    assert made.workspace_bytes == 4 * 3 + 256
    assert [type(step).__name__ for step in made.steps] == ["Memset", "Launch", "Launch"]
    assert made.launches[0].grid == (ASSUMED.sm_count, 1, 1)
    assert (made.launches[0].shared_bytes, made.launches[1].block) == (8, (4, 1, 1))


def test_a_kernel_refuses_what_it_does_not_take(tmp_path: Path) -> None:
    """`when`, strided operands and operands that a case lacks are no failures."""
    suite = written(tmp_path, KERNEL + "    when: row_size <= 64\n", {"scan.cu": SOURCE})
    [case], [origin] = suite.cases, suite.brings
    cumsum = operator("cumsum")
    refused = plan(origin.brought.kernels[0], cumsum, cumsum.problem(case), ASSUMED, str(tmp_path))
    assert refused == Refused("scan takes cases only when row_size <= 64")
    strided = ONE_CASE.replace("100]]", "100]], layout: transposed")
    [case] = load_suite(written(tmp_path, KERNEL, {}, strided).path).cases
    refused = plan(origin.brought.kernels[0], cumsum, cumsum.problem(case), ASSUMED, str(tmp_path))
    assert isinstance(refused, Refused)
    assert "contiguous" in refused.reason
