"""A compiler's log cut down to what helps: the first errors against our own files, without control characters.

A compiler quotes the lines that it complains about. Only quotes from the program's own files are passed on, so that
nothing else on the machine can be read through an error message.
"""

from __future__ import annotations

import re
from collections.abc import Collection

MAX_ERRORS = 5
MAX_LINES_EACH = 12
MAX_CHARACTERS = 4000

_DIAGNOSTIC = re.compile(r"^(?P<file>[^\s():][^():]*)\((?P<line>\d+)\): (?P<kind>[a-z ]*error|warning|remark|note)\b")
_ASSEMBLER = re.compile(r"^ptxas (?:fatal|error|application ptx input, line \d+; (?:error|fatal))")
_NAME_EXPRESSION = re.compile(r"^__nv_name_map\(\d+\): error: (.*)$")
_DRIVER = re.compile(r"^nvrtc: (?:fatal )?error\b")
_CONTROL = re.compile(r"[^\x20-\x7e\n]")


def own_errors(log: str, files: Collection[str]) -> str:
    """Return the first errors of a log, at most 5 of 12 lines each and 4000 characters in all."""
    found: list[list[str]] = []
    keep = False
    for line in log.splitlines():
        started = _start(line, files)
        if started is not None:
            keep = started != ""
            if keep:
                found.append([started])
        elif keep and line.startswith((" ", "\t")) and len(found[-1]) < MAX_LINES_EACH:
            found[-1].append(line.rstrip())
        elif not line.startswith((" ", "\t")):
            keep = False
    if not found:
        return "(the compiler named no line of gpubench's own sources)"
    text = "\n".join("\n".join(lines) for lines in found[:MAX_ERRORS])
    if len(found) > MAX_ERRORS:
        text += f"\n... and {len(found) - MAX_ERRORS} more"
    text = _CONTROL.sub("?", text)
    return text if len(text) <= MAX_CHARACTERS else text[:MAX_CHARACTERS] + " ..."


def _start(line: str, files: Collection[str]) -> str | None:
    """Return the first line of an error to keep, "" for a message to leave out, None for a line that starts none."""
    name_error = _NAME_EXPRESSION.match(line)
    if name_error is not None:
        return f"in the name of the kernel: {name_error.group(1)}"
    if _ASSEMBLER.match(line) or _DRIVER.match(line):
        return line
    diagnostic = _DIAGNOSTIC.match(line)
    if diagnostic is None:
        return None
    is_ours = diagnostic["file"] in files and diagnostic["kind"].endswith("error")
    return line if is_ours else ""
