"""From decided contests to the entries of a tuning file."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import gpubench
from gpubench.model import DeviceInfo
from gpubench.operators.constants import Value
from gpubench.own.definitions import Kernel
from gpubench.own.registry import Staged
from gpubench.tuned import Interval, Row
from gpubench.tuning.contest import Contest
from gpubench.tuning.file import VERSION, CaseEvidence, Entry, Evidence, Number, Ratio, Tuning, figures_of
from gpubench.tuning.sources import files_sha256, sources_sha256
from gpubench.tuning.space import Entrant, Space, launches_of


def entry_of(
    contest: Contest, device: DeviceInfo, seed: int, result: str, staged: Iterable[Staged] = ()
) -> Entry | None:
    """Return the entry of a contest, None where it decided nothing. result: the name of the result file."""
    row, space, chosen = contest.row(), contest.space, contest.chosen
    if row.decision == "undecided" or chosen is None:
        return None
    sources = _sources(contest, chosen, device)
    kernel = space.subject.kernel
    digest = sources_sha256(sources, space.regime) if kernel is None else _brought_sha256(kernel, space, staged)
    return Entry(
        subject=row.subject,
        regime=row.regime,
        constants={name: _plain(value) for name, value in chosen.values.items()},
        sources=sources,
        sources_sha256=digest,
        evidence=_evidence(row, seed, result),
    )


def _sources(contest: Contest, chosen: Entrant, device: DeviceInfo) -> list[str]:
    """Return the kernel sources of ours that the chosen and the shipped constants launch."""
    space = contest.space
    launches = (
        launch
        for entrant in {chosen.name: chosen, space.incumbent.name: space.incumbent}.values()
        for launch in launches_of(space, entrant, device, space.cases)
    )
    return sorted({launch.source for launch in launches if launch.foreign is None})


def _brought_sha256(kernel: Kernel, space: Space, staged: Iterable[Staged]) -> str:
    """Return the digest of the files of the suite that brings this kernel."""
    hashes = [
        value
        for suite in staged
        if suite.brought.kernel(kernel.contender) and not suite.second
        for value in suite.hashes.values()
    ]
    return files_sha256(hashes, space.regime)


def _evidence(row: Row, seed: int, result: str) -> Evidence:
    """Return what was measured: of each case, and of all together where other constants won."""
    return Evidence(
        ratio=None if row.decision == "kept" or row.ratio is None else _ratio(row.ratio),
        cases=[
            CaseEvidence(
                case=times.case, shipped_us=times.shipped_us, tuned_us=times.tuned_us, ratio=_ratio(times.ratio)
            )
            for times in row.timed
        ],
        tried=row.tried,
        dropped=row.dropped,
        failed=row.failed,
        rounds=row.rounds,
        seed=seed,
        result=result,
    )


def merged(before: Tuning | None, entries: Iterable[Entry], device: DeviceInfo, nvrtc: str | None) -> Tuning:
    """Return a tuning with these entries, and those of other regimes from before where they are of the same GPU."""
    figures = figures_of(device)
    kept = [] if before is None or before.device != figures else before.entries
    empty = Tuning(schema_version=VERSION, gpubench="", created="", device=figures, entries=kept)
    return empty.with_entries(
        {(entry.subject, entry.regime): entry for entry in entries},
        gpubench=gpubench.__version__,
        created=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        nvrtc=nvrtc,
    )


def _plain(value: Value) -> Number:
    return list(value) if isinstance(value, tuple) else value


def _ratio(interval: Interval) -> Ratio:
    ratio, low, high = (float(f"{bound:.6g}") for bound in interval)
    return Ratio(ratio=ratio, low=low, high=high)
