"""A copy of the checkout with a toy function, variant, operator and peer added, as CONTRIBUTING.md says it is done."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
TOYS = ROOT / "tests/data/toys"
COPIED = ("gpubench", "cuda_src", "suites", "tests", "pyproject.toml")


@dataclass
class Checkout:
    """A checkout under `root`. `files`: how many lines each file got that was added to or made."""

    root: Path
    files: dict[str, int] = field(default_factory=dict)

    def place(self, toy: str, path: str) -> None:
        """Put a toy's file where it belongs."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TOYS / toy, target)
        self.files[path] = len(target.read_text(encoding="utf-8").splitlines())

    def insert(self, path: str, before: str, text: str) -> None:
        """Put text into a file before the last place where `before` stands."""
        target = self.root / path
        start, found, end = target.read_text(encoding="utf-8").rpartition(before)
        assert found, (path, before)
        target.write_text(start + text + before + end, encoding="utf-8")
        self.files[path] = self.files.get(path, 0) + len(text.splitlines())

    def run(self, *arguments: str, module: str = "gpubench", codes: tuple[int, ...] = (0,)) -> str:
        """Run a module of this checkout (none: a text of Python) and return what it printed."""
        environment = {**os.environ, "PYTHONPATH": str(self.root), "PYTHONDONTWRITEBYTECODE": "1"}
        environment.pop("GPUBENCH_CUDA_SRC", None)
        command = [sys.executable, *(("-m", module) if module else ("-c",)), *arguments]
        folder = self.root if module == "pytest" else self.root.parent
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode in codes, (arguments, done.returncode, done.stdout[-3000:], done.stderr[-3000:])
        return done.stdout


def copy(folder: Path) -> Checkout:
    """Return a fresh copy of this checkout."""
    root = folder / "checkout"
    root.mkdir()
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, root / name)
    return Checkout(root)


def add_function(checkout: Checkout) -> None:
    """Add a row of the table, and the functor of that name."""
    text = (TOYS / "function/row.txt").read_text(encoding="utf-8")
    checkout.insert("gpubench/operators/elementwise/functions.py", "}\n", text)
    functor = (TOYS / "function/functor.txt").read_text(encoding="utf-8")
    checkout.insert("cuda_src/include/gpubench/functions.cuh", "}  // namespace gpubench::functions", functor)


def add_variant(checkout: Checkout) -> None:
    """Add a kernel, a host class, and its row."""
    checkout.place("variant/two_lines.cu", "cuda_src/cumsum/two_lines.cu")
    checkout.place("variant/two_lines.py", "gpubench/operators/cumsum/two_lines.py")
    rows = "gpubench/operators/cumsum/variants.py"
    checkout.insert(rows, "\nVARIANTS: ", "from gpubench.operators.cumsum.two_lines import TwoLines\n")
    checkout.insert(rows, ")\n", "    TwoLines(),\n")


def add_operator(checkout: Checkout) -> None:
    """Add a package, a line of the registry and its import, a folder of cuda_src, a suite."""
    for name in ("__init__", "operator", "naive"):
        checkout.place(f"operator/reverse/{name}.py", f"gpubench/operators/reverse/{name}.py")
    checkout.place("operator/naive.cu", "cuda_src/reverse/naive.cu")
    checkout.place("operator/reverse.yaml", "suites/reverse.yaml")
    registry = "gpubench/operators/__init__.py"
    checkout.insert(registry, "\nOPERATORS: ", "from gpubench.operators.reverse.operator import ReverseOperator\n")
    checkout.insert(registry, "}\n\n\n_BROUGHT", '    "reverse": ReverseOperator(),\n')


def add_peer(checkout: Checkout) -> None:
    """Add one file, and one line of the table."""
    checkout.place("peer/toy.py", "gpubench/peers/toy.py")
    checkout.insert("gpubench/libraries.py", "}\n\nCUPY", '    "toy": "gpubench.peers.toy:ToyPeer",\n')
