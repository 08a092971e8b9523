"""Hostile files through the commands that read them: a clean error or a right read, whatever the bytes.

GPUBENCH_FUZZ sets how many damaged files each command gets (the default is small, for every day).
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from gpubench.cli import main
from gpubench.results.write import write
from gpubench.suite.locate import shipped_suites
from tests.results.test_hostile_files import BOMBS as RESULT_BOMBS
from tests.suite.test_hostile_suites import BOMBS as SUITE_BOMBS
from tests.views.samples import mixed, record, result

FUZZ = int(os.environ.get("GPUBENCH_FUZZ", "25"))

EVIL = (
    "\x1b]8;;http://x\x07link\x1b]8;;\x07",
    "[red]markup[/red]",
    "<script>alert(1)</script>",
    "</style><img src=x onerror=alert(1)>",
    "=cmd|' /C calc'!A0",
    "$\\frac{1}{0}$",
    "$x^{$",
    "|a|\n|-|",
    "\u202egnp.exe",
    "\ud800",
    "a" * 3000,
    "",
    "\0",
    "${jndi}",
    "{{7*7}}",
    "'\"--",
)
VALUES: tuple[Any, ...] = (
    *EVIL,
    None,
    True,
    0,
    -1,
    1,
    2**62,
    1e308,
    5e-324,
    -0.0,
    [],
    {},
    [[]],
    [1e308, 1e308],
    [[1e-300, 1e300]],
    {"": ""},
)


def _somewhere(chance: random.Random, document: Any) -> None:
    """Put another value, or another key, somewhere into a document."""
    place = document
    while True:
        keys = sorted(place) if isinstance(place, dict) else range(len(place))
        key = chance.choice(list(keys))
        inner = place[key]
        if not isinstance(inner, dict | list) or not inner or chance.random() < 0.15:
            break
        place = inner
    if isinstance(place, dict) and chance.random() < 0.2:
        place[chance.choice(EVIL)] = place.pop(key)
    else:
        place[key] = deepcopy(chance.choice(VALUES))


def _cut(chance: random.Random, data: bytes) -> bytes:
    """Change, cut out or put in some bytes."""
    damaged = bytearray(data)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(damaged) + 1)
        damaged[at : at + chance.randint(0, 9)] = chance.choice(
            (
                b"",
                b"\0",
                b"1e999",
                b"-",
                b"[[[",
                b'{"',
                b"null",
                b"\xff",
                b"&a *a",
                b"!!python/object:os.system",
                b"\n- ",
            )
        )
    return bytes(damaged)


def damaged_results(count: int, seed: int) -> list[bytes]:
    """Return result files, some with odd values in odd places, some with odd bytes."""
    import tempfile

    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        write(mixed(), Path(folder) / "good.json")
        good = (Path(folder) / "good.json").read_bytes()
    found = []
    for number in range(count):
        if number % 4 == 0:
            found.append(_cut(chance, good))
            continue
        document = json.loads(good)
        for _ in range(chance.randint(1, 4)):
            _somewhere(chance, document)
        found.append(json.dumps(document).encode())
    return found


def damaged_suites(count: int, seed: int) -> list[bytes]:
    """Return suites, some with odd values in odd places (JSON is YAML), some with odd bytes."""
    import yaml

    chance = random.Random(seed)
    good = [path.read_bytes() for _, path in sorted(shipped_suites().items()) if path.stat().st_size < 20_000]
    found = []
    for number in range(count):
        text = chance.choice(good)
        if number % 2 == 0:
            found.append(_cut(chance, text))
            continue
        document = yaml.safe_load(text)
        for _ in range(chance.randint(1, 3)):
            _somewhere(chance, document)
        found.append(json.dumps(document).encode())
    return found


def answer(capfd: pytest.CaptureFixture[str], arguments: Sequence[str], allowed: Sequence[int]) -> int:
    """Run a command in this process; its code is allowed, and it says something when it fails, but no traceback."""
    began = time.process_time()
    code = main(arguments)
    said = capfd.readouterr()
    assert code in allowed, (arguments, said.err)
    assert time.process_time() - began < 10
    assert "Traceback" not in said.err
    assert "unexpected error" not in said.err
    assert bool(code) <= bool(said.err or said.out)
    assert not {character for character in said.err + said.out if character < " " and character not in "\n\r\t"}
    assert "\u202e" not in said.err + said.out
    return code


READERS: dict[str, tuple[tuple[str, ...], tuple[int, ...], int]] = {
    "show": (("show", "{}"), (0, 2), 1),
    "show markdown": (("show", "{}", "--markdown"), (0, 2), 1),
    "show csv": (("show", "{}", "--csv"), (0, 2), 1),
    "show jsonl": (("show", "{}", "--jsonl"), (0, 2), 1),
    "compare": (("compare", "{good}", "{}"), (0, 1, 2, 3), 1),
    "baseline": (("compare", "{}", "{good}"), (0, 1, 2, 3), 1),
    "plot": (("plot", "{}", "-o", "{folder}/charts"), (0, 2, 3), 8),
    "report": (("report", "{}", "-o", "{folder}/page.html"), (0, 2), 8),
}


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", READERS)
def test_damaged_results_are_read_right_or_refused(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Whatever a result file holds, each command that reads one ends with a documented code and a plain sentence."""
    words, allowed, share = READERS[name]
    good, path = tmp_path / "good.json", tmp_path / "damaged.json"
    write(mixed(), good)
    codes = set()
    for data in damaged_results(max(FUZZ // share, 3), seed=len(name)):
        path.write_bytes(data)
        places = {"good": good, "folder": tmp_path}
        codes.add(answer(capfd, [word.format(path, **places) for word in words], allowed))
    assert 2 in codes or FUZZ // share < 20


@pytest.mark.timeout(3600)
def test_damaged_suites_are_read_right_or_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Whatever a suite holds, `list` shows its cases or tells its mistakes, and `run` then starts nothing."""
    path = tmp_path / "damaged.yaml"
    codes = set()
    whole = shipped_suites()["smoke"].read_bytes()
    for data in (whole, *damaged_suites(FUZZ, seed=7)):
        path.write_bytes(data)
        code = answer(capfd, ["list", str(path)], (0, 2))
        codes.add(code)
        if code:
            assert answer(capfd, ["run", str(path), "--device", "fake:missing.json"], (2,)) == 2
    assert codes == {0, 2}


_EVERY_DAY = ("numbers that just fit", "wide text", "too large", "keys", "anchors and tags", "billion laughs", "cases")
_CORPUS = [
    (kind, name)
    for kind, bombs in (("result", RESULT_BOMBS), ("suite", SUITE_BOMBS))
    for name in bombs
    if name in _EVERY_DAY or FUZZ > 100
]
_MEASURE = """
import re, sys, time
from gpubench.cli import main
code = main(sys.argv[1:])
peak = re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())
print(code, int(peak.group(1)) // 1024, time.process_time())
"""


@pytest.mark.parametrize(("kind", "name"), _CORPUS)
def test_a_bomb_costs_a_command_little(kind: str, name: str, tmp_path: Path) -> None:
    """A file made to be expensive is refused by the command that reads it: exit 2, within 10 s and 256 MB."""
    path = tmp_path / "bomb"
    path.write_bytes(RESULT_BOMBS[name]() if kind == "result" else SUITE_BOMBS[name])
    command = ["show" if kind == "result" else "list", str(path)]
    done = subprocess.run([sys.executable, "-c", _MEASURE, *command], capture_output=True, text=True, timeout=120)
    code, peak, seconds = (float(word) for word in done.stdout.split())
    assert code == 2, done.stderr[:2000]
    assert peak < 256
    assert seconds < 10
    assert "Traceback" not in done.stderr
    assert len(done.stderr) < 100_000


def test_evil_names_are_shown_as_what_they_are(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Names that would be a link, markup, HTML, a formula or mathtext come out as harmless text in every form."""
    path = tmp_path / "evil.json"
    names = [name for name in EVIL if name and name.isprintable() | ("\x1b" in name) and len(name) < 100]
    write(result(*(record(f"cumsum/{name}", message=name) for name in names)), path)
    assert main(["show", str(path)]) == 0
    table = capfd.readouterr().out
    assert "\x1b" not in table
    assert "[red]markup[/red]" in table
    assert main(["show", str(path), "--markdown"]) == 0
    text = re.sub("`[^`]*`", "", capfd.readouterr().out)  # inline code is shown letter by letter
    assert not re.search(r"[<\[\]$]|://", text)
    assert main(["report", str(path), "-o", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text()
    assert "<script>alert(1)" not in page
    assert "<img src=x" not in page
    assert main(["plot", str(path), "-o", str(tmp_path / "charts")]) == 0
    capfd.readouterr()
    for chart in (tmp_path / "charts").glob("*.svg"):
        assert "<script" not in chart.read_text()
