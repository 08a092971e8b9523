"""What the repository of a file has checked out, asked of git; nothing where git or a repository is missing.

A suite may have come with a repository that somebody else prepared, and git runs what a repository's settings name:
file system monitors, filters, transports. All of them are switched off, and only commands that run no hook are used.
"""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from gpubench.kernels.sources import default_tree
from gpubench.revision import Revision, Source

TIMEOUT_S = 10.0
"""git answers in milliseconds; a file system that hangs must not hold up a run."""

MOST_CHANGED = 2000
"""Files that git holds possible to have changed; where there are more, the checkout counts as changed."""

_SAFE = ("-c", "core.fsmonitor=false")
_ENVIRONMENT = {"GIT_OPTIONAL_LOCKS": "0", "GIT_ALLOW_PROTOCOL": "none", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


def source(suites: Sequence[Path], label: Mapping[str, str]) -> Source:
    """Return where suites and kernels come from. Suites of several repositories have no revision together."""
    found = {revision(suite) for suite in suites}
    kernels = revision(default_tree().root / "include" / "gpubench" / "platform.cuh")
    return Source(found.pop() if len(found) == 1 else Revision(), kernels, dict(label))


def revision(file: Path) -> Revision:
    """Return what the repository around a file has checked out; a file that it ignores is none of its own."""
    file = file.resolve()
    folder, name = file.parent, f"./{file.name}"
    commit = _git(folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if commit is None or _git(folder, "check-ignore", "--quiet", "--", name) is not None:
        return Revision()
    branch = _git(folder, "symbolic-ref", "--quiet", "--short", "HEAD")
    untracked = _git(folder, "ls-files", "--error-unmatch", "--", name) is None
    return Revision(commit.strip(), untracked or _changed(folder), branch.strip() if branch else None)


def _changed(folder: Path) -> bool | None:
    """Return whether any tracked file differs from the commit, None where git does not say."""
    top, off = _git(folder, "rev-parse", "--show-toplevel"), _filters_off(folder)
    if top is None or off is None:
        return None
    listed = _git(
        folder, *off, "diff-index", "--raw", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules", "HEAD"
    )
    if listed is None:
        return None
    fields = listed.split("\0")[:-1]
    entries = list(zip(fields[::2], fields[1::2], strict=True))
    return len(entries) > MOST_CHANGED or any(_differs(Path(top.rstrip("\n")), *entry) for entry in entries)


def _filters_off(folder: Path) -> list[str] | None:
    """Return options that switch off the filters of the repository's own settings, None where that cannot be said."""
    listed = _git(folder, "config", "--local", "--includes", "--name-only", "-z", "--get-regexp", r"^filter\.")
    keys = set((listed or "").split("\0")) - {""}
    if any("=" in key for key in keys):
        return None
    return [word for key in sorted(keys) for word in ("-c", f"{key}=" + "false" * key.endswith(".required"))]


def _differs(top: Path, line: str, name: str) -> bool:
    """Return whether a file that git holds possible to have changed did: `line` is ":MODE MODE HASH HASH STATUS"."""
    before, after, old, new, _ = line.removeprefix(":").split(" ")
    if before != after or new.strip("0"):
        return True  # another kind of file, gone, or staged
    path = top / name
    try:
        kind = path.lstat()
        if stat.S_ISLNK(kind.st_mode):
            data = os.fsencode(path.readlink())
        elif stat.S_ISREG(kind.st_mode) and kind.st_size < 2**28:
            data = path.read_bytes()
        else:
            return True
    except OSError:
        return True
    algorithm = "sha256" if len(old) == 64 else "sha1"
    return hashlib.new(algorithm, b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest() != old


def _git(folder: Path, *arguments: str) -> str | None:
    """Return what git prints, None where it fails, is missing or hangs."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", *_SAFE, "-C", str(folder), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=others | _ENVIRONMENT,
            timeout=TIMEOUT_S,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return os.fsdecode(done.stdout) if done.returncode == 0 else None
