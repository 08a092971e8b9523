"""`gpubench trust`: let suites run what they bring, as long as no byte of it changes."""

from __future__ import annotations

from pathlib import Path

import click

from gpubench.cli import output
from gpubench.cli.allowing import files_of, needs_of
from gpubench.cli.options import suites_argument


@click.command("trust")
@suites_argument
@click.option("--remove", is_flag=True, help="Take the suites off the list again.")
def command(suites: tuple[str, ...], remove: bool) -> None:
    """Trust the suites SUITE... with all that they bring, as they are now.

    Their kernels, Python files and libraries then run without --allow-kernels and --allow-code. What is kept is a hash
    of the suite and of every file that it names or includes: a byte that changes takes the trust away. Look at the
    files first: they run with your rights.
    """
    from gpubench.own import trust
    from gpubench.suite.expand import load_suite
    from gpubench.suite.locate import locate
    from gpubench.views.text import printable

    for name in suites:
        path = Path(locate(name))
        if remove:
            trust.trust(path, None)
            output.write(f"{printable(str(path))} is not trusted any more.")
            continue
        suite = load_suite(name)
        if not suite.brings:
            output.write(f"{printable(str(path))} brings nothing of its own; it needs no trust.")
            continue
        files = files_of(suite.brings[0])
        trust.trust(path, trust.fingerprint(suite.sha256, files))
        output.write(f"{printable(str(path))} is trusted with:")
        for what, file, needs in needs_of(suite.brings[0].brought):
            output.write(f"  {what}  {file}  ({'device code' if needs == 'kernels' else 'runs with your rights'})")
        for file, digest in files.hashes.items():
            output.write(f"  {digest[:16]}  {file}")
