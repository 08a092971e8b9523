"""The rules that hold the code together: who may import, print, exit, and use what."""

from __future__ import annotations

import ast
import graphlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "gpubench"
STUDIES = ROOT / "studies"
SOURCES = ROOT / "cuda_src"
LONGEST_FILE = 350

IMPORT_EVERYTHING = """
import importlib, importlib.abc, pkgutil, sys

LIBRARIES = {"torch", "triton", "jax", "jaxlib", "cuda", "cupti", "cupyx"}

class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in LIBRARIES:
            raise AssertionError(f"{name} was asked for")

sys.meta_path.insert(0, Refuse())
import gpubench, studies
names = [
    module.name
    for package in (gpubench, studies)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
]
for name in names:
    if not name.startswith("gpubench.peers.") and name != "gpubench.__main__":
        importlib.import_module(name)
print(len(names), bool(LIBRARIES & set(sys.modules)))
"""


def modules() -> Iterator[Path]:
    """Yield every Python file of the package, and of what only scripts use."""
    yield from sorted(PACKAGE.rglob("*.py"))
    yield from sorted(STUDIES.rglob("*.py"))


def test_imports_go_one_way() -> None:
    """The import contracts of pyproject.toml hold."""
    code = "import sys\nfrom importlinter.cli import lint_imports\nsys.exit(lint_imports(no_cache=True))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_module_imports_itself_in_a_circle() -> None:
    """Every module can be read after those that it imports, those imported late or for types alone among them."""
    graph = grimp.build_graph("gpubench", "studies", cache_dir=None)
    imports = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    assert sum(map(len, imports.values())) > 500
    assert list(graphlib.TopologicalSorter(imports).static_order())


def test_no_other_library_is_imported_but_by_its_peer() -> None:
    """Every module but the peers can be imported where any import of torch, JAX and the like fails, and none tries."""
    done = subprocess.run([sys.executable, "-c", IMPORT_EVERYTHING], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    count, any_library = done.stdout.split()
    assert int(count) > 30
    assert any_library == "False"


def _calls(tree: ast.Module) -> Iterator[str]:
    """Yield what is called or raised, except by a module that is run as a process of its own, under `__main__`."""
    tree.body = [node for node in tree.body if not (isinstance(node, ast.If) and "__main__" in ast.unparse(node.test))]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func)
        elif isinstance(node, ast.Raise) and node.exc is not None:
            yield ast.unparse(node.exc).split("(")[0]


@pytest.mark.parametrize("path", [p for p in modules() if p.parts[-2] != "cli" and p.name != "__main__.py"], ids=str)
def test_only_the_command_line_prints_or_exits(path: Path) -> None:
    """No module outside gpubench/cli prints or ends the process."""
    forbidden = {"print", "exit", "quit", "sys.exit", "SystemExit", "click.echo", "sys.stdout.write"}
    assert forbidden.isdisjoint(_calls(ast.parse(path.read_text(encoding="utf-8"))))


def test_files_stay_short() -> None:
    """No file of the package or of the kernels is longer than anybody wants to read."""
    files = [*modules(), *SOURCES.rglob("*.cu"), *SOURCES.rglob("*.cuh"), *SOURCES.rglob("*.hpp")]
    lengths = {str(path.relative_to(ROOT)): len(path.read_bytes().splitlines()) for path in files}
    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}


def test_kernels_are_portable() -> None:
    """A kernel includes only the project's headers and knows no target: neither conditions nor inline assembly."""
    kernels = [path for path in SOURCES.rglob("*.cu") if path.parent.name != "harness"]
    assert len(kernels) >= 4
    for path in kernels:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"^\s*#\s*(if|ifdef|ifndef|elif)\b", text, re.MULTILINE), path
        assert not re.search(r"\basm\b\s*(volatile\s*)?\(", text), path
        for name in re.findall(r"^\s*#\s*include\s*(\S+)", text, re.MULTILINE):
            own = re.escape(path.relative_to(SOURCES).parts[0])  # a header of the operator's own
            assert re.fullmatch(rf'"(gpubench|{own})/[\w/]+\.cuh"', name), f"{path}: {name}"
            file = name.strip('"')
            assert (SOURCES / "include" / file).is_file() or (SOURCES / file).is_file(), f"{path}: {name}"


RAW = re.compile(
    r"\b(block_barrier\w*|phase_\w+|warp_copy\w*|copy_in_background|close_copies|await_copies|bulk_copy"
    r"|load_word|load_packed|load_vector)\s*(?:<[^;()]*>)?\s*\("
)
"""Barriers of a block or of a ring's stages, copies in the background, loads of vectors."""


def test_movement_stands_in_the_layers() -> None:
    """Our kernels are made of movements: what waits, copies in bulk and loads vectors stands under include/.

    Seeds are left as their authors' designs are; so is the one naive form of each operator, which needs none of it.
    """
    layers = [SOURCES / "include" / "gpubench" / name for name in ("movement", "block", "grid")]
    assert all(any(RAW.search(file.read_text("utf-8")) for file in folder.glob("*.cuh")) for folder in layers)
    found = []
    for path in sorted(SOURCES.glob("*/*.cu*")):
        if path.parent.name not in ("harness", "include"):
            text = re.sub(r"//.*", "", path.read_text("utf-8"))
            found += [f"{path.relative_to(SOURCES)}: {match.group(1)}" for match in RAW.finditer(text)]
    assert found == []


def test_the_layers_know_no_operator() -> None:
    """Movement, block and grid take the operator as an argument: none of them adds by name.

    `narrow` is the exception: a dot product with ones is a sum.
    """
    for folder in ("movement", "block", "grid"):
        for path in sorted((SOURCES / "include" / "gpubench" / folder).glob("*.cuh")):
            text = re.sub(r"//.*", "", path.read_text("utf-8"))
            assert path.name == "narrow.cuh" or not re.search(r"(?<![\w.])(add|Add|subtract|multiply)\b", text), (
                path.name
            )
            assert not re.search(r"namespace gpubench::|cumsum|reduce_sum|index_add|elementwise", text), path.name


def test_every_test_says_its_promise() -> None:
    """Each test function has a docstring: the promise that it keeps."""
    silent = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and not ast.get_docstring(node):
                silent.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}")
    assert silent == []
