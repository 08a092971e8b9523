"""Plans of rounds, as `gpubench plan -o` writes them, read like every file that nobody vouches for."""

from __future__ import annotations

from pathlib import Path

from gpubench.errors import ResultFileError
from gpubench.files import read_bounded
from gpubench.results.strict import MAX_BYTES, parse

MOST_ROUNDS = 1000


def read_rounds(path: Path) -> dict[str, int]:
    """Return the rounds of each case id. ResultFileError names the file and the key that makes no sense."""
    try:
        data = read_bounded(path, MAX_BYTES)
    except (OSError, ValueError) as error:
        raise ResultFileError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    root = parse(data, str(path))
    version = root.get("plan_version").integer(lowest=1)
    if version != 1:
        raise ResultFileError(f"{path}: is a plan of version {version}, and this gpubench reads version 1.")
    rounds = root.get("rounds")
    found = {}
    for case in rounds.object():
        count = rounds.get(case).integer(lowest=1)
        if count > MOST_ROUNDS:
            rounds.get(case).fail(f"is more than {MOST_ROUNDS} rounds")
        found[case] = count
    return found
