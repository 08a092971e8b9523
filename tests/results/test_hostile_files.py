from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpubench.errors import ResultFileError
from gpubench.model import ResultSet
from gpubench.results.read import read, reads
from tests.processor import children_s

DATA = Path(__file__).parents[1] / "data" / "result-v1.json"
TEXT = DATA.read_text()
DOCUMENT: dict[str, Any] = json.loads(TEXT)


def _change(path: str, value: Any) -> bytes:
    """Return the good document with another value at a key path (`del` removes it)."""
    document = deepcopy(DOCUMENT)
    *parts, last = [
        int(part) if part.isdigit() else part for part in path.replace("[", ".").replace("]", "").split(".")
    ]
    place: Any = document
    for part in parts:
        place = place[part]
    if value == "del":
        del place[last]
    else:
        place[last] = value
    return json.dumps(document).encode()


CHANGES: list[tuple[str, Any, str]] = [
    ("schema_version", 3, "schema_version: this file has format version 3"),
    ("schema_version", 10**9, "newer gpubench"),
    ("schema_version", "1", "schema_version: expected a whole number"),
    ("schema_version", True, "schema_version: expected a whole number"),
    ("schema_version", 0, "schema_version: expected a whole number of at least 1"),
    ("schema_version", "del", "schema_version: expected a whole number"),
    ("records", "del", "lacks records"),
    ("records", {}, "records: expected a list"),
    ("records", [1], r"records\[0\]: expected an object"),
    ("command", [1], r"command\[0\]: expected a text"),
    ("ceiling.copy_GBps", "fast", "ceiling.copy_GBps: expected a number"),
    ("ceiling.copy_GBps", -1, "ceiling.copy_GBps: expected a number of at least 0"),
    ("ceiling.other", 1, "ceiling: has keys"),
    ("environment.device.name", 3, "environment.device.name: expected a text"),
    ("records[0].status", "fine", r"records\[0\].status: expected one of"),
    ("records[0].extra", 1, r"records\[0\]: has keys that this version of the format does not know: extra"),
    ("records[0].case.params", [], r"records\[0\].case.params: expected an object"),
    ("records[0].case.timing.rounds", 0, r"records\[0\].case.timing.rounds"),
    ("records[0].rounds_us[0][0]", 0, r"records\[0\].rounds_us\[0\]\[0\]: expected a number above 0"),
    ("records[0].rounds_us[1][1]", -3.5, r"records\[0\].rounds_us\[1\]\[1\]: expected a number above 0"),
    ("records[0].rounds_us[0][0]", "20", r"rounds_us\[0\]\[0\]: expected a number"),
    ("records[0].rounds_us[0][0]", None, r"rounds_us\[0\]\[0\]: expected a number"),
    ("records[0].rounds_us[0][0]", True, r"rounds_us\[0\]\[0\]: expected a number"),
    ("records[0].rounds_us[0][0]", 10**30, r"rounds_us\[0\]\[0\]: the number 1000.* is too large"),
    ("records[0].discarded_us", [0], r"discarded_us\[0\]: expected a number above 0"),
    ("records[0].telemetry.sm_mhz", [1.0], r"telemetry.sm_mhz: has 1 entries where the samples number 4"),
    ("records[0].telemetry.sm_mhz", 1980, r"telemetry.sm_mhz: expected a list"),
    ("records[0].timing.discarded_rounds", [], r"discarded_rounds: has 0 entries"),
    ("records[0].timing.discarded_rounds", [2], r"discarded_rounds: names a round"),
    ("records[0].bytes", -1, r"records\[0\].bytes"),
    ("records[0].bytes", 1.5, r"records\[0\].bytes: expected a whole number"),
    ("records[0].check.ok", 1, r"check.ok: expected true or false"),
    ("records[0].check.max_error", -1e-9, r"check.max_error: expected a number of at least 0"),
    ("records[0].simulated", "no", r"simulated: expected true or false"),
    ("records[0].summary", [], r"summary: expected an object"),
]


@pytest.mark.parametrize(("path", "value", "message"), CHANGES)
def test_a_wrong_value_is_named_with_its_place(path: str, value: Any, message: str) -> None:
    """The message has the file and the key path, and says what was expected."""
    with pytest.raises(ResultFileError, match=message) as caught:
        reads(_change(path, value), "my.json")
    assert str(caught.value).startswith("my.json: ")


TEXTS: list[tuple[str, Callable[[str], str], str]] = [
    ("NaN", lambda text: text.replace("20.25", "NaN", 1), r"records\[0\].*: NaN is not a JSON number"),
    ("infinity", lambda text: text.replace("4100.5", "-Infinity", 1), "ceiling.copy_GBps: -Infinity"),
    ("overflow", lambda text: text.replace("4100.5", "1e999", 1), "ceiling.copy_GBps: the number 1e999 is too large"),
    ("long integer", lambda text: text.replace("4100.5", "9" * 5000, 1), "ceiling.copy_GBps: the number 9+... is"),
    (
        "twice",
        lambda text: text.replace('"status": "ok"', '"status": "ok", "status": "wrong"', 1),
        r"records\[0\]: the key 'status' stands twice",
    ),
    ("twice at the top", lambda text: '{"gpubench": "0.0.1",' + text[1:], "the key 'gpubench' stands twice"),
    ("cut short", lambda text: text[:-20], "is not JSON"),
    ("more behind", lambda text: text + "{}", "is not JSON"),
    ("empty", lambda text: text[:0], "is not JSON"),
    ("a list", lambda text: f"[{text}]", "expected an object"),
    ("deep", lambda text: text.replace("4100.5", "[" * 60 + "]" * 60, 1), "nested deeper than 32"),
    ("very deep", lambda text: text.replace("4100.5", "[" * 100_000 + "]" * 100_000, 1), "nested deeper than 32"),
    ("never closed", lambda text: text.replace("4100.5", '{"a":' * 100_000, 1), "nested deeper|is not JSON"),
]


