from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gpubench.errors import CompileError, MissingExtraError, UsageError
from gpubench.kernels import Request, compile_instance, compile_many, nvrtc
from gpubench.kernels.elf import code_sha256, complete
from gpubench.kernels.sources import SourceTree

SCALE = "demo/scale.cu"


def _edit(tree: SourceTree, name: str, old: str, new: str) -> None:
    path = tree.root / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.usefixtures("compiler")
def test_an_instance_is_compiled_once(tree: SourceTree) -> None:
    """The second request comes from the disk and is the same in every respect."""
    first = compile_instance(SCALE, "demo::scale<float>", "sm_90", tree)
    again = compile_instance(SCALE, "demo::scale<float>", "sm_90", tree)
    assert first.cubin.startswith(b"\x7fELF")
    assert first.lowered_name == "_ZN4demo5scaleIfEEvPT_"
    assert first.resources.registers > 0
    assert (first.cached, again.cached) == (False, True)
    assert replace(again, cached=False) == first


@pytest.mark.usefixtures("compiler")
def test_a_run_finds_what_was_compiled_together(tree: SourceTree, cache_folder: Path) -> None:
    """What `compile` makes in batches is there for a launch, which asks for one instance; a lost batch is no loss."""
    kernels = [f"demo::scale<{name}>" for name in ("float", "double")]
    together = compile_many([Request("demo/scale.cu", kernel, "sm_90") for kernel in kernels], tree=tree)
    for kernel, made in zip(kernels, together, strict=True):
        found = compile_instance("demo/scale.cu", kernel, "sm_90", tree)
        assert not isinstance(made, CompileError)
        assert found.cached
        assert found.resources == made.resources
        assert found.lowered_name.encode() in found.cubin
    for file in sorted(cache_folder.rglob("*"), key=lambda path: path.stat().st_size)[-1:]:
        file.unlink()  # the batch is the largest
    again = compile_instance("demo/scale.cu", kernels[0], "sm_90", tree)
    assert not again.cached
    assert [again.resources] == [made.resources for made in together[:1] if not isinstance(made, CompileError)]
    assert compile_instance("demo/scale.cu", kernels[0], "sm_90", tree).cached


@pytest.mark.usefixtures("compiler")
def test_line_tables_come_when_a_tool_wants_them(tree: SourceTree, monkeypatch: pytest.MonkeyPatch) -> None:
    """With GPUBENCH_LINES the CUBIN has them; the code's hash is the same, and neither is taken for the other."""
    plain = compile_instance(SCALE, "demo::scale<float>", "sm_90", tree)
    monkeypatch.setenv(nvrtc.LINES, "1")
    with_lines = compile_instance(SCALE, "demo::scale<float>", "sm_90", tree)
    assert not with_lines.cached
    assert [b"debug_line" in kernel.cubin for kernel in (plain, with_lines)] == [False, True]
    assert plain.resources == with_lines.resources


@pytest.mark.usefixtures("compiler")
def test_an_edit_is_compiled_anew(tree: SourceTree) -> None:
    """A header's change reaches the machine code; a comment changes the source but not the code's hash."""
    first = compile_instance(SCALE, "demo::scale<float>", "sm_90", tree)
    _edit(tree, SCALE, "namespace demo", "// a comment\n\nnamespace demo")
    comment = compile_instance(SCALE, "demo::scale<float>", "sm_90", tree)
    _edit(tree, "include/gpubench/factor.cuh", "T(3)", "T(5)")
    changed = compile_instance(SCALE, "demo::scale<float>", "sm_90", tree)
    assert not comment.cached
    assert not changed.cached
    assert comment.resources.cubin_sha256 == first.resources.cubin_sha256
    assert changed.resources.cubin_sha256 != first.resources.cubin_sha256


