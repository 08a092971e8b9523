"""What a run may use of what its suites bring: by a permission, or because a suite is trusted."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpubench.errors import UsageError
from gpubench.names import SECOND_SUFFIX, is_own, split_constants

if TYPE_CHECKING:
    from gpubench.model import Case
    from gpubench.own.definitions import Brought
    from gpubench.own.folder import Files
    from gpubench.own.registry import Staged
    from gpubench.own.trust import Permission
    from gpubench.suite.expand import BroughtBy, Suite
    from gpubench.suite.plan import CasePlan


@contextlib.contextmanager
def brought_by(
    suite: Suite, cases: Sequence[Case | CasePlan], device: str, allow: Permission
) -> Iterator[tuple[Staged, ...]]:
    """Stage what the suite brings for these cases, as long as the context lasts. UsageError where it may not run.

    A suite that brings nothing, or nothing for these cases, has none of its files opened.
    """
    with contextlib.ExitStack() as stack:
        staged = [one for origin in suite.brings if (one := _staged(origin, cases, device, allow, stack)) is not None]
        yield tuple(staged)


def _staged(
    origin: BroughtBy, cases: Sequence[Case | CasePlan], device: str, allow: Permission, stack: contextlib.ExitStack
) -> Staged | None:
    from gpubench.own import trust
    from gpubench.own.registry import Staged

    names = (name for case in cases for name in case.contenders if is_own(name))
    contenders = {split_constants(name)[0].removesuffix(SECOND_SUFFIX) for name in names}
    on_host = device.partition(":")[0] == "host"
    wanted = trust.needed(origin.brought, contenders, {case.operator for case in cases}, on_host)
    if wanted == "nothing":
        return None
    path = Path(origin.path)
    if not trust.at_least(allow, wanted) and not trust.is_listed(path):
        raise UsageError(_refusal(origin, wanted, on_host))
    files = files_of(origin)
    if not trust.at_least(allow, wanted):
        if not trust.is_trusted(path, trust.fingerprint(origin.sha256, files)):
            raise UsageError(
                f"{path} or a file that it brings has changed since it was trusted. Look at it, then run "
                f"`gpubench trust {path}` again."
            )
        allow = "code"
    return Staged(str(stack.enter_context(files.staged())), origin.brought, allow, hashes=files.hashes)


def files_of(origin: BroughtBy) -> Files:
    """Read the files that a suite brings. UsageError for a suite that lies in no folder."""
    from gpubench.own.folder import read_files

    path = Path(origin.path)
    if path.parent in (Path("/dev"), Path("/dev/fd"), Path("/proc/self/fd")):
        raise UsageError(f"A suite that brings kernels is a file in a folder; {path} is none.")
    return read_files(path.parent, origin.brought.names)


def _refusal(origin: BroughtBy, wanted: Permission, on_host: bool) -> str:
    from gpubench.own.trust import FLAGS

    files = dict.fromkeys(file for _, file, needs in needs_of(origin.brought, on_host) if needs == wanted)
    where = " On the host device kernels are native code." if on_host and wanted == "code" else ""
    return (
        f"{origin.path} brings code of its own ({', '.join(list(files)[:4])}).{where} Look at it, then give "
        f"{FLAGS[wanted]}, or trust it for good: gpubench trust {origin.path}"
    )


def needs_of(brought: Brought, on_host: bool = False) -> Iterator[tuple[str, str, Permission]]:
    """Yield (name, file, what running it asks for) of every kernel and operator that a suite brings."""
    from gpubench.own.trust import needed_for

    for kernel in brought.kernels:
        yield kernel.contender, kernel.file, needed_for(kernel, on_host)
    for operator in brought.operators:
        yield operator.name, operator.file, needed_for(operator, on_host)
