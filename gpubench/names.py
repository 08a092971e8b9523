"""The words that suites, result files and command lines share: contenders, and statuses with their groups.

Each is spelt here once. dtypes have `gpubench.dtypes`, operators and peers their registries.
"""

from __future__ import annotations

from typing import Literal, get_args

# --- Contenders ------------------------------------------------------------------------------------------------------

OURS = "gpubench:"
"""How the names of our own contenders begin: `gpubench:<variant>`. Every other one on the device is a peer."""

OWN = "own:"
"""How the names of the user's own kernels begin: `own:<name>`, brought by a suite or registered by a caller."""

AUTO = "gpubench:auto"
"""What the operator's `choose` rule chooses."""

NAIVE = "gpubench:naive"

SECOND_SUFFIX = "@b"
"""`gpubench:auto@b` is `gpubench:auto` with kernels from the second cuda_src folder (`kernels.sources.SECOND`)."""

CONSTANTS_MARK = "@"
"""`gpubench:auto@FEW_THREADS=256+SHORT_RUN=0` has these constants, and the shipped ones else, whatever is tuned."""

SHIPPED = "shipped"
"""`gpubench:auto@shipped` has the shipped constants, whatever is tuned."""


def split_constants(contender: str) -> tuple[str, str | None]:
    """Return a contender without its constants, and their text, None where it names none; `@b` stays where it was."""
    base = contender.removesuffix(SECOND_SUFFIX)
    plain, mark, text = base.partition(CONSTANTS_MARK)
    return plain + contender[len(base) :], text if mark else None


NUMPY = "numpy"
CUPY = "cupy"
TORCH = "torch"
INDUCTOR = "inductor"
CUB = "cub"
JAX = "jax"

HOST_CONTENDERS = (NUMPY,)
"""Contenders whose time is the host's wall time, so that neither a launch nor the device's ceiling says anything."""


def is_ours(contender: str) -> bool:
    """Tell whether a contender is one of our own variants, or their `auto`."""
    return contender.startswith(OURS)


def is_own(contender: str) -> bool:
    """Tell whether a contender is a kernel of the user's own."""
    return contender.startswith(OWN)


def own(name: str) -> str:
    """Return the contender that is a kernel of the user's own: `own:scan` of `scan`."""
    return OWN + name


def is_kernel(contender: str) -> bool:
    """Tell whether a contender is a kernel whose code is known, ours or the user's: a wrong answer is its fault."""
    return is_ours(contender) or is_own(contender)


def is_peer(contender: str) -> bool:
    """Tell whether a contender is another library on the device."""
    return not is_kernel(contender) and contender not in HOST_CONTENDERS


def contender_of(variant: str) -> str:
    """Return the contender that is a variant of ours: `gpubench:naive` of `naive`."""
    return OURS + variant


def variant_of(contender: str) -> str:
    """Return a contender's variant, or another contender's name as it is: `naive` of `gpubench:naive`."""
    return contender.removeprefix(OURS)


COMPACT = "compact"
"""Where a result says that it is compact: it has lost most of its samples."""


# --- Statuses --------------------------------------------------------------------------------------------------------

Status = Literal[
    "ok",
    "wrong",
    "implausible",
    "unsupported",
    "compile_error",
    "out_of_memory",
    "timeout",
    "device_error",
    "crashed",
    "noisy",
    "inaccurate",
    "throttled",
    "skipped",
]
"""What became of a contender on a case. A type checker knows the words, so a comparison with another one is found."""

STATUSES: tuple[Status, ...] = get_args(Status)

RIGHT: tuple[Status, ...] = ("ok", "noisy")
"""Timed with a right answer, at a steady clock."""

TRUSTED: tuple[Status, ...] = (*RIGHT, "inaccurate")
"""Timed at a steady clock: the times may stand beside those of other contenders. An `inaccurate` answer, another
library's, is beyond the error that ours are allowed; every view marks it."""

MEASURED: tuple[Status, ...] = (*TRUSTED, "throttled")
"""Timed, with a right answer or an `inaccurate` one."""

NOT_MEANT: tuple[Status, ...] = ("unsupported", "skipped")
"""Never tried, and nobody's fault."""

FINE: tuple[Status, ...] = (*MEASURED, *NOT_MEANT)
"""Nothing is wrong."""

FAILED: tuple[Status, ...] = ("crashed", "device_error", "timeout", "out_of_memory", "compile_error")
"""Gave no answer though it should have. The worst come first."""

REFUTED: tuple[Status, ...] = ("wrong", "implausible")
"""Gave an answer that is not right, or a time that cannot be."""

WORST_FIRST: tuple[Status, ...] = (*REFUTED, *FAILED, "throttled", "inaccurate", "noisy", "ok", *NOT_MEANT)
"""Every status, in the order in which a reader should meet them."""
