"""What a launch of a kernel that is not ours needs, beside what `model.Launch` says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Foreign:
    """What a launch needs whose kernel is not ours. `folder` holds the files, `options` are the compiler's, `checks` is
    C++ text that stands behind the source and asserts the types of the parameters. `arguments` names the launch's
    arguments for messages, in order.
    """

    folder: str
    options: tuple[str, ...] = ()
    checks: str = ""
    arguments: tuple[str, ...] = ()
