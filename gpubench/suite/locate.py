"""Where a suite is: a path, or the bare name of one that comes with gpubench."""

from __future__ import annotations

import contextlib
import difflib
import importlib.resources
from pathlib import Path

from gpubench.errors import UsageError
from gpubench.suite.read import printable


def shipped_folder() -> Path | None:
    """Return the folder of the suites that come with gpubench: inside the package, or beside it in a checkout."""
    package = Path(str(importlib.resources.files("gpubench")))
    for folder in (package / "suites", package.parent / "suites"):
        if folder.is_dir():
            return folder
    return None


def shipped_suites() -> dict[str, Path]:
    """Return the suites that come with gpubench, by name."""
    folder = shipped_folder()
    return {} if folder is None else {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def locate(suite: str) -> Path:
    """Return the file of a suite argument. An existing file wins; a bare name (no slash, no suffix) is looked up among
    the shipped suites. UsageError, with the nearest name, when there is neither.
    """
    path, is_folder = Path(suite), False
    with contextlib.suppress(OSError, ValueError):  # a name that the system does not take, such as one too long
        if path.is_file():
            return path
        is_folder = path.is_dir()
    shipped = shipped_suites()
    if suite in shipped:
        return shipped[suite]
    shown = printable(suite, 200)
    if is_folder:
        raise UsageError(f"{shown} is a folder, not a suite file.")
    names = ", ".join(shipped) or "none"
    near = difflib.get_close_matches(path.stem[:100], shipped, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise UsageError(f"There is no suite file {shown}, and no shipped suite of that name (there are: {names}).{hint}")
