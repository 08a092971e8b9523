"""`gpubench results`: what to do with files of results."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from gpubench.cli import output
from gpubench.cli.options import OutputFolder
from gpubench.errors import ResultFileError, UsageError


@click.group()
def command() -> None:
    """Tend files of results."""


@command.command("compact")
@click.argument("paths", metavar="RESULT...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    "folder",
    type=OutputFolder(),
    metavar="FOLDER",
    help="Where the compact files go; without it, beside the whole ones.",
)
@click.option(
    "--replace", is_flag=True, help="Remove each whole file once its compact one is there and reads the same."
)
def compact(paths: tuple[Path, ...], folder: Path | None, replace: bool) -> None:
    """Write each RESULT, or each result in a folder, small enough to be kept in git: NAME.json.gz.

    A compact result keeps every summary, and of each round the three or four samples that its median and the median's
    error rest on. So show, compare and history say of it what they say of the whole one; charts of samples do not.
    """
    from gpubench.results.compact import shrink
    from gpubench.views.text import printable, size

    before = after = count = 0
    for file, target, named in _targets(paths, folder):
        try:
            old, new = shrink(file, target, replace)
        except ResultFileError as error:
            if named:
                raise
            output.report(f"skipped: {error}")
            continue
        before, after, count = before + old, after + new, count + 1
        output.write(printable(f"{output.near(target)}  {size(old)} -> {size(new)}"))
    if not count:
        raise UsageError("There is no result to make compact.")
    if count > 1:
        output.write(f"{count} results: {size(before)} -> {size(after)}")


def _targets(paths: tuple[Path, ...], folder: Path | None) -> Iterator[tuple[Path, Path, bool]]:
    """Yield each file, where its compact one goes, and whether it was named by itself."""
    from gpubench.results.folders import result_files
    from gpubench.results.paths import COMPACT_SUFFIX, SUFFIXES

    taken: dict[Path, Path] = {}
    for path in paths:
        for file, below in result_files([path]):
            if file.name.endswith(COMPACT_SUFFIX) and file != path:
                continue  # made by an earlier call
            place = file.parent / file.name if folder is None else folder / below
            stem = place.name
            for suffix in reversed(SUFFIXES):
                stem = stem.removesuffix(suffix)
            target = place.with_name(stem + COMPACT_SUFFIX)
            if taken.setdefault(target, file) != file:
                raise UsageError(f"{file} and {taken[target]} would both become {target}: call once for each.")
            yield file, target, file == path