@pytest.mark.usefixtures("compiler")
def test_the_hash_is_of_the_kernel_alone(tree: SourceTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled beside other kernels, or from another folder, a kernel has the same hash; its neighbours have others."""
    alone = compile_instance(SCALE, "demo::scale<float>", "sm_90", tree)
    monkeypatch.chdir(tmp_path)
    requests = [Request(SCALE, f"demo::scale<{name}>", "sm_90") for name in ("double", "float", "int")]
    together = [
        outcome.resources.cubin_sha256
        for outcome in compile_many(requests, 1, tree)
        if not isinstance(outcome, CompileError)
    ]
    assert together[1] == alone.resources.cubin_sha256
    assert len(set(together)) == 3


@pytest.mark.usefixtures("compiler")
def test_a_renamed_kernel_has_the_same_code(tree: SourceTree) -> None:
    """Without its name a kernel's hash stays through a renaming, and still tells kernels apart."""
    names = ["demo::scale<float>", "demo::scale<double>"]
    first = [compile_instance(SCALE, name, "sm_90", tree) for name in names]
    _edit(tree, SCALE, "scale", "grow")
    renamed = compile_instance(SCALE, "demo::grow<float>", "sm_90", tree)
    before, other = (code_sha256(kernel.cubin, kernel.lowered_name, named=False) for kernel in first)
    assert code_sha256(renamed.cubin, renamed.lowered_name, named=False) == before
    assert renamed.resources.cubin_sha256 != first[0].resources.cubin_sha256
    assert before != other


@pytest.mark.usefixtures("compiler")
def test_the_cubin_is_a_whole_file(tree: SourceTree) -> None:
    """The byte that CuPy's binding cuts off is there again, and a file that is whole or foreign is left alone."""
    cubin = compile_instance(SCALE, "demo::scale<float>", "sm_90", tree).cubin
    assert complete(cubin) == cubin
    assert complete(cubin[:-1]) == cubin
    assert complete(b"not ELF") == b"not ELF"
    with pytest.raises(ValueError, match="no code of other"):
        code_sha256(cubin, "other")
    for bad in (b"", b"\x7fELF" + b"\xff" * 200, cubin[:100]):
        with pytest.raises(ValueError, match=r"ELF|no code"):
            code_sha256(bad, "other")


@pytest.mark.usefixtures("compiler")
def test_a_compile_error_shows_its_own_line(tree: SourceTree) -> None:
    """The message names file and line, and quotes the line, of the kernel's source or of its header."""
    _edit(tree, SCALE, "factor<T>();", "factr<T>();")
    with pytest.raises(CompileError, match=r"demo/scale\.cu\(6\): error: identifier \"factr\" is undefined") as caught:
        compile_instance(SCALE, "demo::scale<float>", "sm_90", tree)
    assert "x[threadIdx.x] * factr<T>();" in str(caught.value)
    _edit(tree, SCALE, "factr<T>();", "factor<T>();")
    _edit(tree, "include/gpubench/factor.cuh", "T(3)", "T(three)")
    with pytest.raises(CompileError, match=r"gpubench/factor\.cuh\(2\): error: identifier \"three\""):
        compile_instance(SCALE, "demo::scale<float>", "sm_90", tree)


@pytest.mark.usefixtures("compiler")
def test_one_bad_instance_does_not_spoil_the_others(tree: SourceTree) -> None:
    """In a batch, in parallel processes, each request has its own outcome, in order."""
    kernels = ["demo::scale<int>", "demo::scale<nothing>", "demo::scale<float>", "demo::scale<short>"]
    requests = [Request(SCALE, kernel, arch) for arch in ("sm_75", "sm_120") for kernel in kernels]
    (tree.root / "demo" / "bad.cu").write_text("#include <stdio.h>\n", encoding="utf-8")
    requests.append(Request("demo/bad.cu", "bad", "sm_90"))
    outcomes = compile_many(requests, 2, tree)
    assert [isinstance(outcome, CompileError) for outcome in outcomes] == [False, True, False, False] * 2 + [True]
    assert 'identifier "nothing" is undefined' in str(outcomes[1])
    assert re.search(r"demo/bad\.cu:1", str(outcomes[-1]))
    for request, outcome in zip(requests, outcomes, strict=True):
        if not isinstance(outcome, CompileError):
            assert (outcome.kernel, outcome.arch) == (request.kernel, request.arch)
            assert outcome.cubin == b""  # a matrix of kernels must not fill the memory of the process that asked


@pytest.mark.usefixtures("compiler")
def test_what_is_no_kernel_or_architecture_is_refused(tree: SourceTree) -> None:
    """A name expression is a name, not code; an architecture is one that this NVRTC knows."""
    for kernel in ("", "demo::scale<float>; int x", 'a"b', "k<int>(void)", "k\n#include <x>"):
        with pytest.raises(UsageError, match="not the name of a kernel"):
            compile_instance(SCALE, kernel, "sm_90", tree)
    for arch in ("sm_50", "sm_90; -I/", "compute_90", ""):
        with pytest.raises(UsageError, match="sm_90"):
            compile_instance(SCALE, "demo::scale<float>", arch, tree)
        with pytest.raises(UsageError, match="sm_90"):
            compile_many([Request(SCALE, "demo::scale<float>", arch)], 1, tree)


def test_without_cupy_the_extra_is_named(tree: SourceTree, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine without the extra, the error says what to install."""
    monkeypatch.setitem(sys.modules, "cupy_backends.cuda.libs", None)
    nvrtc.binding.cache_clear()
    try:
        with pytest.raises(MissingExtraError, match="cupy-cuda13x"):
            compile_instance(SCALE, "demo::scale<float>", "sm_90", tree)
    finally:
        nvrtc.binding.cache_clear()
