"""How the engine treats a peer, with a peer made for the purpose on a scripted device."""

from __future__ import annotations

import ctypes
import io
import logging
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from gpubench.devices.fake import FakeDevice
from gpubench.devices.fake_script import parse_script
from gpubench.engine.pipeline import Pipeline
from gpubench.errors import MissingExtraError, UnsupportedError
from gpubench.model import Case, Ceiling, Problem, Record
from gpubench.peers import PEERS
from gpubench.peers.base import DeviceOperand, Prepared
from tests.engine.bed import NAIVE, QUICK, case

LOG: list[str] = []


class Copying:
    """Does the work of `elementwise copy` right, into memory of its own, and collects it when told to."""

    name = "copying"
    operators: tuple[str, ...] = ("elementwise",)

    def load(self) -> None:
        """Nothing is needed."""

    def offers(self, problem: Problem[Any]) -> str | None:
        """Take everything."""
        del problem
        return None

    def prepare(self, problem: Problem[Any], operands: Mapping[str, DeviceOperand], stream: int | None) -> Prepared:
        """Remember what is called."""
        del stream
        size = 4 * problem.operand("y").view.size
        result = ctypes.create_string_buffer(size)
        LOG.append("prepare")

        def run() -> None:
            LOG.append("run")
            ctypes.memmove(result, operands["a"].address, size)
            self.spoil(result)

        def collect() -> None:
            LOG.append("collect")
            ctypes.memmove(operands["y"].address, result, size)

        return Prepared(run, collect, lambda: LOG.append("close"))

    def spoil(self, result: Any) -> None:
        """Leave the result right."""


class Chattering(Copying):
    """Warns and logs while it compiles, and then refuses."""

    name = "chattering"

    def prepare(self, problem: Problem[Any], operands: Mapping[str, DeviceOperand], stream: int | None) -> Prepared:
        """Say much on standard error."""
        del problem, operands, stream
        warnings.warn("code generation for this is slow", UserWarning, stacklevel=1)
        logging.getLogger("chattering.runtime").error("compilation failed:\n%s", "a page of a traceback")
        raise UnsupportedError("chattering refuses: atomic_add does not support int8")


class Inexact(Copying):
    """Its first element is wrong."""

    name = "inexact"

    def spoil(self, result: Any) -> None:
        """Change the first element's bits."""
        result[2] = bytes([result.raw[2] ^ 0x40])


class Breaking(Copying):
    """Its library raises an error of its own while it is timed."""

    name = "breaking"

    def spoil(self, result: Any) -> None:
        """Fail from the fifth run on."""
        del result
        if LOG.count("run") > 4:
            raise RuntimeError("an error of this library's own")


class DeviceFullError(MemoryError):
    """What CuPy raises when the device has no memory left: a kind of MemoryError."""


class Greedy(Copying):
    """The device has no memory left for what its library wants."""

    name = "greedy"

    def spoil(self, result: Any) -> None:
        """Fail."""
        del result
        raise DeviceFullError("Out of memory allocating 8,589,934,592 bytes")


class Absent(Copying):
    """Its library is not there."""

    name = "absent"

    def load(self) -> None:
        """Say so."""
        raise MissingExtraError("absent", "torch")


