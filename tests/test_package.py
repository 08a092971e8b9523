"""What a user installs: the wheel and the source archive are whole, and work away from the repository."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from gpubench import __version__

ROOT = Path(__file__).parents[1]
CLEAN = {"PATH": "/usr/bin:/bin"}
"""An environment without PYTHONPATH, which would show the repository to what is installed."""


def data_files() -> set[str]:
    """Return the kernels' sources and the suites of the repository, relative to it."""
    found = [path for folder in ("cuda_src", "suites") for path in (ROOT / folder).rglob("*")]
    return {str(path.relative_to(ROOT)) for path in found if path.is_file() and not path.name.startswith(".")}


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the source archive, and the wheel from it, without the network."""
    folder = tmp_path_factory.mktemp("archives")
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT],
        check=True,
        capture_output=True,
        env={**os.environ, "PIP_NO_INDEX": "1"},
    )
    return folder


@pytest.fixture(scope="module")
def command(archives: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into an empty environment that sees the libraries of this one; return its `gpubench`."""
    folder = tmp_path_factory.mktemp("installed") / "an environment"
    venv.create(folder, with_pip=False)
    (wheel,) = archives.glob("*.whl")
    target = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install"]
    subprocess.run([*pip, "--no-deps", "--no-index", "--quiet", str(wheel)], check=True)
    libraries = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (target / "libraries.pth").write_text("\n".join(sorted(libraries)), encoding="utf-8")
    return folder / "bin" / "gpubench"


def run(command: Path, folder: Path, *arguments: str) -> str:
    """Run the installed command in a folder that is not the repository, and return what it prints."""
    done = subprocess.run([command, *arguments], cwd=folder, capture_output=True, text=True, env=CLEAN, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_carries_kernels_and_suites(archives: Path) -> None:
    """Every file of cuda_src and suites travels inside the package, and nothing of the tests or studies does."""
    (wheel,) = archives.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {f"gpubench/{name}" for name in data_files()} <= names
    assert {"gpubench/views/gpubench.mplstyle", "gpubench/views/templates/report.html.j2"} <= names
    assert {Path(name).parts[0] for name in names} == {"gpubench", f"gpubench-{__version__}.dist-info"}
    assert not [name for name in names if name.endswith(".pyc")]


def test_the_source_archive_is_whole(archives: Path) -> None:
    """The source archive holds what it takes to build and test: data, tests, studies, scripts, licence, papers."""
    (archive,) = archives.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    wanted = {"pyproject.toml", "LICENSE", "README.md", "scripts/test", *data_files()}
    assert wanted | {"tests/test_package.py", "studies/measured.py"} <= names


def test_the_installed_command_runs_anywhere(command: Path, tmp_path: Path) -> None:
    """Away from the repository the installed command knows its version, and runs the installed code."""
    assert run(command, tmp_path, "--version") == f"gpubench {__version__}\n"
    code = "import gpubench; print(gpubench.__file__)"
    python = command.with_name("python")
    where = subprocess.run(
        [python, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True, env=CLEAN
    ).stdout
    assert str(command.parents[1]) in where


def test_installed_suites_are_found_by_name(command: Path, tmp_path: Path) -> None:
    """`gpubench list smoke` reads the suite inside the package."""
    assert json.loads(run(command, tmp_path, "list", "smoke", "--json"))


def test_the_installed_schema_is_json_schema(command: Path, tmp_path: Path) -> None:
    """`gpubench schema` prints a JSON Schema."""
    assert "$defs" in json.loads(run(command, tmp_path, "schema"))


def test_what_the_installed_command_would_install_is_known(command: Path, tmp_path: Path) -> None:
    """Away from the repository too, each extra is told as its packages, never as `gpubench[...]`."""
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    code = f"import json; from gpubench.extras import packages; print(json.dumps(list(map(packages, {list(wanted)}))))"
    python = command.with_name("python")
    done = subprocess.run([python, "-c", code], cwd=tmp_path, capture_output=True, text=True, env=CLEAN, check=True)
    assert [names(extra) for extra in json.loads(done.stdout)] == [names(extra) for extra in wanted.values()]


def names(requirements: list[str]) -> set[str]:
    """Return the packages that requirements name, without the versions, which a wheel writes in another order."""
    return {re.split("[<>=]", requirement.lower())[0] for requirement in requirements}


def test_installed_kernels_are_found(command: Path, tmp_path: Path) -> None:
    """The installed package finds the sources of every variant in itself."""
    code = (
        "from gpubench.operators import OPERATORS\n"
        "from gpubench.kernels.sources import default_tree\n"
        "tree = default_tree()\n"
        "names = {s for o in OPERATORS.values() for v in o.variants for d in o.dtypes for s, _ in v.instances(d)}\n"
        "for name in names: assert tree.path(name).is_file(), name\n"
        "print(len(names), tree.root)"
    )
    python = command.with_name("python")
    done = subprocess.run([python, "-c", code], cwd=tmp_path, capture_output=True, text=True, env=CLEAN)
    assert done.returncode == 0, done.stderr
    count, root = done.stdout.strip().split(" ", 1)
    assert int(count) >= 4
    assert str(command.parents[1]) in root
