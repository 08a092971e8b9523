from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from gpubench.errors import CompileError, UsageError
from gpubench.kernels import sources
from gpubench.kernels.sources import OVERRIDE, SourceTree, default_tree, package_root


def _source(tree: SourceTree, text: str) -> str:
    (tree.root / "demo" / "other.cu").write_text(text, encoding="utf-8")
    return "demo/other.cu"


@pytest.mark.parametrize(
    "name",
    ["/etc/hostname", "../outside.cu", "demo/../../outside.cu", "demo\\scale.cu", "demo/none.cu", "demo", "a\0b", ""],
)
def test_a_name_that_leads_outside_the_tree_is_refused(tree: SourceTree, name: str) -> None:
    """Only files of the tree can be named, and the error says which name was wrong."""
    (tree.root.parent / "outside.cu").write_text("int secret;", encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        tree.program(name)
    assert "secret" not in str(caught.value)


def test_a_link_that_leads_outside_the_tree_is_refused(tree: SourceTree) -> None:
    """A symbolic link is followed before the place is judged, for sources, folders and headers."""
    outside = tree.root.parent / "outside"
    outside.mkdir()
    (outside / "secret.cuh").write_text("int secret;", encoding="utf-8")
    (tree.root / "demo" / "link.cu").symlink_to(outside / "secret.cuh")
    (tree.root / "linked").symlink_to(outside)
    for name in ("demo/link.cu", "linked/secret.cuh"):
        with pytest.raises(UsageError, match="leads outside"):
            tree.program(name)
    with pytest.raises(CompileError, match="leads outside"):
        tree.program(_source(tree, '#include "linked/secret.cuh"\n'))


@pytest.mark.parametrize(
    "line",
    [
        "#include <stdio.h>",
        '#include "/etc/hostname"',
        '#include "../../outside.cuh"',
        "#include HEADER",
        "  #  include <x>",
        '%:include "/etc/hostname"',
        '#inc\\\nlude "/etc/hostname"',
        '#embed "/etc/hostname"',
        "#include_next <x>",
        '#include "gpubench/missing.cuh"',
    ],
)
def test_an_include_from_outside_the_tree_is_refused(tree: SourceTree, line: str) -> None:
    """However it is spelled, an include that is not a file of the tree never reaches the compiler."""
    source = _source(tree, f"int a;\n{line}\n")
    with pytest.raises(CompileError, match=r"demo/other\.cu:2: "):
        tree.program(source)


def test_the_closure_holds_every_header_once(tree: SourceTree) -> None:
    """Headers of headers come along, in the order met, cycles end, and the host's own headers stay out."""
    include = tree.root / "include" / "gpubench"
    (include / "a.cuh").write_text('#include "gpubench/b.cuh"\n#include "gpubench/target/host.hpp"\n', encoding="utf-8")
    (include / "b.cuh").write_text(
        '#include "gpubench/a.cuh"  // again\n#include "demo/tuning.cuh"\n', encoding="utf-8"
    )
    (tree.root / "demo" / "tuning.cuh").write_text("constexpr int items = 4;\n", encoding="utf-8")
    program = tree.program(_source(tree, '#include "gpubench/a.cuh"\n#include "gpubench/b.cuh"\n'))
    assert [name for name, _ in program.headers] == ["gpubench/a.cuh", "gpubench/b.cuh", "demo/tuning.cuh"]
    assert dict(program.headers)["demo/tuning.cuh"] == "constexpr int items = 4;\n"


def test_a_source_that_is_no_text_is_a_clear_error(tree: SourceTree) -> None:
    """Bytes that are not UTF-8, and files of absurd size, are named and refused."""
    (tree.root / "demo" / "bytes.cu").write_bytes(b"\xff\xfe\x00")
    (tree.root / "demo" / "huge.cu").write_bytes(b" " * (sources.MAX_FILE_BYTES + 1))
    with pytest.raises(UsageError, match=r"demo/bytes\.cu"):
        tree.program("demo/bytes.cu")
    with pytest.raises(UsageError, match="larger than"):
        tree.program("demo/huge.cu")


def test_the_sources_are_found_in_a_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inside an installed package cuda_src lies in the package; with none, the message says what is missing."""
    package = tmp_path / "site-packages" / "gpubench"
    package.mkdir(parents=True)
    monkeypatch.setattr("importlib.resources.files", {"gpubench": package}.__getitem__)
    with pytest.raises(UsageError, match="cuda_src"):
        package_root()
    (package / "cuda_src" / "include" / "gpubench").mkdir(parents=True)
    (package / "cuda_src" / "include" / "gpubench" / "platform.cuh").touch()
    assert package_root() == package / "cuda_src"


def test_another_checkout_can_stand_in(tree: SourceTree, monkeypatch: pytest.MonkeyPatch) -> None:
    """The override is used when it is a cuda_src folder, and refused by name when it is not."""
    assert default_tree().root == package_root()
    monkeypatch.setenv(OVERRIDE, str(tree.root))
    assert default_tree().root == tree.root
    monkeypatch.setenv(OVERRIDE, str(tree.root / "demo"))
    with pytest.raises(UsageError, match=OVERRIDE):
        default_tree()


def test_every_source_of_ours_has_its_headers() -> None:
    """All includes of all kernels are files of the tree, and only platform.cuh asks which target it is. (The harness's
    own kernels, for clocks and ceilings, run on GPUs alone and need no platform.)
    """
    tree = default_tree()
    found = sorted(path.relative_to(tree.root).as_posix() for path in tree.root.rglob("*.cu"))
    assert "cumsum/naive.cu" in found
    for name in found:
        program = tree.program(name)
        assert name.startswith("harness/") or "gpubench/platform.cuh" in program.file_names
        for file, text in ((program.name, program.text), *program.headers):
            conditions = re.findall(r"^\s*#\s*(?:if|ifdef|ifndef|elif)\b.*$", text, re.MULTILINE)
            assert len(conditions) == (file == "gpubench/platform.cuh"), (file, conditions)


def test_a_pipe_among_the_sources_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashing and compiling pass over what is no file: a FIFO in a folder of sources blocks nothing."""
    from gpubench.devices.host_compiler import runtime_library
    from gpubench.engine.identity import kernels_sha256, measuring_sha256

    root = Path(shutil.copytree(default_tree().root, tmp_path / "cuda_src"))
    monkeypatch.setenv(OVERRIDE, str(root))
    before = kernels_sha256(), measuring_sha256()
    for place in ("cumsum/x.cu", "harness/x.cu", "include/gpubench/target/host/x.hpp"):
        os.mkfifo(root / place)
    assert (kernels_sha256(), measuring_sha256()) == before
    assert runtime_library().is_file()
