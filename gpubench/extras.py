"""How to get what is missing: the packages of an extra, and the command that brings them into this environment.

The command names the packages themselves: `gpubench[...]` would ask the package index, where another project has that
name.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

_PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def packages(extra: str) -> tuple[str, ...]:
    """Return the requirements of an extra of this project, such as `cupti-python>=13.0`; none for an unknown one."""
    if _PROJECT.is_file():  # a checkout, installed or not
        import tomllib

        project = tomllib.loads(_PROJECT.read_text(encoding="utf-8")).get("project", {})
        return tuple(project.get("optional-dependencies", {}).get(extra, ()))
    from importlib import metadata

    try:
        wanted = metadata.requires("gpubench") or []
    except metadata.PackageNotFoundError:
        return ()
    found = (_of_extra(line.replace('"', "'"), extra) for line in wanted)
    return tuple(requirement for requirement in found if requirement is not None)


def _of_extra(line: str, extra: str) -> str | None:
    """Return a line of the metadata as pyproject.toml has it, without its extra; None where it is of another one."""
    requirement, _, marker = line.partition(";")
    rest, named, _ = marker.partition(f"extra == '{extra}'")
    if not named:
        return None
    rest = rest.strip().removesuffix("and").strip()
    return f"{requirement.strip()}; {rest}" if rest else requirement.strip()


def install_command(extra: str) -> str:
    """Return the shell command that brings an extra's packages into the environment that runs."""
    return shlex.join([*_pip(), "install", *packages(extra)])


def _pip() -> list[str]:
    """Return this environment's pip, as short as can be typed here."""
    if sys.prefix == sys.base_prefix or os.environ.get("VIRTUAL_ENV") == sys.prefix:
        return ["pip"]
    python = Path(sys.executable)
    if python.is_relative_to(Path.cwd()):
        python = python.relative_to(Path.cwd())
    return [str(python), "-m", "pip"]
