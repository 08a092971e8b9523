"""What this process may run of what suites bring: their definitions with the private folders that hold their files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from gpubench.errors import UsageError
from gpubench.model import DeviceInfo, Json
from gpubench.names import SECOND_SUFFIX
from gpubench.operators import bring
from gpubench.own.code import attribute
from gpubench.own.definitions import Brought, Kernel, OwnOperator, brought_from_json
from gpubench.own.operator import DeclaredOperator
from gpubench.own.trust import FLAGS, Permission, at_least, needed_for


@dataclass(frozen=True, slots=True)
class Staged:
    """What one suite brings, and the folder with its files. `second`: its kernels are those of `NAME@b`. `hashes`: the
    SHA-256 of each file.
    """

    folder: str
    brought: Brought
    permission: Permission
    second: bool = False
    hashes: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Json]:
        """Return it as plain JSON."""
        return {
            "folder": self.folder,
            "brought": self.brought.to_json(),
            "permission": self.permission,
            "second": self.second,
            "hashes": dict(self.hashes),
        }


def staged_from_json(data: Mapping[str, Any]) -> Staged:
    """Return what `Staged.to_json` wrote."""
    return Staged(
        data["folder"], brought_from_json(data["brought"]), data["permission"], data["second"], data["hashes"]
    )


_STAGED: list[Staged] = []


def register(staged: Iterable[Staged]) -> None:
    """Let this process find what suites bring, in place of what it knew."""
    _STAGED[:] = list(staged)
    for suite in _STAGED:
        if not suite.second:
            may_run = at_least(suite.permission, "code")
            bring(
                {
                    declared.name: _declared(declared, suite.folder if may_run else None)
                    for declared in suite.brought.operators
                }
            )


def _declared(operator: OwnOperator, folder: str | None) -> DeclaredOperator:
    """Return an operator; its reference can be asked where a folder holds it."""
    if folder is None:
        return DeclaredOperator(operator)
    return DeclaredOperator(operator, partial(attribute, folder, operator.file, operator.function))


def kernel_of(contender: str, device: DeviceInfo) -> tuple[Kernel, Staged]:
    """Return the kernel of a contender such as `own:my_scan` or `own:my_scan@b`, and where its files are.

    UsageError when there is none, or when it may not run on this device.
    """
    name, second = contender.removesuffix(SECOND_SUFFIX), contender.endswith(SECOND_SUFFIX)
    for suite in _STAGED:
        kernel = suite.brought.kernel(name) if suite.second == second else None
        if kernel is not None:
            wanted = needed_for(kernel, device.kind == "host")
            if not at_least(suite.permission, wanted):
                what = "on the host device it is native code: " if device.kind == "host" else ""
                raise UsageError(f"{contender} may not run here; {what}give {FLAGS[wanted]}, or trust its suite")
            return kernel, suite
    raise UsageError(f"There is no kernel {contender}: its suite did not bring it.")


def brought_kernels() -> dict[str, tuple[Kernel, tuple[str, ...]]]:
    """Return the kernels that suites bring to this process, by contender, with the hashes of their suite's files."""
    return {
        kernel.contender: (kernel, tuple(suite.hashes.values()))
        for suite in _STAGED
        if not suite.second
        for kernel in suite.brought.kernels
    }
