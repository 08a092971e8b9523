"""Compact results: the same document with few of its samples, compressed. What folders kept in git should hold.

Of each round stay those samples (three or four) that its median and the median's error rest on. So every median,
interval and verdict comes out as it does from the whole file, to the last bit. Summaries stay as they are, with the
number of samples that were taken. Discarded samples go. The key `compact` has `of_sha256`, the hash of the document
that the result was made of, and `samples`, how many that had.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gpubench.errors import ResultFileError
from gpubench.model import Json, Record, ResultSet, Sample, Timing
from gpubench.names import COMPACT
from gpubench.ranks import ranks
from gpubench.results.read import document, inflated, reads
from gpubench.results.write import dumps, replace_file

LEAST = 6
"""A record with so few samples left would be too few for a verdict: it keeps all that it has."""


def is_compact(result: ResultSet) -> bool:
    """Return whether the result has lost samples."""
    return COMPACT in result.extra


def identity(result: ResultSet, sha256: str) -> str:
    """Return the hash that stands for the run: that of the whole file, of the compact one as well."""
    entry = result.extra.get(COMPACT)
    of = entry.get("of_sha256") if isinstance(entry, Mapping) else None
    return of if isinstance(of, str) else sha256


def compacted(result: ResultSet, data: bytes) -> bytes:
    """Return the compact file of a result whose own file holds `data`; of a compact one the same again."""
    if is_compact(result):
        small = data
    else:
        samples = sum(len(record.timing.samples) for record in result.records if record.timing is not None)
        entry: dict[str, Json] = {"of_sha256": hashlib.sha256(data).hexdigest(), "samples": samples}
        records = tuple(_record(record) for record in result.records)
        small = dumps(replace(result, records=records, extra={**result.extra, COMPACT: entry})).encode("ascii")
    return gzip.compress(small, 9, mtime=0)


def shrink(file: Path, target: Path, replace_whole: bool) -> tuple[int, int]:
    """Write the compact form of a result to `target`; return the sizes of both files in bytes.

    What is written is read back first. `replace_whole`: then remove the file. ResultFileError for a file that is no
    result, and where another result has the target's name.
    """
    data, before = document(file), file.stat().st_size
    result = reads(data, str(file))
    small = compacted(result, data)
    if target.exists() and _run_of(target) != identity(result, hashlib.sha256(data).hexdigest()):
        raise ResultFileError(f"{target}: is there already, and is not made of {file}. Remove one of the two.")
    again = reads(inflated(small, str(target)), str(target))
    if [record.summary for record in again.records] != [record.summary for record in result.records]:
        raise ResultFileError(f"{file}: does not read the same once it is compact; it is left as it is.")
    replace_file(target, small)
    if replace_whole and file != target:
        file.unlink()
    return before, len(small)


def _run_of(path: Path) -> str:
    data = document(path)
    return identity(reads(data, str(path)), hashlib.sha256(data).hexdigest())


def _record(record: Record) -> Record:
    timing = record.timing
    if timing is None:
        return record
    rounds = tuple(_few(samples) for samples in timing.rounds)
    if sum(map(len, rounds)) < LEAST:
        rounds = tuple(tuple(map(_plain, samples)) for samples in timing.rounds)
    few = Timing(rounds, noisy=timing.noisy, throttled=timing.throttled, message=timing.message)
    telemetry = record.telemetry and {
        k: v for k, v in record.telemetry.items() if k not in ("sm_mhz", "discarded_sm_mhz")
    }
    return replace(record, timing=few, telemetry=telemetry)


def _few(samples: Sequence[Sample]) -> tuple[Sample, ...]:
    """Return the samples that the round's median and its error rest on, in the order taken."""
    if not samples:
        return ()
    by_size = sorted(range(len(samples)), key=lambda place: samples[place].us)
    return tuple(_plain(samples[place]) for place in sorted({by_size[rank] for rank in ranks(len(samples))}))


def _plain(sample: Sample) -> Sample:
    """Return a sample with its clock in whole MHz, as far as it is one."""
    mhz = sample.sm_mhz
    return Sample(sample.us, round(mhz) if mhz is not None and mhz < 1e6 else mhz)
