"""What `gpubench list` tells: the bytes and memory of a case, and the variants of the operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase

from gpubench import dtypes
from gpubench.errors import UnsupportedError, UsageError
from gpubench.model import Case, Json
from gpubench.names import contender_of
from gpubench.operators import OPERATORS
from gpubench.operators import operator as find_operator


@dataclass(frozen=True, slots=True)
class Listing:
    """A case, the fewest bytes that must move, and the bytes that its operands take on the device; for a case that its
    operator does not take, the reason in place of them.
    """

    case: Case
    bytes: int | None = None
    memory_bytes: int | None = None
    unsupported: str | None = None

    def to_json(self) -> dict[str, Json]:
        """Return it as plain JSON."""
        case = self.case
        return {
            "id": case.id,
            "operator": case.operator,
            "dtype": case.dtype,
            "params": dict(case.params),
            "input": case.distribution,
            "seed": case.seed,
            "contenders": list(case.contenders),
            "timing": asdict(case.timing),
            "bytes": self.bytes,
            "memory_bytes": self.memory_bytes,
            "unsupported": self.unsupported,
        }


def describe(case: Case) -> Listing:
    """Work out what a case moves and needs, without making its inputs."""
    try:
        problem = find_operator(case.operator).problem(case)
    except UnsupportedError as error:
        return Listing(case, unsupported=str(error))
    memory = sum(operand.view.storage * dtypes.dtype(operand.dtype).itemsize for operand in problem.operands)
    return Listing(case, problem.bytes, memory)


def variants(operators: Sequence[str] = (), contenders: Sequence[str] = ()) -> list[dict[str, Json]]:
    """Return every variant as plain JSON, filtered by patterns. UsageError when the patterns match none."""
    rows: list[dict[str, Json]] = [
        {
            "operator": name,
            "contender": contender_of(variant.name),
            "summary": variant.summary,
            "origin": variant.origin,
            "dtypes": [dtype for dtype in operator.dtypes if variant.instances(dtype)],
        }
        for name, operator in OPERATORS.items()
        for variant in operator.variants
    ]
    kept = [row for row in rows if _matches(row["operator"], operators) and _matches(row["contender"], contenders)]
    if not kept:
        raise UsageError(f"No variant matches. There are: {', '.join(sorted({row['contender'] for row in rows}))}.")
    return kept


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)
