"""`gpubench schema`: the JSON Schema of suites."""

from __future__ import annotations

import click

from gpubench.cli import output


@click.command()
def command() -> None:
    """Print the JSON Schema (draft 2020-12) of suite files, for editors that complete and check YAML.

    For example: gpubench schema > suite.schema.json, then `# yaml-language-server: $schema=suite.schema.json` on the
    first line of a suite.
    """
    from gpubench.suite.json_schema import json_schema

    output.write_json(json_schema())
