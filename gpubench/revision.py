"""Which commits a result was made from: part of the shared data, from where `gpubench.model` gives it on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Revision:
    """What a repository had checked out. `dirty`: a file that it tracks differs from the commit, or the file asked for
    is not in it. `branch`: None where none is checked out. All three are None where there is no repository.
    """

    commit: str | None = None
    dirty: bool | None = None
    branch: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """What was measured, in the words of version control. `suite`: of the repository that the suite lies in, the user's
    own as a rule; `kernels`: of the kernels' sources. `label`: what the user says of the run.
    """

    suite: Revision = Revision()
    kernels: Revision = Revision()
    label: Mapping[str, str] = field(default_factory=dict)
