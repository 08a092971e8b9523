"""The index of a folder of results: a SQLite file beside them that holds what history needs of each.

The result files are the truth. The index is a cache: it can be deleted at any time, and is made again with the same
content. A file counts as known while its size and its time of change are those that the index saw.

A run is one row. What it timed stands in one blob, a POINT for each series, in the order of its layout; runs of one
suite share a layout. So a series is read by taking the same few bytes out of each run's blob.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import struct
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpubench.errors import GpubenchError, ResultFileError, UsageError
from gpubench.past import POINT, Group, Key, Panel, Run
from gpubench.results.folders import listed
from gpubench.results.points import SIZE, Scanned, scan

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

NAME = ".index.sqlite"
VERSION = 2
"""Counts the changes of what the index holds; another one is made again from the files."""

NO_STATUS = 255
"""The status of a series in a run that does not have it."""

MANY = 300
"""From so many new files on, several processes read them."""

_TABLES = """
CREATE TABLE run (
  path TEXT PRIMARY KEY, size INTEGER NOT NULL, changed INTEGER NOT NULL, identity TEXT NOT NULL, problem TEXT,
  created TEXT NOT NULL, suite TEXT NOT NULL, device TEXT NOT NULL, simulated INTEGER NOT NULL, facts TEXT NOT NULL,
  layout TEXT NOT NULL, ceilings TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE timed (path TEXT PRIMARY KEY, points BLOB NOT NULL, ceiling_us BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE layout (name TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX by_group ON run (problem, suite, device, simulated, layout, created, identity);
CREATE INDEX by_state ON run (path, size, changed);
CREATE TABLE found (name TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that holds no result, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Column:
    """One run and what it timed: `series` and `points`, `ceilings` and `ceiling_us` belong together."""

    run: Run
    series: tuple[Key, ...]
    points: bytes
    ceilings: tuple[str, ...]
    ceiling_us: bytes


def column(path: str, one: Scanned) -> Column:
    """Return a file that was scanned as a column. UsageError where it holds no result."""
    if one.problem is not None:
        raise ResultFileError(one.problem)
    run = Run(path, one.created, one.suite, one.device, one.simulated, one.facts)
    return Column(run, one.series, one.points, one.ceilings, one.ceiling_us)


def panel(columns: Sequence[Column]) -> Panel:
    """Return runs as arrays; series in the order in which the newest runs have them."""
    import numpy as np

    rows = {
        key: n for n, key in enumerate(dict.fromkeys(key for scanned in reversed(columns) for key in scanned.series))
    }
    names = {name: n for n, name in enumerate(sorted({name for scanned in columns for name in scanned.ceilings}))}
    points = np.zeros((len(rows), len(columns)), dtype=list(POINT))
    for field, kind in POINT:
        if kind.startswith("<f"):
            points[field] = np.nan
    points["status"] = NO_STATUS
    ceilings = np.full((len(names), len(columns)), np.nan)
    places: dict[int, Array] = {}
    for number, scanned in enumerate(columns):
        for these, where in ((scanned.series, rows), (scanned.ceilings, names)):
            if id(these) not in places:
                places[id(these)] = np.asarray([where[name] for name in these], dtype=np.int64)  # type: ignore[index] # keys with their rows, names with theirs
        points[places[id(scanned.series)], number] = np.frombuffer(scanned.points, dtype=list(POINT))
        ceilings[places[id(scanned.ceilings)], number] = np.frombuffer(scanned.ceiling_us)
    return Panel([scanned.run for scanned in columns], list(rows), points, ceilings)


class Index:
    """An open index. `folder` is that of the results; close it after use, or use it as a context."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise UsageError(f"{folder}: there is no such folder. Name the folder of your results with --in.")
        self.folder = folder
        self.note: str | None = None
        self._layouts: dict[tuple[Any, ...], str] = {}
        self._open()

    def _open(self) -> None:
        """Open the cache; make it anew where it is of another version or damaged, in memory where it cannot be kept."""
        path = self.folder / NAME
        try:
            if path.is_symlink() or (path.exists() and not path.is_file()):
                raise sqlite3.OperationalError("is no regular file")
            self._db = _connected(str(path))
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                self.note = f"{path}: cannot be kept ({error}); every call reads all results again"
                self._db = _connected(":memory:")
            else:
                path.unlink()
                self._db = _connected(str(path))

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    # --- Making it ---------------------------------------------------------------------------------------------------

    def refresh(self, progress: Callable[[int, int], None] | None = None) -> tuple[int, int]:
        """Read the files that are new or changed, and forget those that are gone; return how many of each there were.

        progress: called with the number of files read and of those to read.
        """
        known = {row[0]: (row[1], row[2]) for row in self._db.execute("SELECT path, size, changed FROM run")}
        there = listed(self.folder)
        new = [name for name, state in there.items() if known.get(name) != state]
        gone = [name for name in known if name not in there]
        with self._db:
            for table in ("run", "timed"):
                self._db.executemany(f"DELETE FROM {table} WHERE path = ?", [(name,) for name in (*gone, *new)])
            for number, (name, scanned) in enumerate(_scans(self.folder, new), 1):
                self._store(name, *there[name], scanned)
                if progress is not None:
                    progress(number, len(new))
            self._layouts.clear()
            if new or gone:
                self._db.execute(
                    "DELETE FROM layout WHERE name NOT IN (SELECT layout FROM run UNION SELECT ceilings FROM run)"
                )
                self._db.execute("DELETE FROM found")
        return len(new), len(gone)

    def _store(self, name: str, size: int, changed: int, one: Scanned) -> None:
        layout, ceilings = self._layout(one.series), self._layout(one.ceilings)
        facts = json.dumps(one.facts, sort_keys=True)
        row = (name, size, changed, one.identity, one.problem, one.created, one.suite, one.device, one.simulated, facts)
        self._db.execute(f"INSERT OR REPLACE INTO run VALUES ({','.join('?' * 12)})", (*row, layout, ceilings))
        self._db.execute("INSERT OR REPLACE INTO timed VALUES (?, ?, ?)", (name, one.points, one.ceiling_us))

    def _layout(self, names: tuple[Any, ...]) -> str:
        if names in self._layouts:
            return self._layouts[names]
        content = json.dumps(names)
        digest = hashlib.blake2b(content.encode(), digest_size=16).hexdigest()
        self._db.execute("INSERT OR IGNORE INTO layout VALUES (?, ?)", (digest, content))
        self._layouts[names] = digest
        return digest

    # --- Asking it ---------------------------------------------------------------------------------------------------

    def problems(self) -> list[Problem]:
        """Return the files that hold no result, by name."""
        rows = self._db.execute("SELECT path, problem FROM run WHERE problem > '' ORDER BY path")
        return [Problem(*row) for row in rows]

    def groups(self) -> list[Group]:
        """Return what can be compared: suites by GPU, the one with the newest run first."""
        query = (
            "SELECT suite, device, simulated, COUNT(DISTINCT identity), MAX(created) FROM run WHERE problem IS NULL "
            "GROUP BY suite, device, simulated ORDER BY MAX(created) DESC, suite, device, simulated"
        )
        return [Group(row[0], row[1], bool(row[2]), row[3]) for row in self._db.execute(query)]

    def series(self, group: Group) -> list[Key]:
        """Return all series that runs of the group timed, those of the newest run first."""
        query = (
            "SELECT layout FROM run WHERE problem IS NULL AND suite = ? AND device = ? AND simulated = ? "
            "GROUP BY layout ORDER BY MAX(created) DESC, layout"
        )
        layouts = self._db.execute(query, (group.suite, group.device, group.simulated)).fetchall()
        names = (name for (layout,) in layouts for name in self._content(layout))
        return list(dict.fromkeys((case, contender) for case, contender in names))

    def runs(self, group: Group, last: int | None = None) -> list[tuple[Run, str, str]]:
        """Return runs with the names of their layouts (series, ceilings), oldest first; the `last` ones of them.

        Of files of one run, whole and compact, the first by name counts.
        """
        query = (  # the newest are found in the index alone: facts are long
            "SELECT run.path, run.created, facts, layout, ceilings FROM (SELECT MIN(path) AS path, created FROM run "
            "WHERE problem IS NULL AND suite = ? AND device = ? AND simulated = ? GROUP BY identity "
            "ORDER BY created DESC, MIN(path) DESC LIMIT ?) AS newest JOIN run ON run.path = newest.path "
            "ORDER BY run.created DESC, run.path DESC"
        )
        rows = self._db.execute(query, (group.suite, group.device, group.simulated, -1 if last is None else last))
        return [
            (Run(row[0], row[1], group.suite, group.device, group.simulated, json.loads(row[2])), row[3], row[4])
            for row in reversed(rows.fetchall())
        ]

    def one_series(self, group: Group, key: Key, last: int | None = None) -> tuple[list[Run], list[tuple[Any, ...]]]:
        """Return the runs that have the series, oldest first, and its fields as in POINT (without `spare`)."""
        unpack = struct.Struct("<d5fIHBxQ").unpack
        places: dict[str, int | None] = {}
        runs, points = [], []
        for run, layout, _ in self.runs(group, last):
            if layout not in places:
                names = self._content(layout)
                places[layout] = names.index(list(key)) if list(key) in names else None
            place = places[layout]
            if place is None:
                continue
            ((data,),) = self._db.execute(
                "SELECT substr(points, ?, ?) FROM timed WHERE path = ?", (place * SIZE + 1, SIZE, run.path)
            )
            runs.append(run)
            points.append(unpack(data))
        return runs, points

    def columns(self, group: Group, last: int | None = None, besides: str = "") -> list[Column]:
        """Return the group's runs with what they timed, oldest first; without the run of that identity."""
        layouts: dict[str, tuple[Any, ...]] = {}
        found = []
        for run, layout, swept in self.runs(group, last):
            for name in (layout, swept):
                if name not in layouts:
                    content = self._content(name)
                    layouts[name] = tuple(tuple(item) if isinstance(item, list) else item for item in content)
            query = "SELECT identity, points, ceiling_us FROM run JOIN timed USING (path) WHERE path = ?"
            ((identity, data, ceiling_us),) = self._db.execute(query, (run.path,))
            if identity != besides:
                found.append(Column(run, layouts[layout], data, layouts[swept], ceiling_us))
        return found

    def _content(self, layout: str) -> list[Any]:
        ((text,),) = self._db.execute("SELECT content FROM layout WHERE name = ?", (layout,))
        return list(json.loads(text))

    # --- What the analysis found -------------------------------------------------------------------------------------

    def kept(self, name: str) -> Any:
        """Return what `keep` kept since the files last changed, None otherwise."""
        row = self._db.execute("SELECT content FROM found WHERE name = ?", (name,)).fetchone()
        return None if row is None else json.loads(row[0])

    def keep(self, name: str, content: Any) -> None:
        """Keep a finding until the files change."""
        with self._db:
            self._db.execute("INSERT OR REPLACE INTO found VALUES (?, ?)", (name, json.dumps(content)))


def _connected(path: str) -> sqlite3.Connection:
    """Open a database with our tables. sqlite3.DatabaseError where the file is none."""
    db = sqlite3.connect(path, timeout=60)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA temp_store = MEMORY")
        db.execute("PRAGMA synchronous = OFF")  # a cache: what a loss of power damages is made again
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version != VERSION:
            with db:
                for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                    db.execute(f'DROP TABLE "{name}"')
                for statement in _TABLES.split(";"):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {VERSION}")
    except BaseException:
        db.close()
        raise
    return db


def _scans(folder: Path, names: Sequence[str]) -> Iterator[tuple[str, Scanned]]:
    """Yield what each file holds, in the order of the names."""
    jobs = [(str(folder), name) for name in names]
    if len(jobs) < MANY:
        yield from map(_scan, jobs)
        return
    processes = min(len(os.sched_getaffinity(0)), 8)
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        try:
            yield from pool.map(_scan, jobs, chunksize=50)
        except BrokenProcessPool as error:
            raise GpubenchError("A process that read results was killed: the machine may lack memory.") from error
        finally:
            pool.shutdown(cancel_futures=True)


def _scan(job: tuple[str, str]) -> tuple[str, Scanned]:
    folder, name = job
    return name, scan(Path(folder, name), name)
