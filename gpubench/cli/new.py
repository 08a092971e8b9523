"""`gpubench new`: a working kernel, operator or suite of one's own, to start from."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

import click

from gpubench.cli import output
from gpubench.errors import UsageError

OPERATORS = ("cumsum", "sum", "elementwise", "index_add")
_HEAD = """name: NAME
kernels:
  - name: NAME
    operator: {operator}
    source: NAME.cu
    entry: NAME
"""


@click.command("new")
@click.argument("what", type=click.Choice(("kernel", "operator", "suite")))
@click.argument("name")
@click.option("--operator", default="cumsum", type=click.Choice(OPERATORS), help="What the kernel implements (cumsum).")
@click.option(
    "-o",
    "--output",
    "folder",
    default=".",
    metavar="FOLDER",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where the files go; without it, into this folder.",
)
def command(what: str, name: str, operator: str, folder: Path) -> None:
    """Write a working kernel, operator or suite called NAME, with its suite and a test.

    kernel: NAME.cu and NAME.yaml, an implementation of --operator. operator: NAME.py too, which says what is right.
    suite: NAME.yaml alone. Nothing that is there already is written over.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,49}", name):
        raise UsageError(f"{name!r} is no name: small letters, digits and _, such as my_scan.")
    from gpubench.operators import OPERATORS as OURS

    if name in OURS:
        raise UsageError(f"{name} is an operator of gpubench; choose another name, such as my_{name}.")
    files = {file: text.replace("NAME", name) for file, text in _files(what, name, operator).items()}
    there = [file for file in files if (folder / file).exists() or (folder / file).is_symlink()]
    if there:
        raise UsageError(f"{folder / there[0]} is there already; choose another name, or -o another folder.")
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        with (folder / file).open("x", encoding="utf-8") as new:
            new.write(text)
        output.write(f"{folder / file}")
    suite = folder / f"{name}.yaml"
    output.report(f"Next: gpubench check {suite}{' --allow-code' * (what != 'suite')}   (no GPU needed)")
    output.report(f"then: gpubench run {suite}{_flag(what)}")


def _flag(what: str) -> str:
    return {"kernel": " --allow-kernels", "operator": " --allow-code", "suite": ""}[what]


def _files(what: str, name: str, operator: str) -> dict[str, str]:
    """Return the files of a template, by name."""
    if what == "suite":
        return {f"{name}.yaml": _text("suite/suite.yaml")}
    test = {f"test_{name}.py": _text("test.txt")}
    if what == "operator":
        parts = {"yaml": "suite.yaml", "cu": "kernel.cu", "py": "reference.txt"}
        return {f"{name}.{suffix}": _text(f"operator/{file}") for suffix, file in parts.items()} | test
    suite = _HEAD.format(operator=operator) + _text(f"{operator}/launch.yaml")
    return {f"{name}.cu": _text(f"{operator}/kernel.cu"), f"{name}.yaml": suite} | test


def _text(name: str) -> str:
    return resources.files("gpubench").joinpath("templates", *name.split("/")).read_text(encoding="utf-8")