@pytest.fixture(autouse=True)
def fake_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enter the peers above, and forget what they did before."""
    for peer in (Copying, Chattering, Inexact, Breaking, Greedy, Absent):
        monkeypatch.setitem(PEERS, peer.name, f"{__name__}:{peer.__name__}")
    LOG.clear()


def go(*contenders: str, change: Callable[[Case], Case] = lambda case: case) -> dict[str, Record]:
    """Run a copy by our own kernel and by these peers; return the records by contender."""
    device = FakeDevice(parse_script({"times": [{"us": 20.0, "spread": 0.001}]}))
    device.info = replace(device.info, kind="cuda", simulated=False)
    one = change(case("elementwise", {"function": "copy", "inputs": [{"shape": [64]}]}, contenders=contenders))
    found: list[Record] = []
    Pipeline(device).run(one, one.contenders, Ceiling(1000.0), 0, lambda *_: None, found.append)
    return {record.contender: record for record in found}


def test_a_result_of_the_library_s_own_is_collected_after_each_round_and_never_while_timed() -> None:
    """prepare, runs, collect, close, once a round; the answer is right though no run wrote into our buffer."""
    record = go("copying")["copying"]
    assert record.status == "ok", record.message
    assert record.check is not None
    assert record.check.ok
    steps = [step for step in LOG if step != "run"]
    assert steps == ["prepare", "collect", "close"] * QUICK.rounds
    assert "run" not in LOG[LOG.index("collect") : LOG.index("close")]


def test_a_peer_s_own_error_is_a_column_and_not_a_failure() -> None:
    """It is timed like any other, its status says so, and check and message tell how far off it is."""
    record = go("inexact")["inexact"]
    assert record.status == "inaccurate"
    assert record.summary is not None
    assert record.summary["median_us"] > 0
    assert "x the error that ours are allowed; the output differs from the reference, first at [0]" in (
        record.message or ""
    )
    assert record.check is not None
    assert not record.check.ok
    assert record.check.first_mismatch is not None
    assert record.check.first_mismatch["index"] == [0]


def test_an_exception_of_a_library_ends_that_peer_alone() -> None:
    """Whatever a library raises, our own kernel and the other peers keep their numbers."""
    records = go(NAIVE, "breaking", "copying")
    assert records["breaking"].status == "device_error"
    assert "an error of this library's own" in (records["breaking"].message or "")
    assert records[NAIVE].status == "ok"
    assert records["copying"].status == "ok"


def test_a_library_s_own_memory_error_is_about_the_device() -> None:
    """CuPy's error for a full GPU is a MemoryError: nobody should add memory to the host for it."""
    record = go("greedy")["greedy"]
    assert record.status == "out_of_memory"
    assert "host" not in (record.message or "")
    assert "8,589,934,592" in (record.message or "")


def test_a_missing_library_is_skipped_with_how_to_get_it() -> None:
    """Not a failure and not the case's fault."""
    record = go("absent", NAIVE)["absent"]
    assert record.status == "skipped"
    assert record.message == str(MissingExtraError("absent", "torch"))


def test_a_library_that_logs_while_it_compiles_leaves_standard_error_clean(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its warnings and log lines are not printed; why it refuses is in the record; who asks for log lines gets them."""
    monkeypatch.delenv("TORCH_LOGS", raising=False)
    said = io.StringIO()
    handler = logging.StreamHandler(said)
    logging.getLogger().addHandler(handler)
    try:
        record = go("chattering", NAIVE)["chattering"]
        assert said.getvalue() == "".join(capfd.readouterr()) == ""
        monkeypatch.setenv("TORCH_LOGS", "+inductor")
        with pytest.warns(UserWarning, match="code generation"):
            go("chattering")
    finally:
        logging.getLogger().removeHandler(handler)
    assert "a page of a traceback" in said.getvalue()
    assert record.status == "unsupported"
    assert record.message == "chattering refuses: atomic_add does not support int8"
    assert logging.root.manager.disable == 0


def test_hot_runs_collect_what_one_more_run_made() -> None:
    """Where nothing piles up in place the last timed run counts, by every method."""

    def hot(one: Case) -> Case:
        return replace(one, timing=replace(QUICK, method="hot"))

    record = go("copying", change=hot)["copying"]
    assert record.status == "ok", record.message


def test_a_clock_that_the_device_lacks_is_said() -> None:
    """CUPTI times GPUs only; nothing falls back to another clock in silence."""

    def traced(one: Case) -> Case:
        return replace(one, timing=replace(QUICK, clock="cupti"))

    record = go("copying", change=traced)["copying"]
    assert record.status == "unsupported"
    assert "CUPTI" in (record.message or "")


def test_an_operator_that_a_peer_has_not_heard_of_is_unsupported() -> None:
    """Its library is never asked, so that nothing there can fail: no device_error where there is just no such work."""
    device = FakeDevice(parse_script({}))
    device.info = replace(device.info, kind="cuda", simulated=False)
    one = case("sum", {"shape": [64], "dim": [0]}, contenders=("copying", "breaking"))
    found: list[Record] = []
    Pipeline(device).run(one, one.contenders, Ceiling(1000.0), 0, lambda *_: None, found.append)
    assert [record.status for record in found] == ["unsupported", "unsupported"]
    assert [record.message for record in found] == [f"{name} has no sum; it has elementwise" for name in one.contenders]
    assert not LOG