@pytest.mark.parametrize(("change", "message"), [row[1:] for row in TEXTS], ids=[row[0] for row in TEXTS])
def test_hostile_text_is_refused(change: Callable[[str], str], message: str) -> None:
    """What JSON or the format forbids is refused, in plain words."""
    changed = change(TEXT)
    assert changed != TEXT
    with pytest.raises(ResultFileError, match=re.compile(message, re.DOTALL)):
        reads(changed.encode())


def test_a_message_cannot_carry_control_characters() -> None:
    """What a file says about itself reaches the terminal only without escape sequences and line breaks."""
    evil = "\x1b2J\x07\u2028\x9b31m\nerror: all is well"
    for data in (_change("records[0].status", evil), _change(f"ceiling.{evil}", 1)):
        with pytest.raises(ResultFileError) as caught:
            reads(data)
        assert not re.search(r"[\x00-\x1f\x7f-\x9f\u2028]", str(caught.value))


def test_not_utf8_is_refused() -> None:
    """Bytes that are no text are refused with their place."""
    with pytest.raises(ResultFileError, match=r"is not UTF-8 text \(byte 2\)"):
        reads(b'{"\xff": 1}')


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_give_a_clean_error(data: bytes) -> None:
    """No bytes make the reader do anything but raise ResultFileError."""
    with pytest.raises(ResultFileError):
        reads(data)


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_a_damaged_file_is_read_right_or_refused(data: st.DataObject) -> None:
    """A good file with some bytes changed gives a result set or ResultFileError, never another exception."""
    damaged = bytearray(TEXT.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(damaged) - 1))
        length = data.draw(st.integers(0, 30))
        piece = data.draw(st.binary(max_size=6) | st.sampled_from([b"1e999", b"null", b"-0", b"[[[[", b'{"', b"true"]))
        damaged[start : start + length] = piece
    with contextlib.suppress(ResultFileError):
        assert isinstance(reads(bytes(damaged)), ResultSet)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_any_value_in_any_place_is_read_right_or_refused(data: st.DataObject) -> None:
    """Another JSON value in any place of a good file gives a result set or ResultFileError."""
    document = deepcopy(DOCUMENT)
    place: Any = document
    while True:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.integers(0, 3)) == 0:
            break
        place = place[key]
    place[key] = data.draw(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
            max_leaves=5,
        )
    )
    with contextlib.suppress(ResultFileError):
        assert isinstance(reads(json.dumps(document).encode()), ResultSet)


BOMBS: dict[str, Callable[[], bytes]] = {
    "empty lists": lambda: b"[" + b"[]," * 10_000_000 + b"[]]",
    "empty objects": lambda: b"[" + b"{}," * 10_000_000 + b"{}]",
    "numbers": lambda: b"[" + b"1," * 15_000_000 + b"1]",
    "numbers that just fit": lambda: b"[" + b"1.5," * 1_500_000 + b"1]",
    "keys": lambda: b"{" + b",".join(b'"%d":1' % index for index in range(500_000)) + b"}",
    "objects that just fit": lambda: b"[" + b'{"a":1},' * 250_000 + b"1]",
    "one long text": lambda: b'"' + b"a" * 30_000_000 + b'"',
    "escaped text": lambda: b'"' + b"\\ud83d\\ude00" * 2_000_000 + b'"',
    "quotation marks": lambda: b'"' + b'\\"' * 10_000_000 + b'"',
    "wide text": ("[" + '"\U0001f600",' * 1_000_000 + "1]").encode,
    "deep": lambda: b"[" * 30_000_000,
    "too large": lambda: b" " * (33 * 2**20),
}
_MEASURE = """
import re, sys
from gpubench.errors import ResultFileError
from gpubench.results.read import read
try:
    read(sys.argv[1])
except ResultFileError as error:
    assert len(str(error)) < 1000
else:
    sys.exit("it was read")
peak = re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())  # ru_maxrss counts the parent's before exec
print(int(peak.group(1)) // 1024)
"""


@pytest.mark.parametrize("bomb", BOMBS, ids=str)
def test_a_bomb_costs_little_time_and_memory(bomb: str, tmp_path: Path) -> None:
    """A file made to be expensive is refused within 10 s and 256 MB."""
    path = tmp_path / "bomb.json"
    path.write_bytes(BOMBS[bomb]())
    began = children_s()
    run = subprocess.run([sys.executable, "-c", _MEASURE, path], capture_output=True, text=True, timeout=240)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) < 256
    assert children_s() - began < 10


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    """A pipe, a device, a folder or a missing file is refused at once, with its name."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero"), tmp_path, tmp_path / "missing", Path("a\0b")):
        with pytest.raises(ResultFileError, match=re.escape(path.name.partition("\0")[0])):
            read(path)
